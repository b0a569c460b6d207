import Foundation
import HTTPTypes

/// Preparing one attempt, and racing two.
extension RetryLoop {
    /// Prepares an attempt: adds cookies, lets interceptors adapt the request, and passes the circuit breaker and the
    /// gate.
    ///
    /// - Parameters:
    ///   - number: the number of the attempt.
    ///   - isHedge: whether another attempt is on the wire. Then nothing is recorded.
    @inline(never)
    func prepareAttempt(_ number: Int, isHedge: Bool = false) async throws(ConnectionError) -> Transfer {
        var outgoing = outgoing
        if !environment.interceptors.isEmpty { outgoing = try await adaptedInTime(outgoing, number: number) }
        let transfer = try transfer(outgoing, number: number, isHedge: isHedge)
        // The last step, because a request that has passed the gate counts as sent.
        if let gate = exchange.gate { try await pass(gate, isHedge: isHedge, with: transfer.admission) }
        return transfer
    }

    private func pass(
        _ gate: SendGate,
        isHedge: Bool,
        with admission: CircuitBreaker.Admission
    ) async throws(ConnectionError) {
        do throws(ConnectionError) {
            try await gate.pass(isHedge: isHedge)
            do throws(ConnectionError) { try beginAttempt() } catch {
                gate.noteUnprocessed()
                throw error
            }
        } catch {
            // A probe of the circuit breaker that was not sent proves nothing.
            retryCoordinator.note(
                .failed(.cancelled(serverMayHaveActed: false)), of: admission, from: exchange.origin)
            throw error
        }
    }

    /// The request of the next attempt, with cookies.
    var outgoing: TransportRequest {
        // The range is added before interceptors see the request: a signature may cover it.
        var outgoing = partialResponse.value?.requestForRest(of: request) ?? request
        if history.needsNewConnection { outgoing.needsNewConnection = true }
        return withCookies(outgoing)
    }

    private func adaptedInTime(
        _ outgoing: TransportRequest,
        number: Int
    ) async throws(ConnectionError) -> TransportRequest {
        let start = elapsed
        let limit = exchange.policy.attemptLimit(elapsed: start)
        let left = RemainingTime(
            rest: limit, waits: retryCoordinator.waits, serverMayHaveActed: history.serverMayHaveActed)
        var adapted = try await left.value { () async throws(ConnectionError) in
            try await self.adapted(outgoing, number: number)
        }
        let spent = elapsed - start
        adapted.adaptation.spent = spent
        // An interceptor that blocks its thread returns after its limit: then nothing is sent.
        let isLate = spent > .zero && self.limit(after: spent)?.rest == .zero
        guard !isLate else { throw ConnectionError(outOfTime: history.serverMayHaveActed) }
        return adapted
    }

    /// Returns the limit for the time of an attempt; `nil` for none.
    ///
    /// - Parameter spent: the part of its time that interceptors have already spent.
    @inline(never)
    func limit(after spent: Duration) -> ExchangeAttempt.Limit? {
        exchange.policy.attemptLimit(elapsed: elapsed, after: spent).map { .init(rest: $0, spent: spent) }
    }

    /// Returns an attempt without interceptors and without a gate, or one that they have let through.
    func transfer(
        _ outgoing: TransportRequest,
        number: Int,
        isHedge: Bool = false
    ) throws(ConnectionError) -> Transfer {
        // The connection may have been paused while interceptors ran. Nothing of the attempt was sent yet.
        try beginAttempt()
        if outgoing.adaptation.isPersonal { exchange.report(.personal) }
        let admission = retryCoordinator.admit(to: exchange.origin)
        if case .refused(let wait) = admission {
            throw ConnectionError(circuitOpenFor: wait, request, at: environment.now())
        }
        return Transfer(outgoing, of: self, number: number, isHedge: isHedge, admission: admission)
    }

    /// Runs an attempt, and a second one in parallel if the first takes long.
    ///
    /// - Parameters:
    ///   - delay: the time after which the second attempt begins.
    ///   - number: the number of the second attempt.
    ///   - spare: acquires a permit for it.
    func hedged(
        _ first: Transfer,
        after delay: Duration,
        number: Int,
        spare: @escaping LanePermit.Spare
    ) async -> Hedge.Race {
        let statuses = exchange.policy.statuses
        let hedge = Hedge(delay: delay, clock: retryCoordinator.clock) { $0.isAnswer(unless: statuses) }
        return await hedge.race {
            await first.run()
        } against: {
            guard let release = spare() else { return nil }
            defer { release() }
            guard retryCoordinator.withdraw(from: exchange.origin) else { return nil }
            guard let second = try? await prepareAttempt(number, isHedge: true) else {
                retryCoordinator.refund(to: exchange.origin)
                return nil
            }
            let attempt = await second.run()
            // Progress is that of the attempt that counts.
            if hedge.isAnswer(attempt) { exchange.report(.began(second.meter)) }
            return attempt
        }
    }
}

extension ConnectionError {
    fileprivate init(circuitOpenFor wait: Duration, _ request: TransportRequest, at now: WallTime) {
        let message =
            "most requests to \(request.originText) failed lately, and none is sent for \(wait.milliseconds) ms"
        self.init(.circuitOpen, message)
        openUntil = (now + wait).date
    }
}
