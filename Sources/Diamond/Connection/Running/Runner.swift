import DiamondSQLite

/// One task of the crew.
final class Runner: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        /// Of the run that it is at.
        var claim: FlightClaim?
        var isAside = false
        var isSpent = false
    }

    private let state = Guarded(State())
    private let crew: Crew

    init(_ crew: Crew) { self.crew = crew }

    /// Whether the task was canceled for one of its connections.
    var isSpent: Bool { state.withLock { $0.isSpent } }

    func begin(_ body: @escaping @Sendable () async -> Void) {
        // Detached: it serves many, and none is to see the task-locals of the one for whom it was begun.
        state.withLock { $0.task = Task.detached { await body() } }
    }

    /// From now on canceling the run cancels the task.
    func take(_ claim: FlightClaim) { state.withLock { $0.claim = claim } }

    /// From now on it does not.
    func letGo() {
        state.withLock { $0.claim = nil }
        step(aside: false)
        crew.setFree()
    }

    /// Without effect where the run is not the runner's any more; another of the same connection may be.
    func cancel(_ claim: FlightClaim) {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard state.claim === claim else { return nil }
            state.isSpent = true
            return state.task
        }
        task?.cancel()
    }

    func step(aside isAside: Bool) {
        let isNew = state.withLock { state in
            defer { state.isAside = isAside }
            return state.isAside != isAside
        }
        if isNew { crew.step(aside: isAside) }
    }
}
