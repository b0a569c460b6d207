import Foundation
import HTTPTypes

/// The stages of one exchange: admission, attempts, storing.
extension Pipeline {
    /// Exchanges a request for all callers that have joined.
    func sharedExchange(
        _ request: ExchangeRequest,
        for flight: ExchangeSharing.Exchanges.Flight
    ) async -> ExchangeOutcome {
        do throws(ConnectionError) {
            var permit = try await admission.permit(for: request.plan, as: flight)
            flight.begin()
            guard !permit.wasAwaited || !lookup.isSuperseded(request.plan) else {
                return ExchangeOutcome(.superseded(isCounted: true))
            }
            return await exchange(request, permit: &permit) { event in
                if case .personal = event { flight.dismissOthers() } else { flight.report(event) }
            }
        } catch {
            return ExchangeOutcome(error)
        }
    }

    /// Exchanges a request for its caller alone, in the caller's task.
    ///
    /// - Parameter whenAdmitted: called when the permit is acquired.
    func ownExchange(
        _ request: ExchangeRequest,
        whenAdmitted: () -> Void
    ) async throws(ConnectionError) -> ExchangeOutcome {
        let caller = request.context.caller
        var permit = try await admission.permit(for: request.plan, as: caller)
        guard !permit.wasAwaited || !lookup.isSuperseded(request.plan) else {
            return ExchangeOutcome(.superseded(isCounted: false))
        }
        try caller.sink?.open()
        whenAdmitted()
        return await exchange(request, permit: &permit) { caller.receive($0) }
    }

    /// - Parameter report: receives the events of the exchange.
    @inline(never)
    func exchange(
        _ request: ExchangeRequest,
        permit: inout LanePermit,
        report: @escaping @Sendable (ExchangeEvent) -> Void
    ) async -> ExchangeOutcome {
        let begin = request.plan.begin ?? time.clock.uptime()
        do throws(ConnectionError) {
            let admitted = try await admission.admitted(request, wasAwaited: permit.wasAwaited)
            let reason = lookup.forwardReason(for: admitted.context, stored: admitted.plan.stored?.response)
            let ending = try await ending(of: admitted, since: begin, permit: &permit, report: report)
            return ExchangeOutcome(ending.forwarded(for: reason), startedAt: begin, plan: request.plan)
        } catch {
            return ExchangeOutcome(.failure(error), startedAt: begin)
        }
    }

    /// - Parameter begin: the start of the request's time.
    private func ending(
        of admitted: ExchangeRequest,
        since begin: Int64,
        permit: inout LanePermit,
        report: @escaping @Sendable (ExchangeEvent) -> Void
    ) async throws(ConnectionError) -> ExchangeOutcome.Ending {
        let plan = admitted.plan
        let recorder = BodyRecorder(plan, in: store, environment: exchangeEnvironment)
        let received = try await receivedResponse(
            to: admitted, recorder: recorder, permit: &permit, report: report)
        store.freshen(by: received, admitted: admitted)
        guard !received.isInSink else {
            // Before its own invalidations, which are not about it.
            let entryForGet = store.entryForGet(of: received, admitted: admitted)
            await store.invalidate(after: received, to: plan.context)
            await recorder?.finish(received, admitted: admitted, entryForGet: entryForGet)
            plan.context.caller.sink?.complete()
            return .response(response(from: received, to: plan.context))
        }
        let meaning = plan.meaning(of: received)
        guard let meaning, !meaning.isForCaller else {
            if meaning == .pass(isConfirming: true) { store.update(by: received, admitted: admitted) }
            let isForAll = store.isForAll(received, to: plan.context)
            store.unshared.note(isForAll && !received.isPersonal, of: plan)
            if !isForAll { report(.personal) }
            // Code of the app may send requests through this engine, and writing to disk needs no permit.
            permit.release()
            return .response(try await stored(received, admitted: admitted, recorder: recorder))
        }
        return try await answered(
            by: received, meaning: meaning, admitted: admitted, since: begin, recorder: recorder,
            permit: &permit, report: report)
    }

    private func receivedResponse(
        to admitted: ExchangeRequest,
        recorder: BodyRecorder?,
        permit: inout LanePermit,
        report: @escaping @Sendable (ExchangeEvent) -> Void
    ) async throws(ConnectionError) -> ReceivedResponse {
        let plan = admitted.plan
        var exchange = Exchange(
            try options(for: admitted, recorder: recorder, report: report), in: exchangeEnvironment)
        do throws(ConnectionError) {
            let received = try await exchange.receivedResponse(&permit)
            if (200..<400).contains(received.status.code) { answers.send(plan.context.permitScope.origin) }
            return received
        } catch {
            // What was received for a sink is not saved.
            if plan.context.caller.sink != nil { await recorder?.discard() }
            await store.invalidate(after: error, to: plan.context)
            throw error
        }
    }

    /// Serves the stored response that a 304 confirms. A 304 about another representation confirms nothing: the stored
    /// one is erased, and requested again, once and without its validators (RFC 9111 section 4.3.4).
    @inline(never)
    private func answered(
        by received: ReceivedResponse,
        meaning: NotModifiedDecision,
        admitted: ExchangeRequest,
        since begin: Int64,
        recorder: BodyRecorder?,
        permit: inout LanePermit,
        report: @escaping @Sendable (ExchangeEvent) -> Void
    ) async throws(ConnectionError) -> ExchangeOutcome.Ending {
        let plan = admitted.plan
        guard let stored = plan.candidate(for: meaning) else {
            recorder?.end()
            // The response to a personal request may not apply to other callers.
            if meaning == .askAgain(isErasing: true), !received.isPersonal, let stored = plan.stored {
                store.erase(stored)
            }
            let next = try await admission.rebuilt(plan.unconditional(since: begin))
            return try await ending(of: next, since: begin, permit: &permit, report: report)
        }
        let confirmed =
            meaning == .confirm
            ? store.confirm(stored, by: received, admitted: admitted)
            : store.select(stored, by: received, admitted: admitted)
        let isForAll = store.isForAll(confirmed, at: received.receivedAt)
        store.unshared.note(isForAll && !received.isPersonal, of: plan)
        // The other clients of a gateway look up what was confirmed. Each reads its body at its own pace.
        if !isForAll || plan.context.caller.sink is SharedBody { report(.personal) }
        defer { if confirmed.isToBeErased { store.erase(stored) } }
        // A caller with a sink may read the body slowly.
        permit.release()
        if stored.isPart { await store.confirmPart(stored, by: received, admitted: admitted) }
        let candidate: StoredCandidate
        do throws(CacheError) {
            candidate = try lookup.whole(stored.with(confirmed.stored), for: plan.context)
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

    private func options(
        for admitted: ExchangeRequest,
        recorder: BodyRecorder?,
        report: @escaping @Sendable (ExchangeEvent) -> Void
    ) throws(ConnectionError) -> ExchangeOptions {
        let plan = admitted.plan
        let context = plan.context
        let caller = context.caller
        return ExchangeOptions(
            request: admitted.request,
            policy: try time.policy(of: context.resolved, since: plan.begin),
            isAnsweredOffline: lookup.isAnsweredOffline(plan),
            origin: context.permitScope.origin,
            renewal: builder.renewal(of: plan),
            scope: plan.scope(in: activity),
            report: report,
            bodyLimit: context.bodyLimit(in: exchangeEnvironment),
            identity: context.wire.identity,
            rules: environment.rules.adding(context.wire),
            isForeign: context.traits.contains(.foreign),
            isContinuable: context.isContinuable && caller.sink?.isContinuable ?? true,
            recorder: recorder ?? caller.sink.flatMap { ($0 as? any RecordingSink)?.recorder(of: plan, in: store) },
            destination: caller.sink.map {
                BodyDestination(
                    sink: $0, url: context.url, origin: context.permitScope.origin, hasStored: plan.mayBeConfirmed,
                    isReplaced: { [lookup] in lookup.isReplaced($0, for: plan) },
                    cacheStatus: lookup.forwardReason(for: context, stored: plan.stored?.response).map {
                        CacheStatus(forwardReason: $0)
                    })
            },
            upload: caller.upload,
            gate: caller.gate,
            beginIfAllowed: beginIfAllowed(for: context)
        )
    }

    /// Returns the function that begins each attempt of an exchange if its connection's run allows it; `nil` if there
    /// is nothing to check.
    ///
    /// Only the runs of connections with an unsafe method are checked. A pause ends other runs at once, or leaves the
    /// exchange to the callers that share it. The hop after a redirect is not given up, because the next run would
    /// begin with the first hop.
    private func beginIfAllowed(for context: RequestContext) -> (@Sendable () -> Bool)? {
        guard let run = context.caller.run, !context.wire.method.isSafe, !context.traits.contains(.redirected) else {
            return nil
        }
        return { run.beginIfAllowed() }
    }
}
