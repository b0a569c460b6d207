import DiamondSQLite
import Foundation

/// Discards a body, which is stored while it is received: for refreshes in the background.
final class DiscardingSink: BodySink {
    private let completion = Guarded(false)

    var limit: Int { .max }
    var isCommitted: Bool { false }
    var isContinuable: Bool { false }
    var isForWhole: Bool { true }
    var takesEveryStatus: Bool { true }
    var isComplete: Bool { completion.withLock { $0 } }

    func begin(_ head: Response) {}
    func append(_ piece: Data) {}
    func complete() { completion.withLock { $0 = true } }
}
