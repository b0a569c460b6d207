/// The fourth stage: waits for the right to be on the wire, and takes into account what has changed meanwhile.
struct Admission: Sendable {
    let lanes: Lanes
    let activity: Activity
    let invalidations: InvalidationLog
    let time: RequestTime
    let builder: RequestBuilder

    /// Waits for a permit, for a shared exchange. The callers have limits of their own.
    ///
    /// - Throws: `cancelled` with the waiting task.
    func permit(
        for plan: ExchangePlan,
        as flight: ExchangeSharing.Exchanges.Flight
    ) async throws(ConnectionError) -> LanePermit {
        let place = plan.context.place
        if let permit = LanePermit.atOnce(for: place, of: lanes, as: flight) { return permit }
        return try await LanePermit.awaited(for: place, of: lanes, as: flight, in: plan.scope(in: activity))
    }

    /// Waits for a permit, for a caller alone, no longer than it has time.
    ///
    /// - Throws: `cancelled` with the waiting task, `timedOut` where the time is over.
    func permit(for plan: ExchangePlan, as caller: Caller) async throws(ConnectionError) -> LanePermit {
        let place = plan.context.place
        if let permit = LanePermit.atOnce(for: place, of: lanes, as: caller) { return permit }
        let rest = try time.rest(of: plan.context.resolved, since: plan.begin)
        caller.run?.stepAside(true)
        defer { caller.run?.stepAside(false) }
        guard let rest else {
            return try await LanePermit.awaited(for: place, of: lanes, as: caller, in: plan.scope(in: activity))
        }
        return try await LanePermit.awaited(
            for: place, of: lanes, as: caller, in: { [activity] in plan.scope(in: activity) },
            within: LanePermit.Limit(time: rest, clock: time.clock))
    }

    /// Returns what is sent now that there is a permit: secrets may have changed while it was waited for, and what was stored
    /// may have been erased or invalidated.
    @inline(never)
    func admitted(_ request: ExchangeRequest, wasAwaited: Bool) async throws(ConnectionError) -> ExchangeRequest {
        guard wasAwaited, request.plan.hasSecrets else {
            return try await checked(request.sent(at: invalidations.now))
        }
        return try await checked(try await rebuilt(request.plan))
    }

    /// Returns the request for a plan, built anew.
    @inline(never)
    func rebuilt(_ plan: ExchangePlan) async throws(ConnectionError) -> ExchangeRequest {
        try await builder.filledRequest(for: plan).sent(at: invalidations.now)
    }

    private func checked(_ request: ExchangeRequest) async throws(ConnectionError) -> ExchangeRequest {
        let plan = request.plan
        let isUnchanged = invalidations.now == plan.lookedUpAt && plan.context.resolvedAt == plan.lookedUpAt
        guard plan.stored != nil, !isUnchanged else { return request }
        // Erased meanwhile, it is not brought back by a confirmation.
        guard !invalidations.hasErased(plan.context, since: plan.lookedUpAt) else {
            return try await rebuilt(plan.withoutStored)
        }
        guard invalidations.includes(plan.context, since: plan.lookedUpAt) else { return request }
        return request.with(plan.invalidated)
    }
}

extension InvalidationLog {
    /// Whether what a request asks for was invalidated or erased since an instant.
    func includes(_ context: RequestContext, since instant: Instant) -> Bool {
        guard now != instant, let subject = context.subject else { return false }
        return includes(subject, since: instant)
    }

    /// Whether what a request asks for was erased since an instant, or its identity forgotten since the request was resolved:
    /// an answer is not stored any more.
    func hasErased(_ context: RequestContext, since instant: Instant) -> Bool {
        guard now != min(instant, context.resolvedAt), let subject = context.subject else { return false }
        return hasLogout(of: context.wire.identity, since: context.resolvedAt)
            || includes(subject, since: instant, onlyErasures: true)
    }
}
