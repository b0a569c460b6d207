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
            for: scope, of: lanes, as: flight,
            countedIn: { [activity] in plan.context.scope(in: activity, of: plan.parent) })
    }

    /// Waits for the permit of a single caller's exchange, within the time of the request.
    ///
    /// - Throws: `cancelled` with the waiting task, `timedOut` if the time is up.
    func permit(for plan: ExchangePlan, as caller: Caller) async throws(ConnectionError) -> LanePermit {
        let scope = plan.context.permitScope
        let waiter = caller.waiter
        if let permit = LanePermit.acquireIfAvailable(for: scope, of: lanes, as: waiter) { return permit }
        let limit = try builder.time.rest(of: plan.context.resolved, since: plan.timeStart).map(
            builder.time.clock.limit)
        caller.run?.setWaiting(true)
        defer { caller.run?.setWaiting(false) }
        return try await LanePermit.acquire(
            for: scope, of: lanes, as: waiter,
            countedIn: { [activity] in plan.context.scope(in: activity, of: plan.parent) }, within: limit)
    }

    /// Returns the plan to send after the permit was acquired: during the wait, secrets may have changed, and the stored
    /// response may have been erased or invalidated.
    ///
    /// - Parameter position: the position at which the plan is sent. It precedes every check of the stored response.
    func admitted(
        _ plan: ExchangePlan,
        wasAwaited: Bool,
        at position: inout SendPosition
    ) async throws(ConnectionError) -> ExchangePlan {
        var plan = plan
        if wasAwaited, plan.hasSecrets {
            plan = try await builder.rebuilt(plan, plan.revalidation, since: plan.timeStart)
            position = SendPosition(in: invalidations)
        }
        let isUnchanged = invalidations.position == plan.lookedUpAt && plan.context.resolvedAt == plan.lookedUpAt
        guard plan.mayBeConfirmed, !isUnchanged else { return plan }
        // A 304 must not restore a response that was erased meanwhile.
        guard !invalidations.hasErased(plan.context, since: plan.lookedUpAt) else {
            let rebuilt = try await builder.rebuilt(plan, Revalidation(), since: plan.timeStart)
            position = SendPosition(in: invalidations)
            return rebuilt
        }
        return invalidations.includes(plan.context, since: plan.lookedUpAt) ? plan.invalidated : plan
    }
}

/// The position in the log of invalidations at which a request is sent.
struct SendPosition: Sendable {
    let position: LogPosition
    /// ``CacheEntry/knownChange`` of the response.
    let knownChange: ChangePosition?

    init(in log: InvalidationLog) {
        position = log.position
        knownChange = log.knownChange
    }
}

extension InvalidationLog {
    /// Whether the response to a request was invalidated or erased since a position.
    ///
    /// - Parameter groups: the names of the response's groups, if it is known.
    func includes(_ context: RequestContext, groups: Tags = [], since position: LogPosition) -> Bool {
        guard self.position != position, var subject = context.subject else { return false }
        if !groups.isEmpty { subject.tags.formUnion(groups) }
        return includes(subject, since: position)
    }

    /// Whether the response to a request was erased since a position, or its identity has logged out since the request
    /// was resolved. A new response must not be stored then.
    func hasErased(_ context: RequestContext, since position: LogPosition) -> Bool {
        guard self.position != min(position, context.resolvedAt), let subject = context.subject else { return false }
        return hasLogout(of: context.wire.identity, since: context.resolvedAt)
            || includes(subject, since: position, onlyErasures: true)
    }

    /// Whether the received part of a response may be kept: since a position its identity has not logged out, and it
    /// was not erased.
    func keeps(_ context: RequestContext, since position: LogPosition) -> Bool {
        !hasLogout(of: context.wire.identity, since: position) && !hasErased(context, since: position)
    }
}
