import DiamondSQLite

/// What was worked out about a request, shared by its copies and forgotten with the first change of one.
///
/// Two requests are as equal with it as without.
struct RequestMemory: Hashable, Sendable {
    private struct Note {
        var author: Int
        var value: any AnyObject & Sendable
    }

    private let note = Guarded<Note?>(nil)

    /// What this author has noted last.
    func value<Value: AnyObject & Sendable>(by author: Int, as type: Value.Type) -> Value? {
        note.withLock { $0?.author == author ? $0?.value as? Value : nil }
    }

    func keep(_ value: some AnyObject & Sendable, by author: Int) {
        note.withLock { $0 = Note(author: author, value: value) }
    }

    static func == (left: RequestMemory, right: RequestMemory) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}
