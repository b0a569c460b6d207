import Foundation

/// One edge between a connection and the operation that it waits for, known to both.
///
/// `@unchecked Sendable`: changed under the lock of ``DependencyGraph`` alone.
final class Dependency: @unchecked Sendable {
    typealias Hand = @Sendable (inout Request, Response) throws -> Void

    /// The references that an edge keeps.
    struct Ties {
        /// A connection, or another operation; `nil` where it is the turn that is waited for.
        var operation: Operation?
        /// The closure that puts a part of the response into the request of the connection that waits.
        var hand: Hand?

        var connection: Connection? { operation as? Connection }
        /// The operation that is waited for, where it is no connection.
        var foreign: Operation? { connection == nil ? operation : nil }
    }

    /// An edge to an operation that is no connection, and that operation.
    typealias Foreign = (edge: Dependency, operation: Operation)

    /// The references; none once the edge was let go of.
    private(set) var ties: Ties
    /// The node that waits, from the entry of the edge until it is let go of.
    // Not weak: an object that is known weakly is slower to keep and to free from then on.
    var dependent: DependencyNode?
    /// Whether no connection waits on the edge any more: the dependency has ended, or the edge was let go of.
    var isOver = false

    init(on operation: Operation?, hand: Hand?) { ties = Ties(operation: operation, hand: hand) }

    /// Breaks the ties of the edge, because the waiting node and the dependency both keep the edge.
    ///
    /// - Returns: the references to free where no lock is held.
    func letGo() -> Ties {
        defer { (ties, dependent, isOver) = (Ties(), nil, true) }
        return ties
    }

    /// Stops keeping the connection that is waited for. It may still finish where others keep it.
    ///
    /// - Returns: the connection, to be freed where no lock is held.
    func loosen() -> Connection? {
        guard let connection = ties.connection else { return nil }
        ties.operation = nil
        return connection
    }

    /// Keeps the connection that was waited for again, because it has ended and its outcome may be asked for.
    func fasten(to connection: Connection) {
        if !isOver, ties.operation == nil { ties.operation = connection }
    }
}
