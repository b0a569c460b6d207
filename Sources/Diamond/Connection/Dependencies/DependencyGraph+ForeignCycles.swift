import DiamondSQLite
import Foundation

/// The search for cycles through operations that are no connections.
extension DependencyGraph {
    /// Returns the operations that a connection waits for and that are no connections.
    static func foreign(of connection: Connection) -> [Dependency.Foreign] {
        core.withLock { _ in connection.knownNode?.foreign ?? [] }
    }

    /// Returns the operations to search for a cycle that a connection may have closed by entering a serial line.
    static func suspects(inFrontOf connection: Connection) -> [Operation] {
        core.withLock { _ in
            guard connection.isAwaitedByForeign, let last = connection.knownNode?.inFront else { return [] }
            return last.node.awaitsForeign ? [last] : []
        }
    }

    /// Returns the operations that a search continues with, and marks the connections among them as awaited by an
    /// operation that is no connection. Connections are included only where they wait for something.
    static func waiting(among operations: [Operation]) -> [Operation] {
        core.withLock { _ in operations.filter(waits) }
    }

    /// Returns the operations that a connection waits for and with which a search continues, as ``waiting(among:)``
    /// does.
    static func waiting(inFrontOf connection: Connection) -> [Operation] {
        core.withLock { _ in
            guard let node = connection.knownNode else { return [] }
            let awaited = node.dependencies.compactMap { $0.isOver ? nil : $0.references.operation }
            return (awaited + [node.inFront].compactMap(\.self)).filter(waits)
        }
    }

    private static func waits(_ operation: Operation) -> Bool {
        guard let connection = operation as? Connection else { return true }
        connection.isAwaitedByForeign = true
        return connection.isHeld && !connection.isOver
    }
}
