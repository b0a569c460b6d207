import DiamondSQLite

/// The one who waits for the head of a response: told once, by the first of answer, failure and cancellation.
///
/// It also knows whether the request may be at the server, because a cancellation from any thread has to say so at once.
struct Reception: Sendable {
    typealias Outcome = Result<TransportResponse, TransportError>
    // Unsafe: the state below resumes it once, and a checked one costs an allocation and calls that cannot be inlined.
    typealias Waiter = UnsafeContinuation<Void, Never>

    private struct State {
        var waiter: Waiter?
        /// Taken once it is here, under the lock and not out of the continuation, whose hand-over ThreadSanitizer cannot
        /// see on Linux.
        var outcome: Outcome?
        var isOver = false
        var isSent = false
    }

    private let state = Guarded(State())

    /// Waits for the outcome. `start` is called where there is something to wait for.
    func outcome(_ start: () -> Void) async -> Outcome {
        await withUnsafeContinuation { (waiter: Waiter) in
            let isOver = state.withLock { state in
                if !state.isOver { state.waiter = waiter }
                return state.isOver
            }
            if isOver { waiter.resume() } else { start() }
        }
        return state.withLock { state in
            defer { state.outcome = nil }
            return state.outcome ?? .failure(.cancelled(requestMayHaveBeenSent: state.isSent))
        }
    }

    /// Tells the one who waits; only the first outcome counts.
    func resolve(_ outcome: Outcome) { settle { _ in outcome } }

    func cancel() {
        settle { isSent in .failure(.cancelled(requestMayHaveBeenSent: isSent)) }
    }

    private func settle(_ make: (_ isSent: Bool) -> Outcome) {
        let waiter = state.withLock { state -> Waiter? in
            guard !state.isOver else { return nil }
            state.isOver = true
            state.outcome = make(state.isSent)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
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
