/// The progress of a batch: the number of ended items, of failed items, and of all items.
public struct BatchProgress: Hashable, Sendable {
    /// The number of items that have ended, from 0 to ``count``. It never decreases.
    public var completed: Int
    /// The number of ended items that have failed, canceled ones included.
    public var failed: Int
    /// The number of items.
    public var count: Int

    /// The fraction of items that have ended, from 0 to 1; 1 if there are no items.
    public var fractionCompleted: Double { count == 0 ? 1 : Double(completed) / Double(count) }
}

extension BatchProgress: CustomStringConvertible {
    /// A short description, such as `2 of 3, 1 failed`.
    public var description: String { "\(completed) of \(count)" + (failed > 0 ? ", \(failed) failed" : "") }
}
