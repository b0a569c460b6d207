/// The progress of a batch: its items that have ended, and the number of all.
public struct BatchProgress: Hashable, Sendable {
    /// The number of items that have ended, from 0 to ``count``; it never falls.
    public var completed: Int
    /// The number of ended items that have failed, canceled ones included.
    public var failed: Int
    /// The number of items.
    public var count: Int

    /// Makes a progress for previews and tests; a batch makes its own.
    public init(completed: Int, failed: Int, count: Int) {
        self.completed = completed
        self.failed = failed
        self.count = count
    }

    /// The fraction of items that have ended, from 0 to 1; 1 where there are no items.
    public var fractionCompleted: Double { count == 0 ? 1 : Double(completed) / Double(count) }
}

extension BatchProgress: CustomStringConvertible {
    /// A short description, such as `2 of 3, 1 failed`.
    public var description: String { "\(completed) of \(count)" + (failed > 0 ? ", \(failed) failed" : "") }
}
