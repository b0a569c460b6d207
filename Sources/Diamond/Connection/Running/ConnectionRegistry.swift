import DiamondSQLite

/// The engine as its connections know it: its pipeline, the gate that starts them, and the connections that have not
/// finished.
final class ConnectionRegistry: Sendable {
    fileprivate struct State {
        /// The connections from when they are enqueued, or started by a queue of the user's own, until they have
        /// finished.
        var connections = SlotMap<(number: Int, connection: Connection)>()
        var count = 0
        var lines: [Lane: SerialLine] = [:]
        /// Whether no reference to the engine is left.
        var isAbandoned = false
    }

    let pipeline: Pipeline
    let gate: StartGate
    /// The executor for callbacks that name none.
    let callbackExecutor: CallbackExecutor
    private let state = Guarded(State())

    init(_ pipeline: Pipeline, callbackExecutor: CallbackExecutor) {
        self.pipeline = pipeline
        self.callbackExecutor = callbackExecutor
        gate = StartGate(lanes: pipeline.lanes)
    }

    var lanes: Lanes { pipeline.lanes }

    /// All connections, in the order in which they were added.
    var all: [Connection] {
        let members = state.withLock { Array($0.connections.elements) }
        return members.sorted { $0.number < $1.number }.map(\.connection)
    }

    /// Runs a connection when its dependencies have finished; one that is run already is left where it is.
    func enqueue(_ connection: Connection) {
        if add(connection) { connection.start() }
    }

    /// Takes a connection in, behind those of its lane where that is serial. A connection for which another in the line
    /// waits does not wait for the line: both would wait forever. A connection that is added by code of the app within
    /// an exchange counts as one that is waited for, because whether that code waits for it cannot be known.
    ///
    /// - Returns: `false` when the connection is run by an engine already, or has finished; else it is to be started.
    func add(_ connection: Connection) -> Bool {
        let lane = connection.request.lane
        let isInOrder = lanes.isSerial(lane) && !Hook.isRunning
        // Freed where no lock is held: what they hold may be the app's.
        var (last, met): (ConnectionRegistry?, [AnyObject]) = (nil, [])
        let (isNew, isInLine) = state.withLock { state in
            let isNew = connection.join(self, leaving: &last) { state.add(connection) }
            return (isNew, isNew && isInOrder && state.enterLine(connection, lane, &met))
        }
        if isInLine {
            let number = ObjectIdentifier(connection)
            connection.afterCallbacks { [self] _ in leaveLine(number, lane) }
            stepOutOfCycle(connection, lane)
        }
        if isNew { cancelIfAbandoned(connection) }
        return isNew
    }

    /// Takes in a connection that is not started by this, such as one on a queue of the user's own; it keeps no order.
    func take(_ connection: Connection) {
        let isMember = state.withLock { state in connection.become(memberOf: self) { state.add(connection) } }
        if isMember { cancelIfAbandoned(connection) }
    }

    /// Takes a connection out of its line where the line waits for it through an operation that is no connection. That
    /// operation is asked here, and not as the connection enters the line, because that happens under a lock.
    private func stepOutOfCycle(_ connection: Connection, _ lane: Lane) {
        let suspects = DependencyGraph.suspects(inFrontOf: connection)
        guard CycleSearch.cycle(of: connection, over: suspects) != nil else { return }
        let number = ObjectIdentifier(connection)
        let hold = state.withLock { $0.lines[lane]?.hold(of: number) }
        leaveLine(number, lane)
        if let hold { DependencyGraph.end(hold) }
    }

    private func leaveLine(_ number: ObjectIdentifier, _ lane: Lane) {
        var met: [AnyObject] = []
        let turn = state.withLock { $0.leaveLine(number, lane, &met) }
        if let turn { DependencyGraph.end(turn) }
    }

    /// Notes that no reference to the engine is left. Cancels the connections that only the engine could let go on,
    /// because they would wait forever. A connection that waits for one that was never enqueued is canceled, too, when
    /// that one has no other owner, now or later.
    func abandon() {
        // First: who comes from now on looks for himself.
        state.withLock { $0.isAbandoned = true }
        for connection in all { cancelIfAbandoned(connection) }
        for connection in all { DependencyGraph.loosen(dependenciesOf: connection) }
        if lanes.areAnyPaused { pipeline.refreshes.cancel() }
    }

    private func cancelIfAbandoned(_ connection: Connection) {
        guard state.withLock({ $0.isAbandoned }), connection.isHeld(by: lanes) else { return }
        connection.cancel()
    }

    /// Removes a connection that has finished.
    func remove(_ member: SlotNumber) {
        let left = state.withLock { $0.connections.remove(member) }
        withExtendedLifetime(left) {}
    }
}

extension ConnectionRegistry.State {
    fileprivate mutating func add(_ connection: Connection) -> SlotNumber {
        count += 1
        return connections.add((count, connection))
    }

    /// - Returns: `false` where the connection need not wait for the line, because the line waits for it.
    fileprivate mutating func enterLine(_ connection: Connection, _ lane: Lane, _ met: inout [AnyObject]) -> Bool {
        lines[lane, default: SerialLine()].append(connection, &met)
    }

    fileprivate mutating func leaveLine(
        _ number: ObjectIdentifier,
        _ lane: Lane,
        _ met: inout [AnyObject]
    ) -> Dependency? {
        let turn = lines[lane]?.remove(number, &met)
        if lines[lane]?.isEmpty == true { lines[lane] = nil }
        return turn
    }
}
