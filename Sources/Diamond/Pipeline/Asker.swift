import DiamondSQLite

/// Who asks for a response: how urgently, and whether as a task that waits or as a connection that is run again.
struct Asker: Sendable {
    var priority = FlightPriority.normal
    /// `nil` for a task that waits.
    var claim: PlaceClaim?
}

/// A connection's claim to a place on the wire, for the first exchange of one run.
///
/// Where there is no place, the run ends, and with it its task: what waits costs a few hundred bytes. When there is one,
/// the connection is run again, finds what has come into the cache meanwhile, and has the place if it needs it still.
final class PlaceClaim: Sendable {
    private enum State {
        case open
        /// Waits, by the number that the lanes know.
        case waiting(Int, FlightPlace)
        case held(FlightPlace)
        /// Taken; every further exchange of the run waits in its task, because what was sent is not sent again.
        case used
        /// Nobody wants it any more.
        case dropped
    }

    private let state = Guarded(State.open)
    /// Runs the connection again.
    private let run: @Sendable () -> Void
    /// Tells that the run is kept waiting by others than the wire, or no longer.
    private let stepAside: @Sendable (Bool) -> Void

    init(run: @escaping @Sendable () -> Void, stepAside: @escaping @Sendable (Bool) -> Void) {
        self.run = run
        self.stepAside = stepAside
    }

    func step(aside isAside: Bool) { stepAside(isAside) }

    /// - Returns: whether there is a place; `nil` where the run has to wait for one itself.
    func enter(_ place: FlightPlace, _ priority: FlightPriority, _ lanes: Lanes) -> Bool? {
        let known = state.withLock { state -> (Bool?, FlightPlace?) in
            switch state {
            case .held(let held):
                state = .used
                return held == place ? (true, nil) : (nil, held)
            case .open: return (false, nil)
            case .waiting, .used, .dropped: return (nil, nil)
            }
        }
        if let other = known.1 { lanes.leave(other) }
        guard known.0 == false else { return known.0 }
        return takeOrWait(for: place, priority, lanes)
    }

    private func takeOrWait(for place: FlightPlace, _ priority: FlightPriority, _ lanes: Lanes) -> Bool {
        // Under the lock: the place may be there before its number is noted.
        state.withLock { state in
            let number = lanes.enter(place, priority) { [self] in admit(place, lanes) }
            state = number.map { .waiting($0, place) } ?? .used
            return number == nil
        }
    }

    private func admit(_ place: FlightPlace, _ lanes: Lanes) {
        let isWanted = state.withLock { state in
            guard case .waiting = state else { return false }
            state = .held(place)
            return true
        }
        if isWanted { run() } else { lanes.leave(place) }
    }

    /// Waits from now on with another priority, where it waits.
    func change(to priority: FlightPriority, _ lanes: Lanes) {
        guard case .waiting(let number, _) = state.withLock({ $0 }) else { return }
        lanes.change(number, to: priority)
    }

    /// Gives back what was not needed.
    ///
    /// - Returns: whether it waited: the connection will not be run again.
    @discardableResult
    func drop(_ lanes: Lanes) -> Bool {
        let old = state.withLock { state in
            defer { state = .dropped }
            return state
        }
        switch old {
        case .waiting(let number, _): return lanes.leaveLine(number)
        case .held(let place):
            lanes.leave(place)
            return false
        case .open, .used, .dropped: return false
        }
    }
}
