import DiamondSQLite
import Foundation

/// A connection's node in the dependency graph, with its dependencies and dependents.
///
/// `@unchecked Sendable`: used only under the lock of ``DependencyGraph``.
final class DependencyNode: @unchecked Sendable {
    /// The connection of the node, until it is freed. Its `deinit` takes the lock, so that the reference is valid under
    /// the lock. Never retain it beyond the lock, because the connection may be about to be freed.
    unowned(unsafe) private(set) var connection: Connection?
    private(set) var dependencies: SmallArray<Dependency> = []
    // These two share a word, and `awaitsForeign` is where `order` leaves room: very many connections may wait.
    /// The number of dependencies that have not ended.
    private(set) var unfinished: Int32 = 0
    private var compaction: Int32 = 16
    /// The gate that Foundation waits for, while there are unfinished dependencies and a queue may know the connection.
    private(set) var gate: DependencyGate?
    /// The connection of the gate. It must not be freed while its gate ends.
    private weak var gated: Connection?
    /// The position in the ``DependencyOrder``, once the node has an edge.
    var order: Int?
    /// Whether the node waits, or has waited, for an operation that is no connection ("foreign"), directly or through
    /// others.
    private(set) var awaitsForeign = false
    /// A strong reference to the connection while it waits to be started, so that its caller need not hold one.
    var waiting: Connection?
    /// The node before this one in the line of a serial lane.
    weak var predecessor: DependencyNode?
    /// The node after this one in a serial line.
    weak var successor: DependencyNode?
    /// The connection before this one in the line. The line retains it while the node is linked.
    var inFront: Connection? { predecessor?.connection }
    private var dependents: SmallArray<Dependency> = []

    init(_ connection: Connection) { self.connection = connection }

    // MARK: Dependencies

    /// Adds an edge to a dependency.
    func enter(_ edge: Dependency) {
        dependencies.append(edge)
        guard !edge.isOver else { return }
        edge.dependent = self
        unfinished += 1
    }

    func setGate(_ gate: DependencyGate) {
        self.gate = gate
        gated = connection
    }

    /// Counts one dependency as ended.
    ///
    /// - Returns: the steps to take if it was the last: the gate to end for Foundation, and the connection to start if
    ///   it waits to be started.
    func finishOne() -> (gate: (DependencyGate, of: Connection)?, waiting: Connection?) {
        unfinished -= 1
        guard unfinished == 0 else { return (nil, nil) }
        defer {
            gate = nil
            gated = nil
            waiting = nil
        }
        guard let gate, let gated else { return (nil, waiting) }
        return ((gate, gated), waiting)
    }

    /// Removes the edges that satisfy a predicate, and returns them.
    func removeDependencies(where isMeant: (Dependency) -> Bool) -> [Dependency] {
        let edges = dependencies.filter(isMeant)
        if !edges.isEmpty { dependencies.removeAll(where: isMeant) }
        return edges
    }

    /// - Returns: the references to free while no lock is held.
    func removeDependencies() -> [Dependency.References] {
        defer { dependencies = [] }
        return dependencies.map { $0.releaseReferences() }
    }

    /// Closes the node of a connection that is being freed.
    ///
    /// - Returns: the references to free while no lock is held.
    func close() -> [Dependency.References] {
        connection = nil
        return removeDependencies()
    }

    /// Drops the references to dependencies that no engine runs.
    ///
    /// - Returns: these connections, to be freed while no lock is held.
    func dropUnownedConnections() -> [Connection] {
        guard waiting != nil else { return [] }
        return dependencies.filter { !$0.isOver && $0.references.connection?.isMember == false }.compactMap {
            $0.dropConnection()
        }
    }

    /// Returns the nodes that the connection waits for.
    ///
    /// - Parameter releaseLater: collects objects that may have no other reference, to be released while no lock is
    ///   held.
    func awaited(releaseLater: inout [AnyObject]) -> [DependencyNode] {
        let nodes = dependencies.compactMap { $0.isOver ? nil : $0.references.connection?.knownNode }
        return nodes + Self.neighbors(predecessor, releaseLater: &releaseLater)
    }

    /// The unfinished dependencies that are no connections, with their edges.
    var foreign: [Dependency.Foreign] {
        guard awaitsForeign else { return [] }
        return dependencies.compactMap { edge in edge.isOver ? nil : edge.references.foreign.map { (edge, $0) } }
    }

    // MARK: Foreign operations

    /// Marks the node, and all nodes that wait for it, as waiting for an operation that is no connection.
    ///
    /// - Parameter releaseLater: collects objects that may have no other reference, to be released while no lock is
    ///   held.
    func markAwaitsForeign(releaseLater: inout [AnyObject]) {
        guard !awaitsForeign else { return }
        var open = [self]
        while let node = open.popLast() {
            guard !node.awaitsForeign else { continue }
            node.awaitsForeign = true
            open += node.waiters(releaseLater: &releaseLater)
        }
    }

    /// Marks the node, and all nodes that it waits for, as awaited by an operation that is no connection.
    ///
    /// - Parameter releaseLater: collects objects that may have no other reference, to be released while no lock is
    ///   held.
    private func markAwaitedByForeign(releaseLater: inout [AnyObject]) {
        var open = [self]
        while let node = open.popLast() {
            guard let connection = node.connection, !connection.isAwaitedByForeign else { continue }
            connection.isAwaitedByForeign = true
            open += node.awaited(releaseLater: &releaseLater)
        }
    }

    /// Updates the marks after the node was placed after another node.
    ///
    /// - Parameter releaseLater: collects objects that may have no other reference, to be released while no lock is
    ///   held.
    /// - Returns: whether that may have closed a cycle through an operation that is no connection. Only a node that
    ///   waits for such an operation and is awaited by one can be part of the cycle.
    func follow(_ target: DependencyNode, releaseLater: inout [AnyObject]) -> Bool {
        if target.awaitsForeign { markAwaitsForeign(releaseLater: &releaseLater) }
        guard connection?.isAwaitedByForeign == true else { return false }
        target.markAwaitedByForeign(releaseLater: &releaseLater)
        return target.awaitsForeign
    }

    // MARK: Dependents

    /// Adds an edge from a dependent.
    ///
    /// - Parameter releaseLater: collects objects that may have no other reference, to be released while no lock is
    ///   held.
    func add(_ edge: Dependency, releaseLater: inout [AnyObject]) {
        if dependents.count >= compaction {
            releaseLater += dependents.map { $0 as AnyObject }
            dependents.removeAll(where: \.isOver)
            compaction = max(16, Int32(clamping: 2 * dependents.count))
        }
        dependents.append(edge)
    }

    func takeDependents() -> SmallArray<Dependency> {
        defer { dependents = [] }
        return dependents
    }

    /// Returns whether a connection waits for this one by an edge without a reference to it.
    func isAwaited(withoutReferenceBy edge: Dependency) -> Bool {
        edge.references.operation == nil && dependents.contains { $0 === edge }
    }

    /// The connections that wait to be started when this one is freed. None of them had a reference to it.
    var orphans: [Connection] { dependents.compactMap { $0.isOver ? nil : $0.dependent?.waiting } }

    /// Returns the nodes that wait for this one.
    ///
    /// - Parameter releaseLater: collects objects that may have no other reference, to be released while no lock is
    ///   held.
    func waiters(releaseLater: inout [AnyObject]) -> [DependencyNode] {
        dependents.compactMap { $0.isOver ? nil : $0.dependent }
            + Self.neighbors(successor, releaseLater: &releaseLater)
    }

    private static func neighbors(_ node: DependencyNode?, releaseLater: inout [AnyObject]) -> [DependencyNode] {
        guard let node else { return [] }
        releaseLater.append(node)
        return [node]
    }
}

extension Connection {
    /// Whether a new dependent need not wait: the dependents have been released, or are about to be. It may become
    /// true while the lock of the graph is held.
    var isOver: Bool { core.withLock { $0.isReleased } }

    /// Whether the connection has a node, and so may have edges. Read without the lock of the graph, which connections
    /// without edges need not take.
    var hasNode: Bool { core.withLock { $0.hasNode } }

    /// Whether an engine runs the connection.
    var isMember: Bool { core.withLock { $0.isMember } }

    /// Whether the connection has unfinished dependencies.
    var isHeld: Bool { (knownNode?.unfinished ?? 0) > 0 }

    /// The node, created on first use: most connections have no edges.
    var node: DependencyNode {
        if let knownNode { return knownNode }
        let node = DependencyNode(self)
        knownNode = node
        core.withLock { $0.hasNode = true }
        return node
    }
}
