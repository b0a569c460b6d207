/// The fourth stage: waits for the right to be on the wire, and takes into account what has changed meanwhile.
struct Admission: Sendable {
    let lanes: Lanes
    let activity: Activity
    let invalidations: InvalidationLog
    let time: RequestTime
    let builder: RequestBuilder

    /// Waits for a permit.
    ///
    /// - Parameters:
    ///   - waiter: the caller, or the shared exchange.
    ///   - isLimited: whether it waits no longer than the request's time; the callers of a shared exchange have limits of their
    ///     own.
    /// - Throws: `cancelled` with the waiting task, `timedOut` where the time is over.
    func permit(
        for plan: ExchangePlan,
        as waiter: any PriorityWaiter,
        isLimited: Bool
    ) async throws(ConnectionError) -> LanePermit {
        let place = plan.context.place
        if let permit = LanePermit.atOnce(for: place, of: lanes, as: waiter) { return permit }
        let rest = isLimited ? try time.rest(of: plan.context.resolved, since: plan.begin) : nil
        return try await LanePermit.awaited(
            for: place, of: lanes, as: waiter, in: plan.scope(in: activity),
            within: rest.map { LanePermit.Limit(time: $0, clock: time.clock) })
    }

    /// Returns what is sent now that there is a permit: secrets may have changed while it was waited for, and what was stored
    /// may have been erased or invalidated.
    func admitted(
        _ plan: ExchangePlan,
        _ request: TransportRequest,
        wasAwaited: Bool
    ) async throws(ConnectionError) -> AdmittedRequest {
        guard wasAwaited, plan.context.resolved.hasNamedSecrets else {
            return try await checked(AdmittedRequest(plan, request, at: invalidations.now))
        }
        return try await checked(try await rebuilt(plan))
    }

    /// Returns the request for a plan, built anew.
    // Not inlined: what few exchanges need would lie in the frames of all.
    @inline(never)
    func rebuilt(_ plan: ExchangePlan) async throws(ConnectionError) -> AdmittedRequest {
        let plan = builder.dated(plan)
        return AdmittedRequest(plan, try await builder.request(for: plan), at: invalidations.now)
    }

    private func checked(_ admitted: AdmittedRequest) async throws(ConnectionError) -> AdmittedRequest {
        let plan = admitted.plan
        guard plan.stored != nil, invalidations.now != plan.lookedUpAt || plan.context.resolvedAt != plan.lookedUpAt
        else {
            return admitted
        }
        // Erased meanwhile, it is not brought back by a confirmation.
        guard !invalidations.hasErased(plan.context, since: plan.lookedUpAt) else {
            return try await rebuilt(plan.withoutStored)
        }
        guard invalidations.includes(plan.context, since: plan.lookedUpAt) else { return admitted }
        return AdmittedRequest(plan.invalidated, admitted.request, at: admitted.sentAt)
    }
}

/// A plan, the request that is sent for it, and the instant at which it is.
struct AdmittedRequest: Sendable {
    let plan: ExchangePlan
    let request: TransportRequest
    let sentAt: InvalidationLog.Instant

    init(_ plan: ExchangePlan, _ request: TransportRequest, at instant: InvalidationLog.Instant) {
        self.plan = plan
        self.request = request
        sentAt = instant
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
