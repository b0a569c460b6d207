import DiamondSQLite

/// The connections that an engine runs, from when they are enqueued until they have finished.
final class Members: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        /// Of every serial lane the one that was enqueued last, while it has not finished.
        var last: [Lane: Connection] = [:]

        mutating func remove(_ number: ObjectIdentifier) {
            guard let connection = connections.removeValue(forKey: number) else { return }
            if last[connection.request.lane] === connection { last[connection.request.lane] = nil }
        }
    }

    private let state = Guarded(State())
    private let pipeline: Pipeline
    private let crew: Crew

    init(_ pipeline: Pipeline, _ crew: Crew) {
        self.pipeline = pipeline
        self.crew = crew
    }

    var all: [Connection] { state.withLock { Array($0.connections.values) } }

    /// - Parameter inOrder: whether the connection waits for the one that was added before it to its lane.
    /// - Returns: `false` when the connection is run by an engine already, or has finished.
    func add(_ connection: Connection, inOrder: Bool) -> Bool {
        let number = ObjectIdentifier(connection)
        let (isAdded, last) = state.withLock { state -> (Bool, Connection?) in
            let isAdopted = connection.adopt(pipeline, crew) { [self] in self.state.withLock { $0.remove(number) } }
            guard isAdopted else { return (false, nil) }
            state.connections[number] = connection
            guard inOrder else { return (true, nil) }
            defer { state.last[connection.request.lane] = connection }
            return (true, state.last[connection.request.lane])
        }
        if let last { connection.follow(last) }
        return isAdded
    }
}
