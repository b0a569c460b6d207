import Foundation

/// An edge between a connection and the operation that it waits for. The node of the connection references it, and so
/// does the node of the operation if that is a connection.
///
/// `@unchecked Sendable`: changed only under the lock of ``DependencyGraph``.
final class Dependency: @unchecked Sendable {
    typealias RequestUpdate = @Sendable (inout Request, Response) throws -> Void

    /// The strong references of an edge.
    struct References {
        /// The connection or other operation that is waited for; `nil` for a turn in a serial lane, and after
        /// ``Dependency/dropConnection()``.
        var operation: Operation?
        /// The closure that updates the request of the waiting connection with the response.
        var update: RequestUpdate?

        var connection: Connection? { operation as? Connection }
        /// The operation that is waited for, if it is no connection.
        var foreign: Operation? { connection == nil ? operation : nil }
    }

    /// An edge to an operation that is no connection, with that operation.
    typealias Foreign = (edge: Dependency, operation: Operation)

    /// The references; none once they were released.
    private(set) var references: References
    /// The waiting node, until the references of the edge are released.
    // Not weak: once an object has a weak reference, its retains and releases are slower.
    var dependent: DependencyNode?
    /// Whether no connection waits on the edge: the dependency has ended, or the references were released.
    var isOver = false

    init(on operation: Operation?, update: RequestUpdate?) {
        references = References(operation: operation, update: update)
    }

    /// Releases the references of the edge now. The edge itself may live longer, because the waiting node and the
    /// node of the dependency retain it.
    ///
    /// - Returns: the references to free while no lock is held.
    func releaseReferences() -> References {
        defer {
            references = References()
            dependent = nil
            isOver = true
        }
        return references
    }

    /// Drops the reference to the connection that is waited for. It may still finish if it has other owners.
    ///
    /// - Returns: the connection, to be freed while no lock is held.
    func dropConnection() -> Connection? {
        guard let connection = references.connection else { return nil }
        references.operation = nil
        return connection
    }

    /// Restores a dropped reference, because the connection has ended and its outcome may be read.
    func restore(_ connection: Connection) {
        if !isOver, references.operation == nil { references.operation = connection }
    }
}
