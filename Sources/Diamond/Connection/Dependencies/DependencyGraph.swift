import DiamondSQLite
import Foundation

/// The order between the connections of the process, whichever engine they belong to.
///
/// Foundation's queue on Linux walks everything that waits whenever something ends: chains are quadratic there. Here an
/// edge costs the same however many there are.
enum DependencyGraph {
    private struct State {
        /// The connections that may start, and have not been started.
        var ready = FIFOQueue<Connection>()
        /// The threads that start them.
        var starters: Set<pthread_t> = []
        var order = DependencyOrder()

        /// - Returns: the connection that the thread starts next; `nil` where nothing is left to start.
        mutating func next(for thread: pthread_t) -> Connection? {
            if let connection = ready.popFirst() { return connection }
            starters.remove(thread)
            return nil
        }
    }

    private static let state = Guarded(State())

    /// Returns the dependencies of a connection, ended ones included.
    static func dependencies(of connection: Connection) -> [Dependency.Ties] {
        state.withLock { _ in connection.knownNode?.dependencies.map(\.ties) ?? [] }
    }

    // MARK: Edges

    /// The result of adding an edge.
    enum Addition {
        /// - Parameter suspects: the operations in which to look for a cycle that the edge may have closed through one
        ///   that is no connection.
        case added(suspects: [Operation])
        /// Nothing was added: the edge would have closed this cycle, from the dependent to the dependent.
        case cycle([Request])
        /// Nothing was added: Foundation has to be given a gate first.
        case needsGate
    }

    /// Enters an edge.
    ///
    /// - Parameter gate: one that Foundation knows already; ended where it is not needed.
    static func add(_ edge: Dependency, of dependent: Connection, gate: DependencyGate?) -> Addition {
        let (addition, isKept, met) = state.withLock { state in
            var met: [AnyObject] = []
            let (addition, isKept) = add(edge, dependent, gate, &state.order, &met)
            return (addition, isKept, met + state.order.takeMet())
        }
        withExtendedLifetime(met) {}
        if !isKept { gate?.end() }
        return addition
    }

    private static func add(
        _ edge: Dependency,
        _ dependent: Connection,
        _ gate: DependencyGate?,
        _ order: inout DependencyOrder,
        _ met: inout [AnyObject]
    ) -> (Addition, isKept: Bool) {
        let (node, target) = (dependent.node, edge.ties.connection)
        edge.isOver = target?.isOver ?? false
        guard edge.isOver || !dependent.isWatched || node.gate != nil || gate != nil else { return (.needsGate, false) }
        if let target, !edge.isOver, let cycle = order.put(node, behind: target.node) {
            return (.cycle(cycle.compactMap(\.connection?.request)), false)
        }
        node.enter(edge)
        guard !edge.isOver else { return (.added(suspects: []), false) }
        target?.node.add(edge, &met)
        let suspects = suspects(edge.ties.operation, target, of: node, &met)
        guard let gate, node.gate == nil else { return (.added(suspects: suspects), false) }
        node.take(gate)
        return (.added(suspects: suspects), true)
    }

    private static func suspects(
        _ operation: Operation?,
        _ target: Connection?,
        of node: DependencyNode,
        _ met: inout [AnyObject]
    ) -> [Operation] {
        if let target { return node.follow(target.node, &met) ? [target] : [] }
        guard let operation else { return [] }
        node.leadAbroad(&met)
        return [operation]
    }

    /// Takes out the edges to an operation, and starts the connection where it waited for nothing else.
    static func remove(_ operation: Operation, from dependent: Connection) {
        remove(from: dependent) { edge in
            edge.ties.operation === operation
                || (operation as? Connection)?.knownNode?.isAwaited(loosely: edge) == true
        }
    }

    /// Takes out edges, and starts the connection where it waited for nothing else.
    static func remove(_ edges: [Dependency], from dependent: Connection) {
        let known = Set(edges.map(ObjectIdentifier.init))
        remove(from: dependent) { known.contains(ObjectIdentifier($0)) }
    }

    private static func remove(from dependent: Connection, where isMeant: (Dependency) -> Bool) {
        let edges = state.withLock { _ in dependent.knownNode?.removeDependencies(where: isMeant) ?? [] }
        end { edges }
        let ties = state.withLock { _ in edges.map { $0.letGo() } }
        withExtendedLifetime(ties) {}
    }

    /// Ends an edge when an operation that is no connection ends. The operation is kept until then.
    static func watch(_ operation: Operation, for edge: Dependency) {
        let watcher = BlockOperation { [weak edge] in
            if let edge { end { [edge] } }
        }
        watcher.addDependency(operation)
        // A queue of its own, which is kept until it has run: one for all looks at everything that waits whenever something
        // ends.
        OperationQueue().addOperation(watcher)
    }

    // MARK: Gates

    /// Returns whether a gate has to tell a queue that sees the connection for the first time that it waits.
    static func needsGate(_ connection: Connection) -> Bool {
        state.withLock { _ in
            guard !connection.isWatched else { return false }
            connection.isWatched = true
            return connection.isHeld
        }
    }

    /// Takes a gate that Foundation knows already, where the connection waits still; else it is ended.
    static func take(_ gate: DependencyGate, of connection: Connection) {
        let isTaken = state.withLock { _ in
            guard connection.isHeld, connection.node.gate == nil else { return false }
            connection.node.take(gate)
            return true
        }
        if !isTaken { gate.end() }
    }

    static func isHeld(_ connection: Connection) -> Bool { state.withLock { _ in connection.isHeld } }

    // MARK: Cycles through what is no connection

    /// Returns the operations that a connection waits for and that are no connections.
    static func foreign(of connection: Connection) -> [Dependency.Foreign] {
        state.withLock { _ in connection.knownNode?.foreign ?? [] }
    }

    /// Returns the operations in which to look for a cycle that a connection may have closed by standing in line.
    static func suspects(inFrontOf connection: Connection) -> [Operation] {
        state.withLock { _ in
            guard connection.isAwaitedAbroad, let last = connection.knownNode?.inFront else { return [] }
            return last.node.leadsAbroad ? [last] : []
        }
    }

    /// Returns the operations that a search continues with, and marks the connections among them as awaited by an
    /// operation that is no connection. Connections are included only where they wait for something.
    static func waiting(among operations: [Operation]) -> [Operation] {
        state.withLock { _ in operations.filter(waits) }
    }

    /// Returns the operations that a connection waits for and with which a search continues, as ``waiting(among:)``
    /// does.
    static func waiting(inFrontOf connection: Connection) -> [Operation] {
        state.withLock { _ in
            guard let node = connection.knownNode else { return [] }
            let awaited = node.dependencies.compactMap { $0.isOver ? nil : $0.ties.operation }
            return (awaited + [node.inFront].compactMap(\.self)).filter(waits)
        }
    }

    private static func waits(_ operation: Operation) -> Bool {
        guard let connection = operation as? Connection else { return true }
        connection.isAwaitedAbroad = true
        return connection.isHeld && !connection.isOver
    }

    // MARK: Lines

    /// Puts a connection behind the last of a line, whose turn it waits for until ``leaveLine(_:_:)``.
    ///
    /// - Parameter met: collects objects that may have no other reference; free them where no lock is held.
    /// - Returns: `false`, and does nothing, where it would wait for itself.
    static func line(up connection: Connection, behind last: Connection, _ met: inout [AnyObject]) -> Bool {
        state.withLock { state in
            let (node, end) = (connection.node, last.node)
            let isBehind = state.order.put(node, behind: end) == nil
            if isBehind {
                (node.predecessor, end.follower) = (end, node)
                _ = node.follow(end, &met)
            }
            met += state.order.takeMet()
            return isBehind
        }
    }

    /// Takes a connection out of its line, and joins the nodes before and behind it.
    ///
    /// - Parameter met: collects objects that may have no other reference; free them where no lock is held.
    static func leaveLine(_ connection: Connection, _ met: inout [AnyObject]) {
        state.withLock { _ in
            guard let node = connection.knownNode else { return }
            let (predecessor, follower) = (node.predecessor, node.follower)
            met += [predecessor, follower].compactMap(\.self) as [AnyObject]
            predecessor?.follower = follower
            follower?.predecessor = predecessor
            (node.predecessor, node.follower) = (nil, nil)
        }
    }

    // MARK: Waiting

    /// Makes the connection wait where it has to. It is started when it need not wait any longer.
    ///
    /// - Returns: the operations that it waits for and that are no connections; `nil` where it need not wait.
    static func wait(_ connection: Connection) -> [Dependency.Foreign]? {
        state.withLock { _ in
            guard connection.isHeld else { return nil }
            connection.node.waiting = connection
            return connection.node.foreign
        }
    }

    /// Returns whether the connection waited to be started. From now on it does not, and the graph will not start it.
    static func stopWaiting(_ connection: Connection) -> Bool {
        state.withLock { _ in
            defer { connection.knownNode?.waiting = nil }
            return connection.knownNode?.waiting != nil
        }
    }

    /// Ends the edges of all connections that wait for this one.
    static func release(dependentsOf connection: Connection) {
        end {
            connection.core.withLock { $0.isReleased = true }
            let edges = connection.knownNode?.takeDependents() ?? []
            for edge in edges { edge.fasten(to: connection) }
            return edges
        }
    }

    /// Lets go of the dependencies of a finished connection.
    static func drop(dependenciesOf connection: Connection) {
        let ties = state.withLock { _ in connection.knownNode?.removeDependencies() ?? [] }
        // What they held is freed here, outside of the lock.
        withExtendedLifetime(ties) {}
    }

    /// Ends an edge that stands for a turn in a line, because the turn has come.
    static func end(_ edge: Dependency) { end { [edge] } }

    /// Ends edges. Foundation is told, and what is ready is started, outside of the lock.
    private static func end(_ edges: () -> [Dependency]) {
        let (gates, kept) = state.withLock { state in
            let edges = edges()
            return (end(edges, &state), edges)
        }
        guard !kept.isEmpty else { return }
        // What nobody else has any more is freed here, outside of the lock.
        withExtendedLifetime(kept) {
            for (gate, connection) in gates { withExtendedLifetime(connection) { gate.end() } }
        }
        startReady()
    }

    private static func end(_ edges: [Dependency], _ state: inout State) -> [(DependencyGate, of: Connection)] {
        var gates: [(DependencyGate, of: Connection)] = []
        for edge in edges where !edge.isOver {
            edge.isOver = true
            guard let (gate, waiting) = edge.dependent?.finishOne() else { continue }
            if let gate { gates.append(gate) }
            if let waiting { state.ready.append(waiting) }
        }
        return gates
    }

    // A connection that ends as it starts makes others ready: one after another, because a chain of them can be longer
    // than a stack is deep. By whichever threads come, because code of the app may hold one of them up in a start.
    private static func startReady() {
        let thread = pthread_self()
        guard state.withLock({ !$0.ready.isEmpty && $0.starters.insert(thread).inserted }) else { return }
        while let connection = state.withLock({ $0.next(for: thread) }) { connection.start() }
    }

    // MARK: Letting go

    /// Stops keeping those dependencies of a connection that no engine runs, so that only their other owners keep them.
    /// If a dependency has no other owner, now or later, the connection is canceled.
    static func loosen(dependenciesOf connection: Connection) {
        let loosened = state.withLock { _ in connection.knownNode?.loosen() ?? [] }
        withExtendedLifetime(loosened) {}
    }

    /// Lets go of the dependencies of a connection that is being freed.
    static func free(_ node: DependencyNode) {
        let current = FreedOperations.current
        let freed = current ?? FreedOperations()
        var orphans: [Connection] = []
        // Freed behind the lock, by whoever is at it already; held by nobody here, who would free a chain by recursion.
        freed.ties += state.withLock { _ in
            defer { orphans = node.orphans }
            return node.close()
        }
        if current == nil { freed.free() }
        for orphan in orphans { orphan.cancel() }
    }
}
