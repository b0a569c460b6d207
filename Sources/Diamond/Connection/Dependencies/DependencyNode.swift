import DiamondSQLite
import Foundation

/// A connection's place among the others: what it waits for, and what waits for it.
///
/// `@unchecked Sendable`: touched under the lock of ``DependencyGraph`` alone.
final class DependencyNode: @unchecked Sendable {
    /// The connection that the node belongs to, until it is freed. Freeing takes the lock before the memory goes. Never
    /// keep the reference beyond the lock, because the connection may be about to be freed.
    unowned(unsafe) private(set) var connection: Connection?
    private(set) var dependencies: [Dependency] = []
    /// The number of dependencies that have not ended.
    private(set) var unfinished = 0
    /// The gate that Foundation waits for, while there are unfinished dependencies and a queue may know the connection.
    private(set) var gate: DependencyGate?
    /// The connection of the gate, which is not freed while its gate ends.
    private weak var gated: Connection?
    /// Its place in the ``DependencyOrder``, once it has an edge.
    var order: Int?
    /// The connection itself while it waits to be started: its caller need not keep it.
    var waiting: Connection?
    /// Whether it waits, or has once waited, for an operation that is no connection, itself or through others.
    private(set) var leadsAbroad = false
    /// The nodes before and behind it in a serial line.
    weak var predecessor: DependencyNode?
    weak var follower: DependencyNode?
    /// The connection before it in the line, which the line keeps as long as it is known here.
    var inFront: Connection? { predecessor?.connection }
    private var dependents: [Dependency] = []
    private var compaction = 16

    init(_ connection: Connection) { self.connection = connection }

    // MARK: What it waits for

    /// Enters an edge to a dependency.
    func enter(_ edge: Dependency) {
        dependencies.append(edge)
        guard !edge.isOver else { return }
        edge.dependent = self
        unfinished += 1
    }

    func take(_ gate: DependencyGate) { (self.gate, gated) = (gate, connection) }

    /// Counts one dependency as ended.
    ///
    /// - Returns: the steps to take where it was the last: the gate to end for Foundation, and the connection to start
    ///   if it waits for that.
    func finishOne() -> (gate: (DependencyGate, of: Connection)?, waiting: Connection?) {
        unfinished -= 1
        guard unfinished == 0 else { return (nil, nil) }
        defer { (gate, gated, waiting) = (nil, nil, nil) }
        guard let gate, let gated else { return (nil, waiting) }
        return ((gate, gated), waiting)
    }

    /// Takes out edges.
    func removeDependencies(where isMeant: (Dependency) -> Bool) -> [Dependency] {
        let edges = dependencies.filter(isMeant)
        if !edges.isEmpty { dependencies.removeAll(where: isMeant) }
        return edges
    }

    /// - Returns: the references to free where no lock is held.
    func removeDependencies() -> [Dependency.Ties] {
        defer { dependencies = [] }
        return dependencies.map { $0.letGo() }
    }

    /// Closes the node of a connection that is being freed.
    ///
    /// - Returns: the references to free where no lock is held.
    func close() -> [Dependency.Ties] {
        connection = nil
        return removeDependencies()
    }

    /// Stops keeping the connections that it waits for and that no engine runs.
    ///
    /// - Returns: these connections, to be freed where no lock is held.
    func loosen() -> [Connection] {
        guard waiting != nil else { return [] }
        return dependencies.filter { !$0.isOver && $0.ties.connection?.isMember == false }.compactMap { $0.loosen() }
    }

    /// Returns the nodes that the connection waits for.
    ///
    /// - Parameter met: collects objects that may have no other reference; free them where no lock is held.
    func awaited(_ met: inout [AnyObject]) -> [DependencyNode] {
        let nodes = dependencies.compactMap { $0.isOver ? nil : $0.ties.connection?.knownNode }
        return nodes + Self.met(predecessor, &met)
    }

    /// The operations that it waits for and that are no connections, with their edges.
    var foreign: [Dependency.Foreign] {
        guard leadsAbroad else { return [] }
        return dependencies.compactMap { edge in edge.isOver ? nil : edge.ties.foreign.map { (edge, $0) } }
    }

    // MARK: Abroad

    /// Notes that it waits for an operation that is no connection, and so do all that wait for it.
    ///
    /// - Parameter met: collects objects that may have no other reference; free them where no lock is held.
    func leadAbroad(_ met: inout [AnyObject]) {
        guard !leadsAbroad else { return }
        var open = [self]
        while let node = open.popLast() {
            guard !node.leadsAbroad else { continue }
            node.leadsAbroad = true
            open += node.waiters(&met)
        }
    }

    /// Notes that an operation that is no connection waits for it, and so for all that it waits for.
    ///
    /// - Parameter met: collects objects that may have no other reference; free them where no lock is held.
    private func beAwaitedAbroad(_ met: inout [AnyObject]) {
        var open = [self]
        while let node = open.popLast() {
            guard let connection = node.connection, !connection.isAwaitedAbroad else { continue }
            connection.isAwaitedAbroad = true
            open += node.awaited(&met)
        }
    }

    /// Notes that it stands behind another node.
    ///
    /// - Parameter met: collects objects that may have no other reference; free them where no lock is held.
    /// - Returns: whether that may have closed a cycle through an operation that is no connection. Only a node that
    ///   waits for such an operation and is awaited by one can be part of the cycle.
    func follow(_ target: DependencyNode, _ met: inout [AnyObject]) -> Bool {
        if target.leadsAbroad { leadAbroad(&met) }
        guard connection?.isAwaitedAbroad == true else { return false }
        target.beAwaitedAbroad(&met)
        return target.leadsAbroad
    }

    // MARK: What waits for it

    /// - Parameter met: collects objects that may have no other reference; free them where no lock is held.
    func add(_ edge: Dependency, _ met: inout [AnyObject]) {
        if dependents.count >= compaction {
            met += dependents as [AnyObject]
            dependents.removeAll(where: \.isOver)
            compaction = max(16, 2 * dependents.count)
        }
        dependents.append(edge)
    }

    func takeDependents() -> [Dependency] {
        defer { dependents = [] }
        return dependents
    }

    /// Whether a connection waits for it that does not keep it.
    func isAwaited(loosely edge: Dependency) -> Bool {
        edge.ties.operation == nil && dependents.contains { $0 === edge }
    }

    /// The connections that wait to be started when this one is freed. None of them kept it.
    var orphans: [Connection] { dependents.compactMap { $0.isOver ? nil : $0.dependent?.waiting } }

    /// Returns the nodes that wait for it.
    ///
    /// - Parameter met: collects objects that may have no other reference; free them where no lock is held.
    func waiters(_ met: inout [AnyObject]) -> [DependencyNode] {
        dependents.compactMap { $0.isOver ? nil : $0.dependent } + Self.met(follower, &met)
    }

    private static func met(_ node: DependencyNode?, _ met: inout [AnyObject]) -> [DependencyNode] {
        guard let node else { return [] }
        met.append(node)
        return [node]
    }
}

extension Connection {
    /// Whether a connection that would depend on it need not wait: its end has been told already, and is not told
    /// again.
    var isOver: Bool { core.withLock { $0.isReleased } }

    /// Whether an engine has it among the connections that it runs.
    var isMember: Bool { core.withLock { $0.isMember } }

    /// Whether it waits for something.
    var isHeld: Bool { (knownNode?.unfinished ?? 0) > 0 }

    /// The node, made where there is none: most connections have no edges.
    var node: DependencyNode {
        if let knownNode { return knownNode }
        let node = DependencyNode(self)
        knownNode = node
        return node
    }
}
