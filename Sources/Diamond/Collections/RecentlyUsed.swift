/// A bounded map with a value for each key. At the bound, the half that was not used for longest is removed.
///
/// A key that comes back starts with the initial value, like one that was never seen. A lookup and a change cost the
/// same however many keys there are; the rare removal sorts them.
struct RecentlyUsed<Key: Hashable, Value> {
    private struct Entry {
        var value: Value
        var lastUse: Int64
    }

    private let capacity: Int
    private let initial: @Sendable () -> Value
    private let isInUse: @Sendable (Value) -> Bool
    private var entries: [Key: Entry] = [:]

    /// - Parameters:
    ///   - capacity: keys at most; 1,000.
    ///   - isInUse: whether a value has to stay, also beyond the bound.
    ///   - initial: the value that a key starts with.
    init(
        capacity: Int = 1000,
        isInUse: @escaping @Sendable (Value) -> Bool = { _ in false },
        initial: @escaping @Sendable () -> Value
    ) {
        self.capacity = max(1, capacity)
        (self.isInUse, self.initial) = (isInUse, initial)
    }

    var count: Int { entries.count }

    /// Uses, and may change, the value of a key.
    ///
    /// - Parameter now: milliseconds of a clock that only goes forward.
    mutating func withValue<Result>(of key: Key, at now: Int64, _ body: (inout Value) -> Result) -> Result {
        guard let index = entries.index(forKey: key) else {
            makeRoom()
            var entry = Entry(value: initial(), lastUse: now)
            defer { entries[key] = entry }
            return body(&entry.value)
        }
        entries.values[index].lastUse = now
        return body(&entries.values[index].value)
    }

    private mutating func makeRoom() {
        guard entries.count >= capacity else { return }
        let idle = entries.filter { !isInUse($0.value.value) }
        let leaving = idle.sorted { $0.value.lastUse < $1.value.lastUse }.prefix((capacity + 1) / 2)
        for (key, _) in leaving { entries[key] = nil }
    }
}
