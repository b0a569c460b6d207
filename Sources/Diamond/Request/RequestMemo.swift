import DiamondSQLite

/// A memo of results derived from a request. Copies of the request share it; changing a copy resets its memo.
///
/// It does not affect the equality of requests.
struct RequestMemo: Hashable, Sendable {
    private struct Entry {
        var owner: Int
        var value: any AnyObject & Sendable
    }

    private let entry = Guarded<Entry?>(nil)

    /// Returns the value stored last, if it was stored by this owner.
    func value<Value: AnyObject & Sendable>(by owner: Int, as type: Value.Type) -> Value? {
        entry.withLock { $0?.owner == owner ? $0?.value as? Value : nil }
    }

    func store(_ value: some AnyObject & Sendable, by owner: Int) {
        entry.withLock { $0 = Entry(owner: owner, value: value) }
    }

    static func == (left: RequestMemo, right: RequestMemo) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}
