import DiamondSQLite
import Foundation

/// A connection's place among the others: what it waits for, and what waits for it.
///
/// `@unchecked Sendable`: touched under the lock of ``DependencyGraph`` alone.
final class DependencyNode: @unchecked Sendable {
    /// Whose place it is, until that is freed: which needs the lock before its memory goes. Never kept beyond the lock,
    /// because it may be on its way out.
    unowned(unsafe) private(set) var connection: Connection?
    private(set) var dependencies: [Dependency] = []
    /// How many of them have not ended.
    private(set) var unfinished = 0
    /// What Foundation waits for, while there are such and a queue may know the connection.
    private(set) var gate: DependencyGate?
    /// The connection, which is not freed while its gate ends.
    private weak var gated: Connection?
    /// Its place in the ``DependencyOrder``, once it has an edge.
    var order: Int?
    /// The connection itself while it waits to be started: whoever enqueued it need not keep it.
    var waiting: Connection?
    /// Whether it waits for what is no connection, itself or through others; or has, once.
    private(set) var leadsAbroad = false
    /// Who stands before and behind it in a line.
    weak var predecessor: DependencyNode?
    weak var follower: DependencyNode?
    /// Who stands before it, whom the line keeps as long as that is known here.
    var inFront: Connection? { predecessor?.connection }
    private var dependents: [Dependency] = []
    private var compaction = 16

    init(_ connection: Connection) { self.connection = connection }

    // MARK: What it waits for

    /// - Returns: whether it waits for it.
    func enter(_ edge: Dependency) {
        dependencies.append(edge)
        guard !edge.isOver else { return }
        edge.dependent = self
        unfinished += 1
    }

    func take(_ gate: DependencyGate) { (self.gate, gated) = (gate, connection) }

    /// Takes one dependency off. What is to be done where it was the last: Foundation is told, and the connection
    /// started if it waits for that.
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

    /// - Returns: what is to be freed where no lock is held.
    func removeDependencies() -> [Dependency.Ties] {
        defer { dependencies = [] }
        return dependencies.map { $0.letGo() }
    }

    /// The connection is being freed.
    ///
    /// - Returns: what is to be freed where no lock is held.
    func close() -> [Dependency.Ties] {
        connection = nil
        return removeDependencies()
    }

    /// Keeps no connection that it waits for and nobody runs.
    ///
    /// - Returns: those, to be freed where no lock is held.
    func loosen() -> [Connection] {
        guard waiting != nil else { return [] }
        return dependencies.filter { !$0.isOver && $0.ties.connection?.isMember == false }.compactMap { $0.loosen() }
    }

    /// Whom the connection waits for.
    ///
    /// - Parameter met: what nobody else may have any more, to be freed where no lock is held.
    func awaited(_ met: inout [AnyObject]) -> [DependencyNode] {
        let nodes = dependencies.compactMap { $0.isOver ? nil : $0.ties.connection?.knownNode }
        return nodes + Self.met(predecessor, &met)
    }

    /// What it waits for that is no connection.
    var foreign: [Dependency.Foreign] {
        guard leadsAbroad else { return [] }
        return dependencies.compactMap { edge in edge.isOver ? nil : edge.ties.foreign.map { (edge, $0) } }
    }

    // MARK: Abroad

    /// It waits for what is no connection, and so do all that wait for it.
    ///
    /// - Parameter met: what nobody else may have any more, to be freed where no lock is held.
    func leadAbroad(_ met: inout [AnyObject]) {
        guard !leadsAbroad else { return }
        var open = [self]
        while let node = open.popLast() {
            guard !node.leadsAbroad else { continue }
            node.leadsAbroad = true
            open += node.waiters(&met)
        }
    }

    /// What is no connection waits for it, and so for all that it waits for.
    ///
    /// - Parameter met: what nobody else may have any more, to be freed where no lock is held.
    private func beAwaitedAbroad(_ met: inout [AnyObject]) {
        var open = [self]
        while let node = open.popLast() {
            guard let connection = node.connection, !connection.isAwaitedAbroad else { continue }
            connection.isAwaitedAbroad = true
            open += node.awaited(&met)
        }
    }

    /// It has come to stand behind another.
    ///
    /// - Parameter met: what nobody else may have any more, to be freed where no lock is held.
    /// - Returns: whether that may have closed a cycle through what is no connection: of such a one only both is true.
    func follow(_ target: DependencyNode, _ met: inout [AnyObject]) -> Bool {
        if target.leadsAbroad { leadAbroad(&met) }
        guard connection?.isAwaitedAbroad == true else { return false }
        target.beAwaitedAbroad(&met)
        return target.leadsAbroad
    }

    // MARK: What waits for it

    /// - Parameter met: what nobody else may have any more, to be freed where no lock is held.
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

    /// Whether one waits for it that does not keep it.
    func isAwaited(loosely edge: Dependency) -> Bool {
        edge.ties.operation == nil && dependents.contains { $0 === edge }
    }

    /// Who has waited to be started when it was freed: it has been kept by none of them.
    var orphans: [Connection] { dependents.compactMap { $0.isOver ? nil : $0.dependent?.waiting } }

    /// Who waits for it.
    ///
    /// - Parameter met: what nobody else may have any more, to be freed where no lock is held.
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
    /// Whether whoever comes to wait for it need not: nobody will tell them.
    var isOver: Bool { core.withLock { $0.isReleased } }

    /// Whether an engine has it among those that it runs.
    var isMember: Bool { core.withLock { $0.isMember } }

    /// Whether it waits for something.
    var isHeld: Bool { (knownNode?.unfinished ?? 0) > 0 }

    /// Made where there is none: most have no edges.
    var node: DependencyNode {
        if let knownNode { return knownNode }
        let node = DependencyNode(self)
        knownNode = node
        return node
    }
}
