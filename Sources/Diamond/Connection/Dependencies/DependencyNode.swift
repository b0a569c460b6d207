import DiamondSQLite
import Foundation

/// A connection's place among the others: what it waits for, and what waits for it.
///
/// `@unchecked Sendable`: touched under the lock of ``DependencyGraph`` alone.
final class DependencyNode: @unchecked Sendable {
    private struct Dependent { weak var edge: Dependency? }

    var dependencies: [Dependency] = []
    /// How many of them have not ended.
    var unfinished = 0
    /// What Foundation waits for, while there are such.
    var gate: DependencyGate?
    /// Its place in the ``DependencyOrder``, once it has an edge.
    var order: Int?
    /// The connection itself while it waits to be started: whoever enqueued it need not keep it.
    var waiting: Connection?
    /// Who stands before and behind it in a line.
    weak var predecessor: Connection?
    weak var follower: Connection?
    private var dependents: [Dependent] = []
    private var compaction = 16

    /// An edge is its dependent's: it goes with it.
    ///
    /// - Parameter met: what nobody else may have any more, to be freed where no lock is held.
    func add(_ edge: Dependency, _ met: inout [AnyObject]) {
        if dependents.count >= compaction {
            let edges = takeDependents()
            met += edges as [AnyObject]
            dependents = edges.filter { !$0.isOver }.map(Dependent.init)
            compaction = max(16, 2 * dependents.count)
        }
        dependents.append(Dependent(edge: edge))
    }

    /// Whom the connection waits for.
    var awaited: [Connection] {
        dependencies.compactMap { $0.isOver ? nil : $0.connection } + (predecessor.map { [$0] } ?? [])
    }

    /// Who waits for it.
    ///
    /// - Parameter met: what nobody else may have any more, to be freed where no lock is held.
    func waiters(_ met: inout [AnyObject]) -> [Connection] {
        let edges = dependents.compactMap(\.edge)
        met += edges as [AnyObject]
        return edges.compactMap { $0.isOver ? nil : $0.dependent } + (follower.map { [$0] } ?? [])
    }

    /// What the connection waits for, from one that is being freed. The edges stay, and are freed with it.
    func moveOperations(to operations: inout [Operation]) {
        for edge in dependencies {
            if let operation = edge.operation { operations.append(operation) }
            edge.operation = nil
        }
    }

    func takeDependents() -> [Dependency] {
        defer { dependents = [] }
        return dependents.compactMap(\.edge)
    }

    /// Takes one dependency off. What is to be done where it was the last: Foundation is told, and the connection
    /// started if it waits for that.
    func finishOne() -> (gate: DependencyGate?, waiting: Connection?) {
        unfinished -= 1
        guard unfinished == 0 else { return (nil, nil) }
        defer { (gate, waiting) = (nil, nil) }
        return (gate, waiting)
    }
}

extension Connection {
    /// Whether whoever comes to wait for it need not: nobody will tell them.
    var isOver: Bool { core.withLock { $0.isReleased } }

    /// Made where there is none: most have no edges.
    var node: DependencyNode {
        let node = knownNode ?? DependencyNode()
        knownNode = node
        return node
    }
}
