import DiamondSQLite
import Foundation

/// What a connection with dependencies depends on for Foundation, in place of them all: it ends when they have. One that
/// only its engine knows needs none, which would cost as much as the connection.
///
/// A queue of the user's own then waits as Diamond does, and neither a removed dependency nor a connection that is freed
/// early meets what Foundation on Linux makes of them.
///
/// `@unchecked Sendable`: its state is behind a lock; `Operation` guards its own.
final class DependencyGate: Operation, @unchecked Sendable {
    private let hasEnded = Guarded(false)

    override var isAsynchronous: Bool { true }
    override var isFinished: Bool { hasEnded.withLock { $0 } }

    /// Only while the connection is alive: Foundation on Linux knows it by its address.
    func end() {
        willChangeValue(forKey: "isFinished")
        hasEnded.withLock { $0 = true }
        didChangeValue(forKey: "isFinished")
    }
}
