/// How far a batch has come.
public struct BatchProgress: Hashable, Sendable {
    /// Items that have ended, from 0 to ``count``; it never falls.
    public var completed: Int
    /// Those of them that have failed, canceled ones included.
    public var failed: Int
    /// Items in all.
    public var count: Int

    /// For previews and tests; a batch makes its own.
    public init(completed: Int, failed: Int, count: Int) {
        self.completed = completed
        self.failed = failed
        self.count = count
    }

    /// From 0 to 1; 1 where there is nothing to do.
    public var fractionCompleted: Double { count == 0 ? 1 : Double(completed) / Double(count) }
}

extension BatchProgress: CustomStringConvertible {
    /// A few words, such as `2 of 3, 1 failed`.
    public var description: String { "\(completed) of \(count)" + (failed > 0 ? ", \(failed) failed" : "") }
}
