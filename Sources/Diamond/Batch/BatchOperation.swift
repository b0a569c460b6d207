import DiamondSQLite
import Foundation

/// The operation that others depend on to wait for a batch. It is on no queue, and ends with the batch.
///
/// `@unchecked Sendable`: its state is behind a lock; `Operation` guards its own.
final class BatchOperation: Operation, @unchecked Sendable {
    private let hasEnded = Guarded(false)
    // Never changed; `weak let` needs Swift 6.3.
    private weak var coordinator: BatchCoordinator?

    init(_ coordinator: BatchCoordinator) { self.coordinator = coordinator }

    override var isAsynchronous: Bool { true }
    override var isFinished: Bool { hasEnded.withLock { $0 } }

    /// The connections of the batch; empty once it has ended. Added dependencies are ignored.
    override var dependencies: [Operation] { isFinished ? [] : coordinator?.connections ?? [] }

    override func start() {}

    override func cancel() {
        super.cancel()
        coordinator?.cancel()
    }

    /// Finishes the operation. Call this even if the batch was over before: Foundation on Linux relies on the posted
    /// change and does not read `isFinished`.
    func end() {
        willChangeValue(forKey: "isFinished")
        hasEnded.withLock { $0 = true }
        didChangeValue(forKey: "isFinished")
    }
}
