import Foundation

/// One edge between a connection and what it waits for, known to both.
///
/// `@unchecked Sendable`: changed under the lock of ``DependencyGraph`` alone.
final class Dependency: @unchecked Sendable {
    typealias Hand = @Sendable (inout Request, Response) throws -> Void

    /// What an edge keeps.
    struct Ties {
        /// A connection, or another operation; `nil` where it is the turn that is waited for.
        var operation: Operation?
        /// What of the response goes into the request of the connection that waits.
        var hand: Hand?

        var connection: Connection? { operation as? Connection }
        /// What is waited for, where it is no connection.
        var foreign: Operation? { connection == nil ? operation : nil }
    }

    /// An edge to what is no connection, and that.
    typealias Foreign = (edge: Dependency, operation: Operation)

    /// None once the edge was let go of.
    private(set) var ties: Ties
    /// Who waits, from when the edge is entered until it is let go of.
    // Not weak: an object that is known weakly is slower to keep and to free from then on.
    var dependent: DependencyNode?
    /// Whether nobody waits for it any more: it has ended, or was let go of.
    var isOver = false

    init(on operation: Operation?, hand: Hand?) { ties = Ties(operation: operation, hand: hand) }

    /// Breaks its ties: who waits has it, and so has what is waited for.
    ///
    /// - Returns: what is to be freed where no lock is held.
    func letGo() -> Ties {
        defer { (ties, dependent, isOver) = (Ties(), nil, true) }
        return ties
    }

    /// Keeps what is waited for no longer: whoever else has it may still let it come to its end.
    ///
    /// - Returns: that, to be freed where no lock is held.
    func loosen() -> Connection? {
        guard let connection = ties.connection else { return nil }
        ties.operation = nil
        return connection
    }

    /// What is waited for has come to its end, and may be asked how.
    func fasten(to connection: Connection) {
        if !isOver, ties.operation == nil { ties.operation = connection }
    }
}
