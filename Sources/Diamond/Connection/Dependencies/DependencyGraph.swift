import DiamondSQLite
import Foundation

/// The dependencies between the connections of the process, across engines.
///
/// Foundation's queue on Linux walks all waiting operations whenever one ends, so that chains take quadratic time.
/// Here the end of an operation costs only the edges to it. Adding an edge costs the same for any number of edges,
/// unless it goes against the ``DependencyOrder``.
enum DependencyGraph {
    struct Core {
        /// The connections that may start and have not been started.
        var ready = FIFOQueue<Connection>()
        /// The threads that start them.
        var starters: Set<pthread_t> = []
        var order = DependencyOrder()

        /// - Returns: the connection that the thread starts next; `nil` if there is none.
        mutating func next(for thread: pthread_t) -> Connection? {
            if let connection = ready.popFirst() { return connection }
            starters.remove(thread)
            return nil
        }
    }

    static let core = Guarded(Core())

    /// Returns the dependencies of a connection, ended ones included.
    static func dependencies(of connection: Connection) -> [Dependency.References] {
        guard connection.hasNode else { return [] }
        return core.withLock { _ in connection.knownNode?.dependencies.map(\.references) ?? [] }
    }

    // MARK: Edges

    /// The result of adding an edge.
    enum Addition {
        /// The edge was added.
        ///
        /// - Parameter suspects: the operations to search for a cycle that the edge may have closed through an
        ///   operation that is no connection.
        case added(suspects: [Operation])
        /// Nothing was added: the edge would have closed this cycle, which starts and ends with the dependent.
        case cycle([Request])
        /// Nothing was added: Foundation needs a gate first.
        case needsGate
    }

    /// Adds an edge.
    ///
    /// - Parameter gate: a gate that Foundation knows already. It is ended if it is not needed.
    static func add(_ edge: Dependency, of dependent: Connection, gate: DependencyGate?) -> Addition {
        let (addition, isKept, releaseLater) = core.withLock { core in
            var releaseLater: [AnyObject] = []
            let (addition, isKept) = add(
                edge, of: dependent, gate: gate, order: &core.order, releaseLater: &releaseLater)
            return (addition, isKept, releaseLater + core.order.takeReleaseLater())
        }
        withExtendedLifetime(releaseLater) {}
        if !isKept { gate?.end() }
        return addition
    }

    private static func add(
        _ edge: Dependency,
        of dependent: Connection,
        gate: DependencyGate?,
        order: inout DependencyOrder,
        releaseLater: inout [AnyObject]
    ) -> (Addition, isKept: Bool) {
        let node = dependent.node
        let target = edge.references.connection
        // The node exists before `isOver` is read for the edge: `release` sets `isReleased` and reads `hasNode` in one
        // step, so that either the edge is over, or `release` finds the node.
        if let target, !target.isOver { _ = target.node }
        edge.isOver = target?.isOver ?? false
        guard edge.isOver || !dependent.isWatched || node.gate != nil || gate != nil else { return (.needsGate, false) }
        if let target, !edge.isOver, let cycle = order.move(node, after: target.node) {
            return (.cycle(cycle.compactMap(\.connection?.request)), false)
        }
        node.enter(edge)
        guard !edge.isOver else { return (.added(suspects: []), false) }
        target?.node.add(edge, releaseLater: &releaseLater)
        let suspects = suspects(
            through: edge.references.operation, target: target, of: node, releaseLater: &releaseLater)
        guard let gate, node.gate == nil else { return (.added(suspects: suspects), false) }
        node.setGate(gate)
        return (.added(suspects: suspects), true)
    }

    private static func suspects(
        through operation: Operation?,
        target: Connection?,
        of node: DependencyNode,
        releaseLater: inout [AnyObject]
    ) -> [Operation] {
        if let target { return node.follow(target.node, releaseLater: &releaseLater) ? [target] : [] }
        guard let operation else { return [] }
        node.markAwaitsForeign(releaseLater: &releaseLater)
        return [operation]
    }

    /// Removes the edges to an operation, and starts the connection if it waited for nothing else.
    static func remove(_ operation: Operation, from dependent: Connection) {
        remove(from: dependent) { edge in
            edge.references.operation === operation
                || (operation as? Connection)?.knownNode?.isAwaited(withoutReferenceBy: edge) == true
        }
    }

    /// Removes edges, and starts the connection if it waited for nothing else.
    static func remove(_ edges: [Dependency], from dependent: Connection) {
        let known = Set(edges.map(ObjectIdentifier.init))
        remove(from: dependent) { known.contains(ObjectIdentifier($0)) }
    }

    private static func remove(from dependent: Connection, where isMeant: (Dependency) -> Bool) {
        let edges = core.withLock { _ in dependent.knownNode?.removeDependencies(where: isMeant) ?? [] }
        end { edges }
        let references = core.withLock { _ in edges.map { $0.releaseReferences() } }
        withExtendedLifetime(references) {}
    }

    /// Ends an edge when an operation that is no connection ends. The operation is retained until then.
    static func watch(_ operation: Operation, for edge: Dependency) {
        let watcher = BlockOperation { [weak edge] in
            if let edge { end { [edge] } }
        }
        watcher.addDependency(operation)
        // One queue for each watcher, retained until it has run: a shared queue walks everything that waits whenever
        // something ends.
        OperationQueue().addOperation(watcher)
    }

    // MARK: Gates

    /// Records that a queue sees the connection. Returns whether a gate is needed: the queue is the first one, and
    /// the connection has unfinished dependencies.
    static func needsGate(_ connection: Connection) -> Bool {
        core.withLock { _ in
            connection.isQueued = true
            guard !connection.isWatched else { return false }
            connection.isWatched = true
            return connection.isHeld
        }
    }

    /// Sets a gate that Foundation knows already, if the connection still waits; else ends the gate.
    static func setGate(_ gate: DependencyGate, of connection: Connection) {
        let isSet = core.withLock { _ in
            guard connection.isHeld, connection.node.gate == nil else { return false }
            connection.node.setGate(gate)
            return true
        }
        if !isSet { gate.end() }
    }

    static func isHeld(_ connection: Connection) -> Bool { core.withLock { _ in connection.isHeld } }

    /// Whether a queue of the app may have the connection.
    static func isQueued(_ connection: Connection) -> Bool { core.withLock { _ in connection.isQueued } }

    // MARK: Waiting

    /// Makes the connection wait if it has to. The graph starts it when its dependencies have ended.
    ///
    /// - Returns: the operations that it waits for and that are no connections; `nil` if it need not wait.
    static func wait(_ connection: Connection) -> [Dependency.Foreign]? {
        guard connection.hasNode else { return nil }
        return core.withLock { _ in
            guard connection.isHeld else { return nil }
            connection.node.waiting = connection
            return connection.node.foreign
        }
    }

    /// Ends the wait of a connection, so that the graph will not start it.
    ///
    /// - Returns: whether the connection waited.
    static func stopWaiting(_ connection: Connection) -> Bool {
        guard connection.hasNode else { return false }
        return core.withLock { _ in
            defer { connection.knownNode?.waiting = nil }
            return connection.knownNode?.waiting != nil
        }
    }

    /// Ends the edges of all connections that wait for this one.
    static func release(dependentsOf connection: Connection) {
        let hasNode = connection.core.withLock { core in
            core.isReleased = true
            return core.hasNode
        }
        guard hasNode else { return }
        end {
            let edges = connection.knownNode?.takeDependents() ?? []
            for edge in edges { edge.restore(connection) }
            return edges
        }
    }

    /// Releases the dependencies of a finished connection.
    static func drop(dependenciesOf connection: Connection) {
        guard connection.hasNode else { return }
        let references = core.withLock { _ in connection.knownNode?.removeDependencies() ?? [] }
        // Freed outside of the lock.
        withExtendedLifetime(references) {}
    }

    /// Ends the edge on which a connection waits for its turn in a serial line, because the turn has come.
    static func end(_ edge: Dependency) { end { [edge] } }

    /// Ends edges. Outside of the lock, it ends gates for Foundation and starts connections that are ready.
    private static func end<Edges: Collection<Dependency>>(_ edges: () -> Edges) {
        let (gates, ended) = core.withLock { core in
            let edges = edges()
            return (end(edges, in: &core), edges)
        }
        guard !ended.isEmpty else { return }
        // The last references are released here, outside of the lock.
        withExtendedLifetime(ended) {
            for (gate, connection) in gates { withExtendedLifetime(connection) { gate.end() } }
        }
        startReady()
    }

    private static func end(
        _ edges: some Collection<Dependency>, in core: inout Core
    ) -> [(DependencyGate, of: Connection)] {
        var gates: [(DependencyGate, of: Connection)] = []
        for edge in edges where !edge.isOver {
            edge.isOver = true
            guard let (gate, waiting) = edge.dependent?.finishOne() else { continue }
            if let gate { gates.append(gate) }
            if let waiting { core.ready.append(waiting) }
        }
        return gates
    }

    // A connection that ends as it starts makes others ready. The loop starts them one after another, because recursion
    // along a long chain would overflow the stack. Several threads may start connections at the same time, because code
    // of the app may block one of them.
    private static func startReady() {
        let thread = pthread_self()
        guard core.withLock({ !$0.ready.isEmpty && $0.starters.insert(thread).inserted }) else { return }
        while let connection = core.withLock({ $0.next(for: thread) }) { connection.start() }
    }

    // MARK: Releasing

    /// Drops the references of a waiting connection to those dependencies that no engine runs. If such a dependency
    /// is freed before it ends, the connection is canceled.
    static func dropUnowned(dependenciesOf connection: Connection) {
        let dropped = core.withLock { _ in connection.knownNode?.dropUnownedConnections() ?? [] }
        withExtendedLifetime(dropped) {}
    }

    /// Releases the dependencies of a connection that is being freed, and cancels the connections that still wait for
    /// it.
    static func free(_ node: DependencyNode) {
        let current = FreedOperations.current
        let freed = current ?? FreedOperations()
        var orphans: [Connection] = []
        // Released after the lock, by the call of this thread that is doing so already: recursion along a long chain
        // would overflow the stack.
        freed.references += core.withLock { _ in
            defer { orphans = node.orphans }
            return node.close()
        }
        if current == nil { freed.free() }
        for orphan in orphans { orphan.cancel() }
    }
}
