import DiamondSQLite

/// The results worked out about a request. Copies of the request share them. A copy that is changed starts without any.
///
/// It does not affect whether requests are equal.
struct RequestMemory: Hashable, Sendable {
    private struct Note {
        var author: Int
        var value: any AnyObject & Sendable
    }

    private let note = Guarded<Note?>(nil)

    /// Returns the value noted last, if this author has noted it.
    func value<Value: AnyObject & Sendable>(by author: Int, as type: Value.Type) -> Value? {
        note.withLock { $0?.author == author ? $0?.value as? Value : nil }
    }

    func keep(_ value: some AnyObject & Sendable, by author: Int) {
        note.withLock { $0 = Note(author: author, value: value) }
    }

    static func == (left: RequestMemory, right: RequestMemory) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}
