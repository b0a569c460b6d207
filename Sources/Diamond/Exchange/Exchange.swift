import Foundation
import HTTPTypes

/// One request on the wire, attempt by attempt, until it has its response.
///
/// Only this type acts on a ``RetryDecision``. Between two attempts it holds no permit. If a transfer breaks, the next
/// attempt continues the partial response. What the last attempt has received is saved for a later exchange.
struct Exchange: Sendable {
    let environment: ExchangeEnvironment
    let options: any ExchangeOptions
    private(set) var history = RetryHistory()
    /// The response that an earlier attempt or exchange has received in part.
    private(set) var partialResponse = IndirectOptional<PartialResponse>.none
    /// The request with newer credentials than that of the ``options``.
    var renewed = IndirectOptional<TransportRequest>.none
    private var hasHedged = false
    /// The start of the exchange, by the exchange clock.
    private let start: Duration

    init(_ options: any ExchangeOptions, in environment: ExchangeEnvironment) {
        self.environment = environment
        self.options = options
        start = environment.retryCoordinator.clock.elapsed()
    }

    var retryCoordinator: RetryCoordinator { environment.retryCoordinator }

    /// The request that is sent, without the additions of its attempts.
    var request: TransportRequest { renewed.value ?? options.request }

    /// The number of the current or next attempt.
    var number: Int { history.attempts.count + 1 }

    var elapsed: Duration { .milliseconds(retryCoordinator.clock.uptime().milliseconds(since: EngineTime(start))) }

    /// Sends the request, again if the retry policy says so, and returns its response.
    ///
    /// - Parameter permit: the permit for the first attempt.
    mutating func receivedResponse(_ permit: inout LanePermit) async throws(ConnectionError) -> ReceivedResponse {
        retryCoordinator.deposit(to: options.origin, at: EngineTime(start))
        guard let recorder = options.recorder else { return try await result(&permit).get() }
        let result = await withTaskCancellationHandler {
            partialResponse = await recorder.partialResponse(for: request)
            return await self.result(&permit)
        } onCancel: {
            recorder.cancel()
        }
        if case .some = partialResponse { await savePartialResponse(by: recorder, permit: &permit) }
        return try result.get()
    }

    private func savePartialResponse(by recorder: any BodyRecording, permit: inout LanePermit) async {
        guard let partialResponse = partialResponse.value else { return }
        // Writing to disk needs no permit.
        permit.release()
        await recorder.save(partialResponse, for: request)
    }

    /// Returns the response, or the error with the attempts that led to it.
    private mutating func result(_ permit: inout LanePermit) async -> Result<ReceivedResponse, ConnectionError> {
        do throws(ConnectionError) {
            let attempt = try await attempt(holding: permit)
            return .success(
                attempt.isGood ? try finish(withGood: attempt) : try await retry(after: attempt, permit: &permit))
        } catch {
            var error = error
            error.attempts = history.attempts
            return .failure(error)
        }
    }

    // Most first attempts are good.
    private mutating func retry(
        after first: ExchangeAttempt,
        permit: inout LanePermit
    ) async throws(ConnectionError) -> ReceivedResponse {
        var attempt = first
        while true {
            let decision = decision(after: attempt)
            // A single attempt with a final error status needs no history.
            if !decision.isFinal || !history.attempts.isEmpty { record(decision, after: attempt) }
            if case .giveUp = decision { return try response(of: attempt) }
            let readiness: Readiness
            do throws(ConnectionError) { readiness = try await self.readiness(for: decision, permit: &permit) } catch {
                refund(decision)
                throw error
            }
            if case .tooLate(let lastStart) = readiness {
                refund(decision)
                return try finish(attempt, insteadOfNext: .outOfTime(lastStart))
            }
            options.report(.attempt(number))
            do throws(ConnectionError) { attempt = try await self.attempt(holding: permit) } catch {
                refund(decision)
                // Other exchanges have opened the circuit meanwhile.
                guard error.code == .circuitOpen else { throw error }
                return try finish(attempt, insteadOfNext: .circuitOpen)
            }
            guard !attempt.isGood else { return try finish(withGood: attempt) }
        }
    }

    /// Finishes with an attempt after which another was decided and could not begin.
    private mutating func finish(
        _ attempt: ExchangeAttempt,
        insteadOfNext reason: RetryReason
    ) throws(ConnectionError) -> ReceivedResponse {
        history.giveUp(reason)
        return try response(of: attempt)
    }

    /// Finishes with an attempt that succeeded.
    private mutating func finish(withGood attempt: ExchangeAttempt) throws(ConnectionError) -> ReceivedResponse {
        history.recordSuccess(attempt.recordedOutcome, startedAt: attempt.startedAt)
        return try response(of: attempt)
    }

    private func response(of attempt: ExchangeAttempt) throws(ConnectionError) -> ReceivedResponse {
        try attempt.receivedResponse(after: history.attempts, since: start)
    }

    private mutating func record(_ decision: RetryDecision, after attempt: ExchangeAttempt) {
        history.record(
            decision, after: attempt.recordedOutcome,
            serverMayHaveActed: attempt.serverMayHaveActed(at: environment.now()),
            startedAt: attempt.startedAt)
    }

    private mutating func attempt(holding permit: borrowing LanePermit) async throws(ConnectionError) -> ExchangeAttempt
    {
        let isPlain = environment.interceptors.isEmpty && options.gate == nil
        let transfer = try isPlain ? transfer(outgoing, number: number) : await prepareAttempt(number)
        options.report(.began(transfer.meter))
        let attempt =
            if let delay = hedgeDelay { await race(transfer, after: delay, holding: permit) } else {
                await transfer.run()
            }
        partialResponse = attempt.partialResponse
        if let gate = options.gate, !attempt.isGood, !attempt.serverMayHaveActed(at: environment.now()) {
            gate.noteUnprocessed()
        }
        return attempt
    }

    /// The time after which a second attempt begins in parallel; `nil` for no hedge. A request is hedged once, if its
    /// method is safe, it has neither a body nor a sink, and no partial response is continued.
    private var hedgeDelay: Duration? {
        guard let delay = options.policy.hedgeDelay, !hasHedged, case .none = partialResponse,
            case .none = request.body, options.sink == nil, request.method.isSafe
        else { return nil }
        return delay
    }

    // Few requests are hedged.
    @inline(never)
    private mutating func race(
        _ transfer: Transfer,
        after delay: Duration,
        holding permit: borrowing LanePermit
    ) async -> ExchangeAttempt {
        let race = await hedged(transfer, after: delay, number: number + 1, spare: permit.spare)
        if let other = race.other {
            hasHedged = true
            // The written bytes may be those of the other attempt's response.
            await options.recorder?.discard()
            history.recordHedge(other.recordedOutcome, startedAt: other.startedAt)
        }
        return race.winner
    }

    // MARK: Between attempts

    private func decision(after attempt: ExchangeAttempt) -> RetryDecision {
        attempt.isRefused ? .restart : withdrawingCost(of: RetryDecision(situation(after: attempt.result)))
    }

    private func situation(after result: RetrySituation.AttemptResult) -> RetrySituation {
        RetrySituation(
            policy: options.policy,
            request: RetryableRequest(
                request.method,
                headers: request.headers,
                canRefreshCredential: options.canRenewCredentials
            ),
            history: history,
            result: result,
            isAnsweredOffline: options.isAnsweredOffline,
            isCommitted: options.sink?.isCommitted ?? false,
            isBodyConsumed: options.upload?.isConsumed ?? false,
            elapsed: elapsed,
            now: environment.now(),
            hasBudget: retryCoordinator.canWithdraw(from: options.origin),
            isCircuitOpen: retryCoordinator.isCircuitOpen(to: options.origin),
            draw: retryCoordinator.draw()
        )
    }

    /// Withdraws the cost of a retry from the budget, and returns the decision; gives up if the budget was spent
    /// meanwhile.
    private func withdrawingCost(of decision: RetryDecision) -> RetryDecision {
        guard case .retry(_, isFree: false, _) = decision else { return decision }
        return retryCoordinator.withdraw(from: options.origin) ? decision : .giveUp(.budgetEmpty)
    }
}

extension RetryDecision {
    fileprivate var isFinal: Bool { if case .giveUp(let reason) = self { reason.code == .final } else { false } }

    /// Requests the whole response at once, because the rest is not available. This costs neither an attempt nor
    /// budget, because the engine itself requested less than the caller wants.
    fileprivate static let restart = retry(after: .zero, isFree: true, reason: .restarted)
}
