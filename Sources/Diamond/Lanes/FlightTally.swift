/// How many flights are on the wire, by what they have in common.
struct FlightTally<Key: Hashable> {
    private var counts: [Key: Int] = [:]

    /// Keys that are kept though nothing is on the wire: most come back soon.
    private static var spare: Int { 64 }

    subscript(key: Key) -> Int { counts[key] ?? 0 }

    mutating func add(_ key: Key) { counts[key, default: 0] += 1 }

    /// What was added ends.
    mutating func subtract(_ key: Key) {
        guard let index = counts.index(forKey: key) else { return }
        counts.values[index] -= 1
        if counts.values[index] == 0, counts.count > Self.spare { counts.remove(at: index) }
    }
}
