import Foundation
import HTTPTypes

/// The stages of one exchange: admission, attempts, storing.
extension Pipeline {
    /// Exchanges a request for all callers that have joined.
    ///
    /// - Parameter report: receives the events of the exchange.
    func sharedExchange<Key, Event>(
        _ plan: ExchangePlan,
        for flight: SingleFlight<Key, ExchangeOutcome, Event>.Flight,
        report: @escaping @Sendable (ExchangeEvent) -> Void
    ) async -> ExchangeOutcome {
        do throws(ConnectionError) {
            let turn = try await sharing.fleet?.turn(of: plan)
            defer { turn?.end() }
            guard turn?.isSuperseded != true else { return ExchangeOutcome(.superseded(isCounted: true)) }
            var permit = try await admission.permit(for: plan, as: flight)
            flight.begin()
            guard !permit.wasAwaited || !lookup.isSuperseded(plan) else {
                return ExchangeOutcome(.superseded(isCounted: true))
            }
            turn?.begin()
            let outcome = await exchange(plan, permit: &permit, report: report)
            turn?.note(outcome)
            return outcome
        } catch {
            return ExchangeOutcome(error)
        }
    }

    /// Exchanges a request for its caller alone, in the caller's task.
    @inline(never)
    func ownExchange(_ plan: ExchangePlan, progress: HopProgress) async throws(ConnectionError) -> ExchangeOutcome {
        let caller = plan.context.caller
        var permit = try await admission.permit(for: plan, as: caller)
        guard !permit.wasAwaited || !lookup.isSuperseded(plan) else {
            return ExchangeOutcome(.superseded(isCounted: false))
        }
        try caller.sink?.open()
        countMiss(of: plan, progress: progress)
        return await exchange(plan, permit: &permit) { caller.receive($0) }
    }

    /// - Parameter report: receives the events of the exchange.
    @inline(never)
    func exchange(
        _ plan: ExchangePlan,
        permit: inout LanePermit,
        report: @escaping @Sendable (ExchangeEvent) -> Void
    ) async -> ExchangeOutcome {
        let timeStart = plan.timeStart ?? time.clock.uptime()
        do throws(ConnectionError) {
            var position = SendPosition(in: invalidations)
            let admitted = try await admission.admitted(plan, wasAwaited: permit.wasAwaited, at: &position)
            let exchange = try Exchange(
                admitted, at: position, since: timeStart, builder: builder, store: store,
                environment: exchangeEnvironment, report: report)
            let ending = try await ending(of: exchange, permit: &permit)
            return ExchangeOutcome(
                ending.forwarded(for: exchange.forwardReason), startedAt: timeStart, plan: plan)
        } catch {
            return ExchangeOutcome(.failure(error), startedAt: timeStart)
        }
    }

    private func ending(
        of exchange: Exchange,
        permit: inout LanePermit
    ) async throws(ConnectionError) -> ExchangeOutcome.Ending {
        var attempts = RetryLoop(exchange)
        let received: ReceivedResponse
        do throws(ConnectionError) { received = try await attempts.receivedResponse(&permit) } catch {
            await finish(exchange, after: error)
            throw error
        }
        note(received, of: exchange)
        guard !received.isInSink else { return await endingInSink(received, of: exchange) }
        let meaning = exchange.plan.meaning(of: received)
        if let meaning, !meaning.isForCaller {
            return try await answered(by: received, meaning: meaning, to: exchange, permit: &permit)
        }
        noteForCaller(received, isConfirming: meaning == .pass(isConfirming: true), of: exchange)
        // Code of the app may send requests through this engine, and writing to disk needs no permit.
        permit.release()
        return .response(try await stored(received, to: exchange))
    }

    // This function and the next two are not inlined: see ``Pipeline``.
    @inline(never)
    private func note(_ received: ReceivedResponse, of exchange: Exchange) {
        if (200..<400).contains(received.status.code) { answers.send(exchange.origin) }
        store.freshen(by: received, admitted: exchange)
    }

    /// - Parameter isConfirming: whether the response is a 304 that confirms a stored response, too.
    @inline(never)
    private func noteForCaller(_ received: ReceivedResponse, isConfirming: Bool, of exchange: Exchange) {
        if isConfirming { store.update(by: received, admitted: exchange) }
        let isForAll = store.isForAll(received, to: exchange.context)
        store.unshared.note(isForAll && !received.isPersonal, of: exchange.plan)
        if !isForAll { exchange.report(.personal) }
    }

    @inline(never)
    private func endingInSink(_ received: ReceivedResponse, of exchange: Exchange) async -> ExchangeOutcome.Ending {
        // Before its own invalidations, which are not about it.
        let entryForGet = store.entryForGet(of: received, admitted: exchange)
        await store.invalidate(after: received, to: exchange.context)
        await exchange.bodyRecorder?.finish(received, admitted: exchange, entryForGet: entryForGet)
        exchange.context.caller.sink?.complete()
        return .response(response(from: received, to: exchange.context))
    }

    @inline(never)
    private func finish(_ exchange: Exchange, after error: ConnectionError) async {
        // What was received for a sink is not saved.
        if exchange.context.caller.sink != nil { await exchange.bodyRecorder?.discard() }
        await store.invalidate(after: error, to: exchange.context)
    }

    /// Serves the stored response that a 304 confirms.
    @inline(never)
    private func answered(
        by received: ReceivedResponse,
        meaning: NotModifiedDecision,
        to exchange: Exchange,
        permit: inout LanePermit
    ) async throws(ConnectionError) -> ExchangeOutcome.Ending {
        let plan = exchange.plan
        guard let stored = plan.revalidation.candidate(for: meaning) else {
            exchange.bodyRecorder?.end()
            return try await unconditionalEnding(of: exchange, permit: &permit)
        }
        let confirmed =
            meaning == .confirm
            ? store.confirm(stored, by: received, admitted: exchange)
            : store.select(stored, by: received, admitted: exchange)
        let isForAll = store.isForAll(confirmed, at: received.receivedAt)
        store.unshared.note(isForAll && !received.isPersonal, of: plan)
        // The other clients of a gateway look up what was confirmed. Each reads its body at its own pace.
        if !isForAll || plan.context.caller.sink is SharedBody { exchange.report(.personal) }
        defer { if confirmed.isToBeErased { store.erase(stored) } }
        // A caller with a sink may read the body slowly.
        permit.release()
        if stored.isPart { await store.confirmPart(stored, by: received, admitted: exchange) }
        return try await ending(serving: stored.with(confirmed.stored), confirmedBy: received, for: plan)
    }

    /// Sends a request again, once and without its validators, because a 304 about another representation confirms
    /// nothing (RFC 9111 section 4.3.4).
    private func unconditionalEnding(
        of exchange: Exchange,
        permit: inout LanePermit
    ) async throws(ConnectionError) -> ExchangeOutcome.Ending {
        let plan = try await builder.rebuilt(
            exchange.plan, Revalidation(stored: exchange.plan.stored), since: exchange.timeStart)
        let next = try Exchange(
            plan, at: SendPosition(in: invalidations), since: exchange.timeStart, builder: builder, store: store,
            environment: exchangeEnvironment, report: exchange.report)
        return try await ending(of: next, permit: &permit)
    }

    private func ending(
        serving stored: StoredCandidate,
        confirmedBy received: ReceivedResponse,
        for plan: ExchangePlan
    ) async throws(ConnectionError) -> ExchangeOutcome.Ending {
        let candidate: StoredCandidate
        do throws(CacheError) {
            candidate = try lookup.readingBody(of: stored, for: plan.context)
        } catch {
            return .unreadable(error)
        }
        let reason = lookup.forwardReason(for: plan.context, stored: plan.stored?.response)
        let forwarding = CacheForwarding(reason: reason, status: received.status.code)
        switch try await lookup.serve(
            candidate, as: .revalidated, for: plan.context, after: received.attempts, forwarding: forwarding)
        {
        case .response(var response):
            response.metrics = received.metrics.value
            return .response(response)
        case .unreadable(let error): return .unreadable(error)
        }
    }
}
