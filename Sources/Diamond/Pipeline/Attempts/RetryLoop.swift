import Foundation
import HTTPTypes

/// The attempts of an exchange, one after another, until it has its response.
///
/// Only this type acts on a ``RetryDecision``. Between two attempts it holds no permit. If a transfer breaks, the next
/// attempt continues the partial response. What the last attempt has received is saved for a later exchange.
///
/// It is a value: code of the app may ignore its cancellation, and use the state of an earlier attempt later.
struct RetryLoop: Sendable {
    let exchange: Exchange
    private(set) var history = RetryHistory()
    /// The response that an earlier attempt or exchange has received in part.
    private(set) var partialResponse = IndirectOptional<PartialResponse>.none
    /// The request with newer credentials than that of the plan.
    var renewed = IndirectOptional<TransportRequest>.none
    private var hasHedged = false
    /// The start of the loop, by the exchange clock: before it looks for a partial response.
    private let start: Duration

    init(_ exchange: Exchange) {
        self.exchange = exchange
        start = exchange.environment.retryCoordinator.clock.elapsed()
    }

    var environment: ExchangeEnvironment { exchange.environment }
    var retryCoordinator: RetryCoordinator { environment.retryCoordinator }

    /// The request that is sent, without the additions of its attempts.
    var request: TransportRequest { renewed.value ?? exchange.plan.request }

    /// The number of the current or next attempt.
    var number: Int { history.attempts.count + 1 }

    var elapsed: Duration { .milliseconds(retryCoordinator.clock.uptime().milliseconds(since: EngineTime(start))) }

    /// Sends the request, again if the retry policy says so, and returns its response.
    ///
    /// - Parameter permit: the permit for the first attempt.
    mutating func receivedResponse(_ permit: inout LanePermit) async throws(ConnectionError) -> ReceivedResponse {
        retryCoordinator.deposit(to: exchange.origin, at: EngineTime(start))
        let result =
            if let recorder = exchange.recorder { await recordedResult(by: recorder, permit: &permit) } else {
                await result(&permit)
            }
        return try result.get()
    }

    // Not inlined, so that the frame of an exchange that is not recorded is smaller.
    @inline(never)
    private mutating func recordedResult(
        by recorder: any BodyRecording,
        permit: inout LanePermit
    ) async -> Result<ReceivedResponse, ConnectionError> {
        let result = await withTaskCancellationHandler {
            partialResponse = await recorder.partialResponse(for: request)
            return await self.result(&permit)
        } onCancel: {
            recorder.cancel()
        }
        if case .some = partialResponse { await savePartialResponse(by: recorder, permit: &permit) }
        return result
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
                attempt.isGood ? try response(of: attempt) : try await retry(after: attempt, permit: &permit))
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
            if !decision.isFinal || !history.attempts.isEmpty {
                history.record(
                    decision, after: attempt.recordedOutcome,
                    serverMayHaveActed: attempt.serverMayHaveActed(at: environment.now()),
                    startedAt: attempt.startedAt)
            }
            if case .giveUp = decision { return try response(of: attempt) }
            let readiness: Readiness
            do throws(ConnectionError) { readiness = try await self.readiness(for: decision, permit: &permit) } catch {
                refund(decision)
                throw error
            }
            if case .tooLate(let lastStart) = readiness {
                refund(decision)
                history.giveUp(.outOfTime(lastStart))
                return try response(of: attempt)
            }
            exchange.report(.attempt(number))
            do throws(ConnectionError) { attempt = try await self.attempt(holding: permit) } catch {
                refund(decision)
                // Other exchanges have opened the circuit meanwhile.
                guard error.code == .circuitOpen else { throw error }
                history.giveUp(.circuitOpen)
                return try response(of: attempt)
            }
            guard !attempt.isGood else { return try response(of: attempt) }
        }
    }

    /// Returns the response of the last attempt, or throws its error.
    @inline(never)
    private mutating func response(of attempt: ExchangeAttempt) throws(ConnectionError) -> ReceivedResponse {
        if attempt.isGood { history.recordSuccess(attempt.recordedOutcome, startedAt: attempt.startedAt) }
        return try attempt.receivedResponse(after: history.attempts, since: start)
    }

    private mutating func attempt(holding permit: borrowing LanePermit) async throws(ConnectionError) -> ExchangeAttempt
    {
        let isPlain = environment.interceptors.isEmpty && exchange.gate == nil
        let transfer = try isPlain ? preparePlainAttempt() : await prepareAttempt(number)
        exchange.report(.began(transfer.meter))
        let attempt =
            if let delay = hedgeDelay { await race(transfer, after: delay, holding: permit) } else {
                await transfer.run()
            }
        partialResponse = attempt.partialResponse
        if let gate = exchange.gate, !attempt.isGood, !attempt.serverMayHaveActed(at: environment.now()) {
            gate.noteUnprocessed()
        }
        return attempt
    }

    /// Prepares an attempt without interceptors and without a gate.
    @inline(never)
    private func preparePlainAttempt() throws(ConnectionError) -> Transfer { try transfer(outgoing, number: number) }

    /// The time after which a second attempt begins in parallel; `nil` for no hedge. A request is hedged once, if its
    /// method is safe, it has neither a body nor a sink, and no partial response is continued.
    @inline(never)
    private var hedgeDelay: Duration? {
        guard let delay = exchange.policy.hedgeDelay, !hasHedged, case .none = partialResponse,
            case .none = request.body, exchange.sink == nil, request.method.isSafe
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
            await exchange.recorder?.discard()
            history.recordHedge(other.recordedOutcome, startedAt: other.startedAt)
        }
        return race.winner
    }

    // MARK: Between attempts

    /// Returns the decision, and withdraws the cost of a retry from the budget.
    private func decision(after attempt: ExchangeAttempt) -> RetryDecision {
        guard !attempt.isRefused else { return .restart }
        let decision = RetryDecision(situation(after: attempt.result))
        // The budget may have been spent meanwhile.
        guard case .retry(_, isFree: false, _) = decision, !retryCoordinator.withdraw(from: exchange.origin) else {
            return decision
        }
        return .giveUp(.budgetEmpty)
    }

    private func situation(after result: RetrySituation.AttemptResult) -> RetrySituation {
        let retryable = RetryableRequest(
            request.method,
            headers: request.headers,
            canRefreshCredential: exchange.builder.canRenewCredentials(of: exchange.plan)
        )
        var situation = RetrySituation(
            request: retryable, result: result, now: environment.now(), draw: retryCoordinator.draw())
        situation.policy = exchange.policy
        situation.history = history
        situation.isAnsweredOffline = exchange.isAnsweredOffline
        situation.isCommitted = exchange.sink?.isCommitted ?? false
        situation.isBodyConsumed = exchange.context.caller.upload?.isConsumed ?? false
        situation.elapsed = elapsed
        situation.hasBudget = retryCoordinator.canWithdraw(from: exchange.origin)
        situation.isCircuitOpen = retryCoordinator.isCircuitOpen(to: exchange.origin)
        return situation
    }
}

extension RetryDecision {
    fileprivate var isFinal: Bool { if case .giveUp(let reason) = self { reason.code == .final } else { false } }

    /// Requests the whole response at once, because the rest is not available. This costs neither an attempt nor
    /// budget, because the engine itself requested less than the caller wants.
    fileprivate static let restart = retry(after: .zero, isFree: true, reason: .restarted)
}
