/// A value for each origin, bounded: beyond the bound the half goes that was not used for longest.
///
/// An origin that comes back begins anew, as one that was never seen. Both lookup and change cost the same however many
/// there are; the rare clearing sorts them.
struct Origins<Value> {
    private struct Entry {
        var value: Value
        var lastUse: Int64
    }

    private let capacity: Int
    private let initial: @Sendable () -> Value
    private var entries: [String: Entry] = [:]

    /// - Parameters:
    ///   - capacity: origins at most; 1,000.
    ///   - initial: what an origin begins with.
    init(capacity: Int = 1000, initial: @escaping @Sendable () -> Value) {
        self.capacity = max(1, capacity)
        self.initial = initial
    }

    var count: Int { entries.count }

    /// Uses, and may change, the value of an origin.
    ///
    /// - Parameters:
    ///   - origin: scheme, host and port.
    ///   - now: milliseconds of a clock that only goes forward.
    mutating func withValue<Result>(of origin: String, at now: Int64, _ body: (inout Value) -> Result) -> Result {
        if entries[origin] == nil { makeRoom() }
        var entry = entries.removeValue(forKey: origin) ?? Entry(value: initial(), lastUse: now)
        defer { entries[origin] = entry }
        entry.lastUse = now
        return body(&entry.value)
    }

    private mutating func makeRoom() {
        guard entries.count >= capacity else { return }
        let leaving = entries.sorted { $0.value.lastUse < $1.value.lastUse }.prefix((capacity + 1) / 2)
        for (origin, _) in leaving { entries[origin] = nil }
    }
}
