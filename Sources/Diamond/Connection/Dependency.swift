import DiamondSQLite
import Foundation

/// One edge between a connection and what it waits for.
///
/// `@unchecked Sendable`: touched under the lock of ``DependencyGraph`` alone.
final class Dependency: @unchecked Sendable {
    typealias Hand = @Sendable (inout Request, Response) throws -> Void

    /// A connection, or another operation; `nil` where it is the turn that is waited for, and where both are being freed.
    var operation: Operation?
    /// What of the response goes into the request of the connection that waits.
    let hand: Hand?
    weak let dependent: Connection?
    /// Whether nobody waits for it any more: it has ended, or was removed.
    var isOver = false

    init(of dependent: Connection, on operation: Operation?, hand: Hand?) {
        self.dependent = dependent
        self.operation = operation
        self.hand = hand
    }

    var connection: Connection? { operation as? Connection }
}

/// What a connection with dependencies depends on for Foundation, in place of them all: it ends when they have.
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
