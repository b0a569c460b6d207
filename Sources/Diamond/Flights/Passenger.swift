import DiamondSQLite

/// A task that waits for a flight's outcome: told once, by the first of landing and cancellation.
final class Passenger: Sendable {
    private struct State {
        var outcome: Flight.Outcome?
        var waiter: CheckedContinuation<Flight.Outcome, Never>?
    }

    private let state = Guarded(State())

    /// Only the first outcome counts.
    func tell(_ outcome: Flight.Outcome) {
        let waiter = state.withLock { state in
            guard state.outcome == nil else { return nil as CheckedContinuation<Flight.Outcome, Never>? }
            state.outcome = outcome
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: outcome)
    }

    /// Waited for once.
    var outcome: Flight.Outcome {
        get async {
            await withCheckedContinuation { waiter in
                let known = state.withLock { state in
                    if state.outcome == nil { state.waiter = waiter }
                    return state.outcome
                }
                if let known { waiter.resume(returning: known) }
            }
        }
    }
}
