import DiamondSQLite

/// Limits the number of connections that run at a time: as many as may be on the wire, and some more for lookups. A
/// connection that waits for a permit, for a shared exchange, or for code of the app, does not count meanwhile.
final class StartGate: Sendable {
    private struct State {
        /// The number of runs that may be active in addition to those on the wire.
        private static let lookups = 8

        var waiting = MostUrgentFirst<ConnectionRun>()
        /// The number of runs that have started and do not wait.
        var active = 0

        /// Removes the next run and counts it, if there is room for it. Skips runs that a pause has abandoned.
        mutating func beginNext(in lanes: Lanes) -> ConnectionRun? {
            // `width + lookups` could overflow, because the app may set any width.
            guard waiting.count > 0, active - Self.lookups < lanes.width else { return nil }
            while let run = waiting.popFirst() {
                guard !run.isOver else { continue }
                active += 1
                return run
            }
            return nil
        }
    }

    private let state = Guarded(State())
    private let lanes: Lanes

    init(lanes: Lanes) { self.lanes = lanes }

    /// The number of runs that have started and do not wait.
    var active: Int { state.withLock { $0.active } }

    /// Adds a run, and starts it when there is room for it.
    func add(_ run: ConnectionRun) {
        let priority = run.priority
        change { $0.waiting.append(run, priority: priority) }
    }

    /// Counts the begin or the end of a run's wait for something other than the wire. A run that continues does not
    /// wait for the gate.
    func recordWait(isBeginning: Bool) { change { $0.active += isBeginning ? -1 : 1 } }

    /// Counts the end of an active run.
    func leave() { change { $0.active -= 1 } }

    private func change(_ body: (inout State) -> Void) {
        var next = state.withLock { state in
            body(&state)
            return state.beginNext(in: lanes)
        }
        while let run = next {
            run.begin()
            next = state.withLock { $0.beginNext(in: lanes) }
        }
    }
}
