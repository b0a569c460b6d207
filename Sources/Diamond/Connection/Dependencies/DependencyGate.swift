import DiamondSQLite
import Foundation

/// The one operation that Foundation sees as the dependency of a connection, in place of its real dependencies. It ends
/// when all of them have ended. A connection that only its engine knows needs no gate: a gate costs as much as a
/// connection.
///
/// The gate makes a queue of the app wait as Diamond does. It also avoids Foundation's faults on Linux with removed
/// dependencies and with connections that are freed early.
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
