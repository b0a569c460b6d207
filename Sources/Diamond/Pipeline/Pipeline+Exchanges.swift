import Foundation
import HTTPTypes

/// One exchange: admitted to the wire, attempted, stored.
extension Pipeline {
    /// Exchanges a request for all callers that have joined.
    @inline(never)
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
            return await exchange(request, &permit) { event in
                if case .personal = event { flight.dismissOthers() } else { flight.report(event) }
            }
        } catch {
            return ExchangeOutcome(error)
        }
    }

    /// Exchanges a request for its caller alone, in the caller's task.
    ///
    /// - Parameter whenAdmitted: called when there is a permit.
    @inline(never)
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
        return await exchange(request, &permit) { caller.receive($0) }
    }

    /// - Parameter report: takes the events of the exchange.
    @inline(never)
    private func exchange(
        _ request: ExchangeRequest,
        _ permit: inout LanePermit,
        _ report: @escaping @Sendable (ExchangeEvent) -> Void
    ) async -> ExchangeOutcome {
        let begin = request.plan.begin ?? time.clock.uptime()
        do throws(ConnectionError) {
            let admitted = try await admission.admitted(request, wasAwaited: permit.wasAwaited)
            return ExchangeOutcome(try await ending(of: admitted, since: begin, &permit, report), startedAt: begin)
        } catch {
            return ExchangeOutcome(.failure(error), startedAt: begin)
        }
    }

    /// - Parameter begin: the start of the request's time.
    private func ending(
        of admitted: ExchangeRequest,
        since begin: Int64,
        _ permit: inout LanePermit,
        _ report: @escaping @Sendable (ExchangeEvent) -> Void
    ) async throws(ConnectionError) -> ExchangeOutcome.Ending {
        let plan = admitted.plan
        let keeper = ResumeWriter(plan, in: self)
        let arrival = try await arrival(of: admitted, report, keeper, &permit)
        store.freshen(by: arrival, admitted)
        guard !arrival.isPoured else {
            store.invalidate(after: arrival, plan.context)
            plan.context.caller.sink?.complete()
            return .response(response(from: arrival, plan.context))
        }
        guard plan.isConditional, let stored = plan.stored, arrival.status == .notModified else {
            // Code of the app, which may send through this engine, and the disk need no permit.
            permit.giveBack()
            return .response(try await stored(arrival, admitted, keeper))
        }
        return try await confirmed(stored, by: arrival, admitted, since: begin, keeper, &permit, report)
    }

    private func arrival(
        of admitted: ExchangeRequest,
        _ report: @escaping @Sendable (ExchangeEvent) -> Void,
        _ keeper: ResumeWriter?,
        _ permit: inout LanePermit
    ) async throws(ConnectionError) -> ReceivedResponse {
        let plan = admitted.plan
        var exchange = Exchange(try order(for: admitted, report, keeper), over: wire)
        do throws(ConnectionError) { return try await exchange.arrival(&permit) } catch {
            store.invalidate(after: error, plan.context)
            throw error
        }
    }

    /// Serves the stored response that a 304 confirms. A 304 about another representation confirms nothing: the stored one is
    /// erased, and requested again, once and without conditions (RFC 9111 section 4.3.4).
    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    private func confirmed(
        _ stored: StoredCandidate,
        by arrival: ReceivedResponse,
        _ admitted: ExchangeRequest,
        since begin: Int64,
        _ keeper: ResumeWriter?,
        _ permit: inout LanePermit,
        _ report: @escaping @Sendable (ExchangeEvent) -> Void
    ) async throws(ConnectionError) -> ExchangeOutcome.Ending {
        let plan = admitted.plan
        guard stored.response.isConfirmed(by: arrival.headers) else {
            keeper?.end()
            // What is said to one caller alone may be wrong for others.
            if !arrival.isPersonal { store.erase(plan.context) }
            let next = try await admission.rebuilt(plan.unconditional(since: begin))
            return try await ending(of: next, since: begin, &permit, report)
        }
        let confirmed = store.confirm(stored.response, by: arrival, admitted)
        defer { if confirmed.isToBeErased { store.erase(plan.context) } }
        // The caller may take its time to read the body.
        permit.giveBack()
        let candidate = StoredCandidate(confirmed.stored, reader: stored.reader)
        switch try await lookup.serve(candidate, .revalidated, for: plan.context, after: arrival.attempts) {
        case .response(let response): return .response(response)
        case .unreadable(let error): return .unreadable(error)
        }
    }

    private func order(
        for admitted: ExchangeRequest,
        _ report: @escaping @Sendable (ExchangeEvent) -> Void,
        _ keeper: ResumeWriter?
    ) throws(ConnectionError) -> ExchangeOptions {
        let plan = admitted.plan
        let context = plan.context
        let caller = context.caller
        return ExchangeOptions(
            request: admitted.request,
            policy: try time.policy(of: context.resolved, since: plan.begin),
            origin: context.place.origin,
            renewal: builder.renewal(of: plan),
            scope: plan.scope(in: activity),
            hear: report,
            bodyLimit: bodyLimit(of: context),
            identity: context.wire.identity,
            rules: environment.rules.adding(context.wire),
            isForeign: context.traits.contains(.foreign),
            isContinuable: context.isContinuable && caller.sink?.isContinuable ?? true,
            keeper: keeper,
            pouring: caller.sink.map { Pouring(sink: $0, url: context.url, origin: context.place.origin) },
            upload: caller.upload,
            gate: caller.gate,
            mayBegin: mayBegin(context)
        )
    }

    /// Returns what an exchange asks before each attempt: whether the run of its connection may send; `nil` where it need not
    /// ask.
    ///
    /// Only connections with a method that is not safe ask. A pause ends other runs at once, or leaves the exchange to the
    /// callers that share it. The hop of a redirect is not given up, because a run begins with the first hop.
    private func mayBegin(_ context: RequestContext) -> (@Sendable () -> Bool)? {
        guard let run = context.caller.run, !context.wire.method.isSafe, !context.traits.contains(.redirected) else {
            return nil
        }
        return { run.mayBegin() }
    }

    /// The bytes of a body that are taken.
    func bodyLimit(of context: RequestContext) -> Int {
        guard let limit = context.resolved.bodyLimit else { return wire.bodyLimit }
        return context.traits.contains(.behindSink) ? min(limit, wire.bodyLimit) : limit
    }
}
