import DiamondSQLite

/// What an engine is to its connections: the way they take, who runs them, and which of them have not finished.
final class Members: Sendable {
    fileprivate struct State {
        /// From when they are enqueued until they have finished.
        var connections: [ObjectIdentifier: Connection] = [:]
        var lines: [Lane: SerialLine] = [:]
    }

    let pipeline: Pipeline
    let crew: Crew
    private let state = Guarded(State())

    init(_ pipeline: Pipeline) {
        self.pipeline = pipeline
        crew = Crew(lanes: pipeline.lanes)
    }

    var lanes: Lanes { crew.lanes }

    var all: [Connection] { state.withLock { Array($0.connections.values) } }

    /// Runs a connection when its dependencies have finished; one that is run already is left where it is.
    func enqueue(_ connection: Connection) {
        if add(connection) { connection.start() }
    }

    /// Takes a connection in, behind those of its lane where that is serial. One that such a connection waits for does not
    /// wait for them: both would wait for ever.
    ///
    /// - Returns: `false` when the connection is run by an engine already, or has finished; else it is to be started.
    func add(_ connection: Connection) -> Bool {
        let lane = connection.request.lane
        let isInOrder = lanes[lane].isSerial
        return state.withLock { state in
            guard connection.join(self) else { return false }
            state.connections[ObjectIdentifier(connection)] = connection
            guard isInOrder else { return true }
            let line = state.lines[lane] ?? SerialLine()
            guard !DependencyGraph.isAwaited(connection, by: line.contains) else { return true }
            state.lines[lane, default: line].append(connection) { $0.hold() }
            return true
        }
    }

    /// The connection has finished.
    func remove(_ connection: Connection) {
        let number = ObjectIdentifier(connection)
        let next = state.withLock { state in
            state.connections[number] = nil
            return state.leaveLine(number, connection.request.lane)
        }
        if let next { DependencyGraph.end(next) }
    }
}

extension Members.State {
    fileprivate mutating func leaveLine(_ number: ObjectIdentifier, _ lane: Lane) -> Dependency? {
        let next = lines[lane]?.remove(number)
        if lines[lane]?.isEmpty == true { lines[lane] = nil }
        return next
    }
}
