import DiamondSQLite
import Foundation

/// The operation that others depend on to wait for a batch. No queue runs it: it ends with the batch.
///
/// `@unchecked Sendable`: its state is behind a lock; `Operation` guards its own.
final class BatchOperation: Operation, @unchecked Sendable {
    private let hasEnded = Guarded(false)
    // Never changed; `weak let` would be of Swift 6.3.
    private weak var ledger: BatchLedger?

    init(_ ledger: BatchLedger) { self.ledger = ledger }

    override var isAsynchronous: Bool { true }
    override var isFinished: Bool { hasEnded.withLock { $0 } }

    /// The items, whatever was added: it waits for nothing else.
    override var dependencies: [Operation] { isFinished ? [] : ledger?.connections ?? [] }

    override func start() {}

    override func cancel() {
        super.cancel()
        ledger?.cancel()
    }

    /// Has to be called also where the batch was over before: Foundation on Linux believes what is posted, and does not look.
    func end() {
        willChangeValue(forKey: "isFinished")
        hasEnded.withLock { $0 = true }
        didChangeValue(forKey: "isFinished")
    }
}
