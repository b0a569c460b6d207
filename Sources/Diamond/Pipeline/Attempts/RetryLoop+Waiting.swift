import Foundation

/// The steps between two attempts.
extension RetryLoop {
    /// The end of the time between two attempts.
    enum Readiness {
        /// The permit is held, and the next attempt may begin.
        case ready
        /// The policy's ``RetryPolicy/lastStart`` has passed.
        case tooLate(lastStart: Duration)
    }

    /// Waits until the next attempt may begin.
    mutating func readiness(
        for decision: RetryDecision,
        permit: inout LanePermit
    ) async throws(ConnectionError) -> Readiness {
        if case .retry(let delay, _, _) = decision {
            try await wait(delay, permit: &permit)
        } else {
            try await refreshCredential(&permit)
        }
        // Twice: a paused connection must not queue for a permit, and it may be paused while it queues.
        try beginAttempt()
        let readiness = try await reacquire(&permit)
        try beginAttempt()
        return readiness
    }

    /// Puts the payment for an attempt that was not made back into the budget.
    func refund(_ decision: RetryDecision) {
        if case .retry(_, isFree: false, _) = decision { retryCoordinator.refund(to: exchange.origin) }
    }

    private func wait(_ delay: Duration, permit: inout LanePermit) async throws(ConnectionError) {
        release(&permit)
        if delay > .zero {
            exchange.report(.waiting(until: (environment.now() + delay).date))
            exchange.gate?.noteBackoff()
            let token = exchange.scope.begin(.backoff, attempt: number)
            defer { token.end() }
            guard await retryCoordinator.waits.sleep(delay) else { throw .cancelled }
        }
    }

    /// Notes that the next attempt begins.
    ///
    /// - Throws: `cancelled` if the connection was paused meanwhile, because nothing of the attempt was sent;
    ///   `noEngine` if the engine is closed.
    func beginAttempt() throws(ConnectionError) {
        guard !retryCoordinator.waits.isClosed else { throw ConnectionError(closedWhile: history.serverMayHaveActed) }
        guard exchange.beginIfAllowed() else { throw .cancelled }
    }

    /// Acquires the permit again.
    private func reacquire(_ permit: inout LanePermit) async throws(ConnectionError) -> Readiness {
        let end = exchange.policy.lastStart
        let limit = end.map { retryCoordinator.clock.limit(max(.zero, $0 - elapsed)) }
        let isHeld = try await permit.reacquire(countedIn: exchange.scope, attempt: number, within: limit)
        guard let end, !isHeld || elapsed >= end else { return .ready }
        return .tooLate(lastStart: end)
    }

    // Reported even for a short wait: acquiring the permit again may take long, and another connection may start.
    private func release(_ permit: inout LanePermit) {
        permit.release()
        exchange.report(.permitReleased)
    }

    // The permit is released first: the credential provider may send requests through the same engine. If the refresh
    // takes until no attempt may begin, reacquiring the permit finds that.
    private mutating func refreshCredential(_ permit: inout LanePermit) async throws(ConnectionError) {
        release(&permit)
        let end = exchange.policy.lastStart
        let left = RemainingTime(
            rest: end.map { $0 - elapsed }, waits: retryCoordinator.waits,
            serverMayHaveActed: history.serverMayHaveActed)
        let outcome = await Result { [exchange] () async throws(ConnectionError) in
            try await left.value { () async throws(ConnectionError) in
                try await exchange.builder.renewedRequest(of: exchange.plan)
            }
        }
        if let end, elapsed >= end { return }
        renewed = .some(try outcome.get())
    }
}
