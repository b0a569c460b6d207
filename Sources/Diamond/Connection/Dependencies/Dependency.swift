import Foundation

/// One edge between a connection and what it waits for.
///
/// `@unchecked Sendable`: changed under the lock of ``DependencyGraph`` alone; its operation only as its dependent is freed,
/// which reads it without.
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
