/// A bounded dictionary with an initial value for each key. At the limit, the least recently used half is removed.
///
/// A removed key that is used again starts with the initial value. A lookup and a change take constant time; the rare
/// removal sorts the keys.
struct RecentlyUsed<Key: Hashable, Value> {
    private struct Entry {
        var value: Value
        var lastUse: EngineTime
    }

    private let capacity: Int
    private let initial: @Sendable () -> Value
    private let isInUse: @Sendable (Value) -> Bool
    private var entries: [Key: Entry] = [:]

    /// - Parameters:
    ///   - capacity: the maximum number of keys; 1,000.
    ///   - isInUse: whether a value must be kept, even beyond the limit.
    ///   - initial: the initial value of a key.
    init(
        capacity: Int = 1000,
        isInUse: @escaping @Sendable (Value) -> Bool = { _ in false },
        initial: @escaping @Sendable () -> Value
    ) {
        self.capacity = max(1, capacity)
        self.isInUse = isInUse
        self.initial = initial
    }

    var count: Int { entries.count }

    /// Calls a closure with the value of a key, which it may change.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - now: the current time.
    ///   - body: the closure.
    mutating func withValue<Result>(of key: Key, at now: EngineTime, _ body: (inout Value) -> Result) -> Result {
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
        let removed = idle.sorted { $0.value.lastUse < $1.value.lastUse }.prefix((capacity + 1) / 2)
        for (key, _) in removed { entries[key] = nil }
    }
}
