import Foundation

/// From one attempt to the next.
extension Exchange {
    /// Waits until the next attempt may begin.
    ///
    /// - Returns: from when on none begins, where the way back to the wire took until then.
    mutating func ready(
        for decision: RetryDecision, _ permit: inout LanePermit
    ) async throws(ConnectionError) -> Duration? {
        if case .retry(let delay, _, _) = decision {
            try await wait(delay, &permit)
        } else {
            try await refresh(&permit)
        }
        // Whoever is paused waits in no line; and again, because it may have been paused in that.
        try askToBegin()
        let end = try await retake(&permit)
        try askToBegin()
        return end
    }

    /// Gives back what was paid for an attempt that did not come about: others have repetitions to pay.
    func refund(_ decision: RetryDecision) {
        if case .retry(_, isFree: false, _) = decision { repetitions.refund(to: order.origin) }
    }

    private func wait(_ delay: Duration, _ permit: inout LanePermit) async throws(ConnectionError) {
        leave(&permit)
        if delay > .zero {
            order.hear(.waiting(until: Date(milliseconds: wire.now() + delay.milliseconds)))
            order.gate?.rest()
            try await sleep(delay)
        }
    }

    private func sleep(_ delay: Duration) async throws(ConnectionError) {
        let token = order.scope.begin(.backoff, attempt: number)
        defer { token.end() }
        guard await repetitions.waits.sleep(delay) else { throw .cancelled }
    }

    /// Nothing of the attempt that comes next has left: one that was paused meanwhile is given up.
    func askToBegin() throws(ConnectionError) {
        guard order.mayBegin?() ?? true else { throw .cancelled }
    }

    /// Takes the place on the wire again.
    ///
    /// - Returns: from when on no other attempt begins, where the way back took until then.
    private func retake(_ permit: inout LanePermit) async throws(ConnectionError) -> Duration? {
        guard let end = order.policy.lastStart else {
            _ = try await permit.retake(in: order.scope, attempt: number, within: nil)
            return nil
        }
        let rest = max(.zero, end - elapsed)
        let isBack = try await permit.retake(
            in: order.scope, attempt: number, within: LanePermit.Limit(time: rest, clock: repetitions.clock))
        return isBack && elapsed < end ? nil : end
    }

    // The caller is told even where it is for a moment only: the way back may be long, and another connection may start.
    private func leave(_ permit: inout LanePermit) {
        permit.giveBack()
        order.hear(.aside)
    }

    // Without its place: what makes the credential may send through the same engine. Where that takes until no other attempt
    // begins, whoever takes the place again finds it.
    private mutating func refresh(_ permit: inout LanePermit) async throws(ConnectionError) {
        leave(&permit)
        guard let renewal = order.renewal else { return }
        let end = order.policy.lastStart
        let outcome = await repetitions.waits.value(within: end.map { $0 - elapsed }) {
            await Result { () async throws(ConnectionError) in try await renewal.request() }
        }
        if let end, elapsed >= end { return }
        switch outcome {
        case .success(let request): renewed = .some(try request.get())
        case .failure(.late): return
        case .failure(.canceled): throw .cancelled
        case .failure(.closed): throw ConnectionError(closedWhile: history.mayHaveArrived)
        }
    }
}
