import DiamondSQLite

/// The connections that an engine runs, from when they are enqueued until they have finished.
final class Members: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        var lines: [Lane: SerialLine] = [:]

        mutating func remove(_ number: ObjectIdentifier) -> Dependency? {
            guard let lane = connections.removeValue(forKey: number)?.request.lane else { return nil }
            let next = lines[lane]?.remove(number)
            if lines[lane]?.isEmpty == true { lines[lane] = nil }
            return next
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

    /// - Parameter inOrder: whether the connection waits for those that were added before it to its lane. One that such a
    ///   connection waits for does not: both would wait for ever.
    /// - Returns: `false` when the connection is run by an engine already, or has finished.
    func add(_ connection: Connection, inOrder: Bool) -> Bool {
        let number = ObjectIdentifier(connection)
        return state.withLock { state in
            guard connection.adopt(pipeline, crew, whenFinished: { [self] in remove(number) }) else { return false }
            state.connections[number] = connection
            guard inOrder else { return true }
            let line = state.lines[connection.request.lane] ?? SerialLine()
            guard !DependencyGraph.isAwaited(connection, by: line.contains) else { return true }
            state.lines[connection.request.lane, default: line].append(connection) { $0.hold() }
            return true
        }
    }

    private func remove(_ number: ObjectIdentifier) {
        let next = state.withLock { $0.remove(number) }
        if let next { DependencyGraph.end(next) }
    }
}
