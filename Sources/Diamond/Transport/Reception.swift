import DiamondSQLite

/// The one who waits for the head of a response: told once, by the first of answer, failure and cancellation.
///
/// It also knows whether the request may be at the server, because a cancellation from any thread has to say so at once.
struct Reception: Sendable {
    typealias Outcome = Result<TransportResponse, TransportError>
    // Unsafe: the state below resumes it once, and a checked one costs an allocation and calls that cannot be inlined.
    typealias Waiter = UnsafeContinuation<Outcome, Never>

    private struct State {
        var waiter: Waiter?
        /// What came before there was one to tell.
        var outcome: Outcome?
        var isOver = false
        var isSent = false
    }

    private let state = Guarded(State())

    /// Takes the one who waits; `false` when the outcome was known before.
    func expect(_ waiter: Waiter) -> Bool {
        let outcome = state.withLock { state in
            if !state.isOver { state.waiter = waiter }
            defer { state.outcome = nil }
            return state.outcome
        }
        if let outcome { waiter.resume(returning: outcome) }
        return outcome == nil
    }

    /// Tells the one who waits; only the first outcome counts.
    func resolve(_ outcome: Outcome) { settle { _ in outcome } }

    func cancel() {
        settle { isSent in .failure(.cancelled(requestMayHaveBeenSent: isSent)) }
    }

    private func settle(_ make: (_ isSent: Bool) -> Outcome) {
        let (waiter, outcome) = state.withLock { state -> (Waiter?, Outcome?) in
            guard !state.isOver else { return (nil, nil) }
            state.isOver = true
            let outcome = make(state.isSent)
            if state.waiter == nil { state.outcome = outcome }
            defer { state.waiter = nil }
            return (state.waiter, outcome)
        }
        if let outcome { waiter?.resume(returning: outcome) }
    }

    /// Says that the request is about to be sent; `false` when nobody waits for its answer any more.
    func beginSending() -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.isSent = true
            return true
        }
    }

    var isOver: Bool { state.withLock { $0.isOver } }

    /// Whether the request may have reached the server.
    var isSent: Bool { state.withLock { $0.isSent } }
}
