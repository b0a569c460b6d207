/// The third stage: shares an exchange among the callers that ask for the same at the same time.
struct ExchangeSharing: Sendable {
    /// The time of a caller that is not that of the exchange.
    struct OwnTime: Sendable {
        let rest: Duration
        /// The error when it is over.
        let error: ConnectionError
    }

    typealias Exchanges = SingleFlight<SharedExchangeKey, ExchangeOutcome, ExchangeEvent>

    let exchanges = Exchanges()
    let lookup: CacheLookup
    let invalidations: InvalidationLog
    let time: RequestTime

    /// Returns the key that an exchange is shared under; `nil` where the caller needs an exchange of its own.
    ///
    /// Shared are requests that may be answered from the cache, and ask the same of the server. `reload` and `noStore` need
    /// exchanges of their own, and so do ranges and conditions of the caller, secrets without an identity, sinks, requests that
    /// are kept to be sent later, requests that a shared exchange waits for, and those whose stored response has no body here.
    // Not inlined, nor the following, to keep the async frames of waiting callers small.
    @inline(never)
    func key(of request: ExchangeRequest) -> SharedExchangeKey? {
        let plan = request.plan
        let caller = plan.context.caller
        guard let identity = plan.context.identity, plan.context.policy.mode != .reload, !plan.isOfRefresh,
            caller.sink == nil, caller.gate == nil, !caller.isInFlight, plan.stored?.response.isWhole ?? true
        else { return nil }
        let resolved = plan.context.resolved
        return SharedExchangeKey(
            identity.key, request.request, retry: resolved.retry ?? time.retry, bodyLimit: resolved.bodyLimit,
            lane: resolved.place.lane, tags: resolved.tags)
    }

    /// Joins the exchange that is under way, or starts one, and waits for its outcome, as long as the caller has time.
    ///
    /// - Parameters:
    ///   - limit: the caller's own time; `none` where that of the exchange is enough.
    ///   - whenJoined: called when there is an exchange to wait for.
    ///   - exchange: sends the request.
    /// - Returns: ``ExchangeOutcome/Ending/superseded`` where another exchange has stored a response since the plan was made.
    @inline(never)
    func outcome(
        for key: SharedExchangeKey,
        _ plan: ExchangePlan,
        within limit: IndirectOptional<OwnTime>,
        whenJoined: @escaping @Sendable () -> Void,
        exchange: @escaping Exchanges.Operation
    ) async -> ExchangeOutcome {
        guard let limit = limit.value else { return await outcome(for: key, plan, whenJoined, exchange) }
        let (outcome, isLate) = await time.clock.limit(limit.rest) { [self] in
            await self.outcome(for: key, plan, whenJoined, exchange)
        }
        guard isLate, !Task.isCancelled, case .failure(let error) = outcome.ending, error.code == .cancelled else {
            return outcome
        }
        return ExchangeOutcome(limit.error)
    }

    private func outcome(
        for key: SharedExchangeKey,
        _ plan: ExchangePlan,
        _ whenJoined: @Sendable () -> Void,
        _ exchange: @escaping Exchanges.Operation
    ) async -> ExchangeOutcome {
        var hear: (@Sendable (ExchangeEvent) -> Void)?
        if let run = plan.context.caller.run { hear = { run.receive($0) } }
        let outcome = await exchanges.outcome(
            for: key,
            waiter: plan.context.caller,
            at: invalidations.now,
            isCurrent: { !isOutdated($0, plan) },
            isNeeded: { !lookup.isSuperseded(plan) },
            hear: hear,
            whenJoined: whenJoined,
            operation: exchange)
        switch outcome {
        case .value(let outcome): return outcome
        case .dismissed: return ExchangeOutcome(.dismissed)
        case .canceled: return ExchangeOutcome(.cancelled)
        case nil: return ExchangeOutcome(.superseded(isCounted: false))
        }
    }

    /// Whether what a caller asks for was invalidated since an exchange began, or its identity forgotten.
    private func isOutdated(_ flight: Exchanges.Flight, _ plan: ExchangePlan) -> Bool {
        invalidations.includes(plan.context, since: flight.startedAt)
            || invalidations.hasLogout(of: plan.context.wire.identity, since: flight.startedAt)
    }
}

extension ExchangeEvent: FlightEvent {
    enum Kind { case began, progress }

    var kind: Kind { if case .began = self { .began } else { .progress } }
}
