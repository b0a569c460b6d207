/// Counts by key.
struct CountedKeys<Key: Hashable> {
    private var counts: [Key: Int] = [:]

    /// The number of keys up to which keys with a count of 0 are kept, because most are soon counted again.
    private static var spare: Int { 64 }

    subscript(key: Key) -> Int { counts[key] ?? 0 }

    mutating func add(_ key: Key) { counts[key, default: 0] += 1 }

    /// Reverts one ``add(_:)``.
    mutating func subtract(_ key: Key) {
        guard let index = counts.index(forKey: key) else { return }
        counts.values[index] -= 1
        if counts.values[index] == 0, counts.count > Self.spare { counts.remove(at: index) }
    }
}
