import Foundation
import HTTPTypes

/// Preparing one attempt, and racing two.
extension Exchange {
    /// An attempt that is ready to be sent.
    struct PreparedAttempt: Sendable {
        let number: Int
        let transfer: Transfer
        let limit: ExchangeAttempt.Limit?

        func run() async -> ExchangeAttempt {
            let options = transfer.options
            let token = options.scope.begin(.attempt, attempt: number)
            let attempt = await ExchangeAttempt(transfer, limit: limit)
            token.end(attempt.ending)
            transfer.environment.retryCoordinator.note(
                attempt.outcome, of: transfer.admission, from: options.origin)
            return attempt
        }
    }

    /// The parts of an attempt that are the same before and after interceptors have adapted its request.
    private struct Preparation {
        let number: Int
        /// The response of which only the rest is requested.
        let partialResponse: IndirectOptional<PartialResponse>
        /// The jar's count of removals before its cookies were read.
        let removals: Int?
        let isHedge: Bool
    }

    /// Prepares an attempt: adds cookies, lets interceptors adapt the request, and passes the circuit breaker and the
    /// gate.
    ///
    /// - Parameters:
    ///   - number: the number of the attempt.
    ///   - partialResponse: the response of which only the rest is requested.
    ///   - isHedge: whether another attempt is on the wire. Then nothing is recorded.
    func prepareAttempt(
        _ number: Int,
        resuming partialResponse: IndirectOptional<PartialResponse> = .none,
        isHedge: Bool = false
    ) async throws(ConnectionError) -> PreparedAttempt {
        // Read before the cookies: if they are removed from now on, as at a logout, the response must not set them
        // again.
        let preparation = Preparation(
            number: number, partialResponse: partialResponse, removals: environment.cookies?.removals,
            isHedge: isHedge)
        let outgoing = outgoing(resuming: partialResponse)
        guard environment.interceptors.isEmpty, options.gate == nil else {
            return try await adaptAndPrepare(outgoing, for: preparation)
        }
        return try prepare(outgoing, for: preparation, spent: .zero)
    }

    /// Prepares an attempt that interceptors adapt, or that passes a gate.
    private func adaptAndPrepare(
        _ outgoing: ExchangeOptions.AdaptedRequest,
        for preparation: Preparation
    ) async throws(ConnectionError) -> PreparedAttempt {
        let begin = elapsed
        var adapted = outgoing
        var spent = Duration.zero
        if !environment.interceptors.isEmpty {
            adapted = try await self.adapted(outgoing, number: preparation.number)
            spent = elapsed - begin
        }
        // An interceptor that blocks its thread returns after its limit: then nothing is sent.
        let isLate = spent > .zero && options.policy.attemptLimit(elapsed: elapsed, after: spent) == .zero
        guard !isLate else { throw ConnectionError(outOfTime: history.mayHaveArrived) }
        let prepared = try prepare(adapted, for: preparation, spent: spent)
        guard let gate = options.gate else { return prepared }
        // The last step, because a request that has passed the gate counts as sent.
        try await pass(gate, isHedge: preparation.isHedge, with: prepared.transfer.admission)
        return PreparedAttempt(
            number: preparation.number, transfer: prepared.transfer, limit: limit(after: spent))
    }

    private func prepare(
        _ outgoing: ExchangeOptions.AdaptedRequest,
        for preparation: Preparation,
        spent: Duration
    ) throws(ConnectionError) -> PreparedAttempt {
        // The connection may have been paused while interceptors ran. Nothing of the attempt was sent yet.
        try beginAttempt()
        if outgoing.isPersonal { options.report(.personal) }
        let transfer = try transfer(outgoing, for: preparation)
        return PreparedAttempt(number: preparation.number, transfer: transfer, limit: limit(after: spent))
    }

    private func limit(after spent: Duration) -> ExchangeAttempt.Limit? {
        options.policy.attemptLimit(elapsed: elapsed, after: spent).map { .init(rest: $0, spent: spent) }
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
                .failed(.cancelled(requestMayHaveBeenSent: false)), of: admission, from: options.origin)
            throw error
        }
    }

    private func outgoing(resuming partialResponse: IndirectOptional<PartialResponse>) -> ExchangeOptions.AdaptedRequest
    {
        // The range is added before interceptors see the request: a signature may cover it.
        var outgoing = partialResponse.value?.requestForRest(of: request) ?? request
        outgoing.needsNewConnection = outgoing.needsNewConnection || history.needsNewConnection
        return options.withCookies(outgoing, in: environment)
    }

    private func adapted(
        _ outgoing: ExchangeOptions.AdaptedRequest,
        number: Int
    ) async throws(ConnectionError) -> ExchangeOptions.AdaptedRequest {
        let limit = options.policy.attemptLimit(elapsed: elapsed)
        let left = RemainingTime(limit, among: retryCoordinator.waits, isUnderWay: history.mayHaveArrived)
        return try await left.value { [options, environment] () async throws(ConnectionError) in
            try await options.adapted(outgoing, in: environment, attempt: number)
        }
    }

    private func transfer(
        _ outgoing: ExchangeOptions.AdaptedRequest,
        for preparation: Preparation
    ) throws(ConnectionError) -> Transfer {
        let admission = retryCoordinator.admit(to: options.origin)
        if case .refused(let wait) = admission {
            throw ConnectionError(circuitOpenFor: wait, request, at: environment.now())
        }
        return Transfer(
            outgoing, of: options, removals: preparation.removals, resuming: preparation.partialResponse,
            recorder: preparation.isHedge ? nil : options.recorder, history: history, admission: admission,
            in: environment)
    }

    /// Runs an attempt, and a second one in parallel if the first takes long.
    ///
    /// - Parameters:
    ///   - delay: the time after which the second attempt begins.
    ///   - number: the number of the second attempt.
    ///   - spare: acquires a permit for it.
    func hedged(
        _ first: PreparedAttempt,
        after delay: Duration,
        number: Int,
        spare: @escaping LanePermit.Spare
    ) async -> Hedge.Race {
        let hedge = Hedge(delay: delay, clock: retryCoordinator.clock) { [statuses = options.policy.statuses] attempt in
            attempt.isAnswer(unless: statuses)
        }
        return await hedge.race {
            await first.run()
        } against: {
            guard let release = spare() else { return nil }
            defer { release() }
            guard retryCoordinator.withdraw(from: options.origin) else { return nil }
            guard let second = try? await prepareAttempt(number, isHedge: true) else {
                retryCoordinator.refund(to: options.origin)
                return nil
            }
            let attempt = await second.run()
            // Progress is that of the attempt that counts.
            if hedge.isAnswer(attempt) { options.report(.began(second.transfer.meter)) }
            return attempt
        }
    }
}

extension ExchangeOptions {
    /// The time after which a second attempt begins in parallel; `nil` for no hedge. Only requests with a safe method,
    /// without a body and without a sink are hedged.
    var hedgeDelay: Duration? {
        guard let delay = policy.hedgeDelay, case .none = request.body, destination == nil, request.method.isSafe else {
            return nil
        }
        return delay
    }
}

extension ConnectionError {
    fileprivate init(circuitOpenFor wait: Duration, _ request: TransportRequest, at now: Int64) {
        let message =
            "most requests to \(request.originText) failed lately, and none is sent for \(wait.milliseconds) ms"
        self.init(.circuitOpen, message)
        openUntil = Date(milliseconds: now + wait.milliseconds)
    }
}
