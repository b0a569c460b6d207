/// Counts by key.
struct Tally<Key: Hashable> {
    private var counts: [Key: Int] = [:]

    /// Keys that are kept with a count of 0, because most are counted again soon.
    private static var spare: Int { 64 }

    subscript(key: Key) -> Int { counts[key] ?? 0 }

    mutating func add(_ key: Key) { counts[key, default: 0] += 1 }

    /// Takes back one ``add(_:)``.
    mutating func subtract(_ key: Key) {
        guard let index = counts.index(forKey: key) else { return }
        counts.values[index] -= 1
        if counts.values[index] == 0, counts.count > Self.spare { counts.remove(at: index) }
    }
}
