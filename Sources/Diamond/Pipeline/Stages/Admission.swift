/// The fourth stage: waits for the permit, and updates the request for changes during the wait.
///
/// It is a class because a caller that waits would have a copy of a large value in its async frame.
final class Admission: Sendable {
    let lanes: Lanes
    let activity: Activity
    let invalidations: InvalidationLog
    let builder: RequestBuilder

    init(lanes: Lanes, activity: Activity, invalidations: InvalidationLog, builder: RequestBuilder) {
        self.lanes = lanes
        self.activity = activity
        self.invalidations = invalidations
        self.builder = builder
    }

    /// Waits for the permit of a shared exchange. Each caller limits its own wait.
    ///
    /// - Throws: `cancelled` with the waiting task.
    func permit(
        for plan: ExchangePlan,
        as flight: any PriorityWaiter
    ) async throws(ConnectionError) -> LanePermit {
        let scope = plan.context.permitScope
        if let permit = LanePermit.acquireIfAvailable(for: scope, of: lanes, as: flight) { return permit }
        return try await LanePermit.acquire(
            for: scope, of: lanes, as: flight, countedIn: { [activity] in plan.scope(in: activity) })
    }

    /// Waits for the permit of a single caller's exchange, within the time of the request.
    ///
    /// - Throws: `cancelled` with the waiting task, `timedOut` if the time is up.
    func permit(for plan: ExchangePlan, as caller: Caller) async throws(ConnectionError) -> LanePermit {
        let scope = plan.context.permitScope
        if let permit = LanePermit.acquireIfAvailable(for: scope, of: lanes, as: caller) { return permit }
        let limit = try builder.time.rest(of: plan.context.resolved, since: plan.timeStart).map(
            builder.time.clock.limit)
        caller.run?.setWaiting(true)
        defer { caller.run?.setWaiting(false) }
        return try await LanePermit.acquire(
            for: scope, of: lanes, as: caller, countedIn: { [activity] in plan.scope(in: activity) }, within: limit)
    }

    /// Returns the request to send after the permit was acquired: during the wait, secrets may have changed, and the
    /// stored response may have been erased or invalidated.
    func admitted(_ request: ExchangeRequest, wasAwaited: Bool) async throws(ConnectionError) -> ExchangeRequest {
        guard wasAwaited, request.plan.hasSecrets else {
            return try await checked(request.sent(by: invalidations))
        }
        return try await checked(try await rebuilt(request.plan))
    }

    /// Builds the request for a plan again.
    func rebuilt(_ plan: ExchangePlan) async throws(ConnectionError) -> ExchangeRequest {
        try await builder.filledRequest(for: plan).sent(by: invalidations)
    }

    private func checked(_ request: ExchangeRequest) async throws(ConnectionError) -> ExchangeRequest {
        let plan = request.plan
        let isUnchanged = invalidations.now == plan.lookedUpAt && plan.context.resolvedAt == plan.lookedUpAt
        guard plan.mayBeConfirmed, !isUnchanged else { return request }
        // A 304 must not restore a response that was erased meanwhile.
        guard !invalidations.hasErased(plan.context, since: plan.lookedUpAt) else {
            return try await rebuilt(plan.withoutStored)
        }
        guard invalidations.includes(plan.context, since: plan.lookedUpAt) else { return request }
        return request.with(plan.invalidated)
    }
}

extension InvalidationLog {
    /// Whether the response to a request was invalidated or erased since an instant.
    ///
    /// - Parameter groups: the names of the response's groups, if it is known.
    func includes(_ context: RequestContext, groups: Tags = [], since instant: Instant) -> Bool {
        guard now != instant, var subject = context.subject else { return false }
        if !groups.isEmpty { subject.tags.formUnion(groups) }
        return includes(subject, since: instant)
    }

    /// Whether the response to a request was erased since an instant, or its identity has logged out since the request
    /// was resolved. A new response must not be stored then.
    func hasErased(_ context: RequestContext, since instant: Instant) -> Bool {
        guard now != min(instant, context.resolvedAt), let subject = context.subject else { return false }
        return hasLogout(of: context.wire.identity, since: context.resolvedAt)
            || includes(subject, since: instant, onlyErasures: true)
    }

    /// Whether the received part of a response may be kept: since an instant its identity has not logged out, and it
    /// was not erased.
    func keeps(_ context: RequestContext, since instant: Instant) -> Bool {
        !hasLogout(of: context.wire.identity, since: instant) && !hasErased(context, since: instant)
    }
}
