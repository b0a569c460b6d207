/// How many flights are on the wire, by what they have in common.
struct FlightTally<Key: Hashable> {
    private var counts: [(key: Key, count: Int)] = []
    private var places: [Key: Int] = [:]
    /// Where was counted last: the next is often of the same key, and need not be looked for.
    private var last = 0

    /// Keys that are kept though nothing is on the wire: most come back soon.
    private static var spare: Int { 64 }

    subscript(key: Key) -> Int { place(of: key).map { counts[$0].count } ?? 0 }

    mutating func add(_ key: Key) {
        last = place(of: key) ?? open(key)
        counts[last].count += 1
    }

    /// What was added ends.
    mutating func subtract(_ key: Key) {
        guard let place = place(of: key) else { return }
        counts[place].count -= 1
        if counts[place].count == 0, counts.count > Self.spare { close(place) }
    }

    private func place(of key: Key) -> Int? {
        last < counts.count && counts[last].key == key ? last : places[key]
    }

    private mutating func open(_ key: Key) -> Int {
        counts.append((key, 0))
        places[key] = counts.count - 1
        return counts.count - 1
    }

    private mutating func close(_ place: Int) {
        places[counts[place].key] = nil
        counts.swapAt(place, counts.count - 1)
        counts.removeLast()
        if place < counts.count { places[counts[place].key] = place }
    }
}
