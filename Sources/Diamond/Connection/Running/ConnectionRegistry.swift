import DiamondSQLite

/// The connections of an engine that have not finished, with the pipeline and the gate that run them.
final class ConnectionRegistry: Sendable {
    fileprivate struct State {
        /// The connections, from when the engine or a queue of the user's own starts them until they finish.
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

    /// The connections, in the order in which they were added.
    var all: [Connection] {
        let members = state.withLock { Array($0.connections.elements) }
        return members.sorted { $0.number < $1.number }.map(\.connection)
    }

    /// Runs a connection when its dependencies have finished. Has no effect if an engine runs it already.
    func start(_ connection: Connection) {
        if add(connection) { connection.start() }
    }

    /// Adds a connection; in a serial lane, behind those in the line. A connection that another one in the line waits
    /// for does not wait for the line, because both would wait forever. This includes a connection that code of the app
    /// adds within an exchange, because that code may wait for it.
    ///
    /// - Returns: `true` if the caller has to start the connection; `false` if an engine runs it already, or it has
    ///   finished.
    func add(_ connection: Connection) -> Bool {
        let lane = connection.request.lane
        let isInOrder = lanes.isSerial(lane) && !Hook.isRunning
        // Released outside the lock, because they may retain objects of the app.
        var former: ConnectionRegistry?
        var releaseLater: [AnyObject] = []
        let (isNew, isInLine) = state.withLock { state in
            let isNew = connection.join(self, leaving: &former) { state.add(connection) }
            return (isNew, isNew && isInOrder && state.enterLine(connection, lane: lane, releaseLater: &releaseLater))
        }
        if isInLine {
            let number = ObjectIdentifier(connection)
            connection.afterCallbacks { [self] _ in leaveLine(number, lane: lane) }
            leaveLineOnCycle(connection, lane: lane)
        }
        if isNew { cancelIfAbandoned(connection) }
        return isNew
    }

    /// Adds a connection that a queue of the user's own has started. It enters no line.
    func addStarted(_ connection: Connection) {
        let isMember = state.withLock { state in connection.become(memberOf: self) { state.add(connection) } }
        if isMember { cancelIfAbandoned(connection) }
    }

    /// Removes a connection from its line if the line waits for it through an operation that is no connection.
    /// Properties of that operation are read here, and not as the connection enters the line, because that happens
    /// under a lock.
    private func leaveLineOnCycle(_ connection: Connection, lane: Lane) {
        let suspects = DependencyGraph.suspects(inFrontOf: connection)
        guard CycleSearch.cycle(of: connection, over: suspects) != nil else { return }
        let number = ObjectIdentifier(connection)
        let hold = state.withLock { $0.lines[lane]?.hold(of: number) }
        leaveLine(number, lane: lane)
        if let hold { DependencyGraph.end(hold) }
    }

    private func leaveLine(_ number: ObjectIdentifier, lane: Lane) {
        var releaseLater: [AnyObject] = []
        let turn = state.withLock { $0.leaveLine(number, lane: lane, releaseLater: &releaseLater) }
        if let turn { DependencyGraph.end(turn) }
    }

    /// Handles the deallocation of the engine. Cancels the paused connections that only the engine could resume. A
    /// connection that depends on one that was never started is canceled, too, as soon as nothing else retains that
    /// one.
    func abandon() {
        // First, because connections that are added from now on check the flag themselves.
        state.withLock { $0.isAbandoned = true }
        for connection in all { cancelIfAbandoned(connection) }
        for connection in all { DependencyGraph.dropUnowned(dependenciesOf: connection) }
        if !lanes.pauses.isEmpty { pipeline.refreshes.cancel() }
    }

    private func cancelIfAbandoned(_ connection: Connection) {
        guard state.withLock({ $0.isAbandoned }), connection.isHeld(by: lanes) else { return }
        connection.cancelKeepingFile()
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

    /// - Returns: `false` if the connection does not enter the line, because the line waits for it.
    fileprivate mutating func enterLine(_ connection: Connection, lane: Lane, releaseLater: inout [AnyObject]) -> Bool {
        lines[lane, default: SerialLine()].append(connection, releaseLater: &releaseLater)
    }

    fileprivate mutating func leaveLine(
        _ number: ObjectIdentifier,
        lane: Lane,
        releaseLater: inout [AnyObject]
    ) -> Dependency? {
        let turn = lines[lane]?.remove(number, releaseLater: &releaseLater)
        if lines[lane]?.isEmpty == true { lines[lane] = nil }
        return turn
    }
}
