import DiamondSQLite
import Foundation

/// The single operation that a connection with dependencies depends on for Foundation, in place of them all. It ends
/// when all of them have ended. A connection that only its engine knows needs no gate, which would cost as much as the
/// connection.
///
/// A queue of the user's own then waits as Diamond does, and neither a removed dependency nor a connection that is freed
/// early meets what Foundation on Linux makes of them.
///
/// `@unchecked Sendable`: its state is behind a lock; `Operation` guards its own.
final class DependencyGate: Operation, @unchecked Sendable {
    private let hasEnded = Guarded(false)

    override var isAsynchronous: Bool { true }
    override var isFinished: Bool { hasEnded.withLock { $0 } }

    /// Ends the gate. Call it only while the connection is alive: Foundation on Linux knows the connection by its
    /// address.
    func end() {
        willChangeValue(forKey: "isFinished")
        hasEnded.withLock { $0 = true }
        didChangeValue(forKey: "isFinished")
    }
}
