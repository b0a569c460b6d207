import Foundation
import HTTPTypes

/// Takes one request over the wire to its whole response, attempt by attempt.
///
/// The one place that acts on a ``RetryDecision``. Between two attempts it has no place on the wire. What an attempt has
/// received that broke, the next goes on with; what the last has received is kept for another exchange.
struct Exchange: Sendable {
    /// The transport of the exchange's attempts, and all that they share.
    // A class, because every step of every exchange has it.
    final class Wire: Sendable {
        let transport: any Transport
        /// Milliseconds since 1970.
        let now: @Sendable () -> Int64
        /// Bytes of a body at most, for requests that say nothing.
        let bodyLimit: Int
        let repetitions: RetryCoordinator
        let interceptors: [any Interceptor]
        /// `nil` for none.
        let cookies: CookieJar?

        init(
            transport: any Transport,
            now: @escaping @Sendable () -> Int64,
            bodyLimit: Int,
            repetitions: RetryCoordinator,
            interceptors: [any Interceptor],
            cookies: CookieJar?
        ) {
            (self.transport, self.now, self.bodyLimit) = (transport, now, bodyLimit)
            (self.repetitions, self.interceptors, self.cookies) = (repetitions, interceptors, cookies)
        }

        var date: Date { Date(milliseconds: now()) }
    }

    let wire: Wire
    let order: ExchangeOptions
    private(set) var history = RetryHistory()
    private var incomplete = IndirectOptional<PartialResponse>.none
    /// With newer credentials than the order's.
    var renewed = IndirectOptional<TransportRequest>.none
    private var hasHedged = false
    private let begin: Int64

    init(_ order: ExchangeOptions, over wire: Wire) {
        self.wire = wire
        self.order = order
        begin = wire.repetitions.clock.uptime()
    }

    var repetitions: RetryCoordinator { wire.repetitions }

    /// The request that is sent, without the additions of its attempts.
    var request: TransportRequest { renewed.value ?? order.request }

    /// The number of the current or next attempt.
    var number: Int { history.attempts.count + 1 }

    var elapsed: Duration { .milliseconds(repetitions.clock.uptime() - begin) }

    /// - Parameter permit: the place on the wire for the first attempt.
    mutating func arrival(_ permit: inout LanePermit) async throws(ConnectionError) -> ReceivedResponse {
        repetitions.deposit(to: order.origin, at: begin)
        guard let keeper = order.keeper else {
            let outcome = await pursued(&permit)
            return try tell(outcome)
        }
        let outcome = await withTaskCancellationHandler {
            incomplete = await keeper.partialResponse(for: request)
            return await pursued(&permit)
        } onCancel: {
            keeper.cancel()
        }
        if case .some = incomplete { await keep(by: keeper, &permit) }
        return try tell(outcome)
    }

    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    private func keep(by keeper: any ResumeWriting, _ permit: inout LanePermit) async {
        guard let incomplete = incomplete.value else { return }
        // Whoever waits for the disk needs no place on the wire.
        permit.giveBack()
        await keeper.keep(incomplete, for: request)
    }

    private mutating func pursued(_ permit: inout LanePermit) async -> Result<ReceivedResponse, ConnectionError> {
        do throws(ConnectionError) { return .success(try await pursue(&permit)) } catch { return .failure(error) }
    }

    private func tell(_ outcome: Result<ReceivedResponse, ConnectionError>) throws(ConnectionError) -> ReceivedResponse
    {
        do throws(ConnectionError) { return try outcome.get() } catch {
            var error = error
            error.attempts = history.attempts
            throw error
        }
    }

    private mutating func pursue(_ permit: inout LanePermit) async throws(ConnectionError) -> ReceivedResponse {
        let attempt = try await attempt(permit)
        return attempt.isGood ? try finish(attempt) : try await goOn(after: attempt, &permit)
    }

    // Nor this: most first attempts are good.
    @inline(never)
    private mutating func goOn(
        after first: ExchangeAttempt,
        _ permit: inout LanePermit
    ) async throws(ConnectionError) -> ReceivedResponse {
        var attempt = first
        while true {
            let decision = decision(after: attempt)
            if case .giveUp(let reason) = decision { return try finish(attempt, reason) }
            record(decision, after: attempt)
            let end: Duration?
            do throws(ConnectionError) { end = try await ready(for: decision, &permit) } catch {
                refund(decision)
                throw error
            }
            if let end {
                refund(decision)
                return try finish(attempt, insteadOfNext: .outOfTime(end))
            }
            order.hear(.attempt(number))
            do throws(ConnectionError) { attempt = try await self.attempt(permit) } catch {
                refund(decision)
                // Others have opened the circuit meanwhile.
                guard error.code == .circuitOpen else { throw error }
                return try finish(attempt, insteadOfNext: .circuitOpen)
            }
            guard !attempt.isGood else { return try finish(attempt) }
        }
    }

    private mutating func finish(
        _ attempt: ExchangeAttempt,
        insteadOfNext reason: RetryReason
    ) throws(ConnectionError) -> ReceivedResponse {
        history.giveUp(reason)
        return try attempt.arrival(after: history.attempts)
    }

    private mutating func finish(_ attempt: ExchangeAttempt) throws(ConnectionError) -> ReceivedResponse {
        history.recordSuccess(attempt.record, startedAt: attempt.startedAt)
        return try attempt.arrival(after: history.attempts)
    }

    private mutating func finish(
        _ attempt: ExchangeAttempt,
        _ reason: RetryReason
    ) throws(ConnectionError) -> ReceivedResponse {
        // The usual error of a server is no story.
        let isPlain = history.attempts.isEmpty && reason.code == .final
        if !isPlain { record(.giveUp(reason), after: attempt) }
        return try attempt.arrival(after: history.attempts)
    }

    private mutating func record(_ decision: RetryDecision, after attempt: ExchangeAttempt) {
        history.record(
            decision, after: attempt.record, mayHaveArrived: attempt.mayHaveArrived(at: wire.now()),
            startedAt: attempt.startedAt)
    }

    private mutating func attempt(_ permit: borrowing LanePermit) async throws(ConnectionError) -> ExchangeAttempt {
        let launch = try await launch(number, behind: incomplete, keeper: order.keeper)
        order.hear(.began(launch.transfer.meter))
        let attempt = try await attempt(of: launch, permit)
        incomplete = attempt.left
        if let gate = order.gate, !attempt.isGood, !attempt.mayHaveArrived(at: wire.now()) { gate.takeBack() }
        return attempt
    }

    private mutating func attempt(
        of launch: Launch,
        _ permit: borrowing LanePermit
    ) async throws(ConnectionError) -> ExchangeAttempt {
        guard !hasHedged, case .none = incomplete, let delay = order.hedgeDelay else { return await launch.attempt() }
        let (attempt, other) = await hedged(launch, after: delay, beside: number + 1, permit.spare)
        if let other {
            hasHedged = true
            // What was written may be of the other's answer.
            await order.keeper?.discard()
            history.recordHedge(other.record, startedAt: other.startedAt)
        }
        return attempt
    }

    // MARK: Between attempts

    private func decision(after attempt: ExchangeAttempt) -> RetryDecision {
        attempt.isRefused ? .restart : paid(RetryDecision(situation(after: attempt.outcome)))
    }

    private func situation(after outcome: RetrySituation.Outcome) -> RetrySituation {
        RetrySituation(
            policy: order.policy,
            request: RetryableRequest(
                request.method,
                headers: request.headers,
                canRefreshCredential: order.renewal?.isAllowed() ?? false
            ),
            history: history,
            outcome: outcome,
            isCommitted: order.pouring?.sink.isCommitted ?? false,
            isBodyConsumed: order.upload?.isConsumed ?? false,
            elapsed: elapsed,
            now: wire.now(),
            hasBudget: repetitions.canWithdraw(from: order.origin),
            isCircuitOpen: repetitions.isCircuitOpen(to: order.origin),
            draw: repetitions.draw()
        )
    }

    /// The decision, where what it costs can be paid still.
    private func paid(_ decision: RetryDecision) -> RetryDecision {
        guard case .retry(_, isFree: false, _) = decision else { return decision }
        return repetitions.withdraw(from: order.origin) ? decision : .giveUp(.budgetEmpty)
    }
}

extension RetryDecision {
    /// The whole, because the rest cannot be had: at once, and whatever attempts and budget say. It is the engine that has
    /// asked for less than the caller wants.
    fileprivate static let restart = retry(after: .zero, isFree: true, reason: .restarted)
}
