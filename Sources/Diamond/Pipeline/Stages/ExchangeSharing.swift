/// The third stage: shares an exchange among the callers that send equal requests at the same time.
///
/// It is a class, as ``Admission`` is.
final class ExchangeSharing: Sendable {
    /// The time limit of a caller, if it differs from that of the exchange.
    struct OwnTime: Sendable {
        let limit: TimeLimit
        /// The error when the time is up.
        let error: ConnectionError
    }

    typealias Exchanges = SingleFlight<SharedExchangeKey, ExchangeOutcome, ExchangeEvent>

    typealias Streams = SingleFlight<SharedStreamKey, ExchangeOutcome, SharedBodyEvent>

    let exchanges = Exchanges()
    /// The exchanges of a gateway, whose bodies are streamed.
    let streams = Streams()
    let unshared: UnsharedKeys
    /// The sharing with other processes; `nil` without a storage that has leases.
    let fleet: FleetSharing?
    let lookup: CacheLookup
    let invalidations: InvalidationLog
    let time: RequestTime

    init(
        unshared: UnsharedKeys, fleet: FleetSharing?, lookup: CacheLookup, invalidations: InvalidationLog,
        time: RequestTime
    ) {
        self.unshared = unshared
        self.fleet = fleet
        self.lookup = lookup
        self.invalidations = invalidations
        self.time = time
    }

    /// Returns the key that an exchange is shared under; `nil` if the caller needs an exchange of its own.
    ///
    /// Requests share an exchange if the cache may answer them, and everything that is sent is equal. The following
    /// need exchanges of their own: `reload` and `noStore`, conditions that only the origin server evaluates, secrets
    /// without an identity, sinks, durable requests, requests that a shared exchange waits for, requests whose stored
    /// response was found without its body, and requests whose last response could not be shared.
    func key(of plan: ExchangePlan) -> SharedExchangeKey? {
        let caller = plan.context.caller
        guard let identity = plan.context.identity, plan.context.policy.mode != .reload, !plan.isSentByRefresh,
            caller.sink == nil, caller.gate == nil, !caller.isInFlight, plan.stored?.response.isWhole ?? true
        else { return nil }
        let resolved = plan.context.resolved
        // Only the first caller's tags are marked stale.
        guard resolved.invalidates.isEmpty || plan.context.wire.method.isSafe else { return nil }
        guard !unshared.contains(identity.key) else { return nil }
        return SharedExchangeKey(
            identity.key, of: plan, retry: resolved.retry ?? time.retry,
            isAnsweredOffline: lookup.isAnsweredOffline(plan))
    }

    /// Returns the key that an exchange is shared under whose body goes into a sink; `nil` if the caller needs an
    /// exchange of its own.
    ///
    /// The clients of a gateway share an exchange if a response that was stored for one of them might answer all. The
    /// following need exchanges of their own: requests with a condition, a range or `Cache-Control` of their own,
    /// methods other than GET, and requests whose last response could not be shared.
    func streamKey(of plan: ExchangePlan) -> SharedStreamKey? {
        let caller = plan.context.caller
        guard lookup.isGateway, lookup.cache != nil, plan.isShareable, let identity = plan.context.identity,
            plan.context.policy.mode != .reload, plan.context.resolved.control.value == nil, caller.gate == nil,
            caller.upload == nil, !caller.isInFlight, !unshared.contains(identity.key)
        else { return nil }
        return SharedStreamKey(identity.key, headers: plan.context.wire.headers)
    }

    /// Joins the running exchange, or starts one, and waits for its outcome.
    ///
    /// - Parameters:
    ///   - reader: receives the body.
    ///   - whenJoined: called when there is an exchange to wait for.
    ///   - exchange: sends the request.
    func outcome(
        for key: SharedStreamKey,
        plan: ExchangePlan,
        reader: SharedBodyReader,
        whenJoined: @Sendable () -> Void,
        exchange: @escaping Streams.Operation
    ) async -> ExchangeOutcome {
        defer { reader.noteEnd() }
        return await outcome(
            of: streams, for: key, plan: plan, within: nil, onEvent: reader.receive, whenJoined: whenJoined,
            exchange: exchange)
    }

    /// Joins the running exchange, or starts one, and waits for its outcome within the caller's time.
    ///
    /// - Parameters:
    ///   - time: the caller's own limit; `nil` if that of the exchange suffices.
    ///   - onEvent: called with each event of the exchange.
    ///   - whenJoined: called when there is an exchange to wait for.
    ///   - exchange: sends the request.
    /// - Returns: the outcome; ``ExchangeOutcome/Ending/superseded`` if another exchange has stored a response since
    ///   the plan was made.
    @inline(never)
    func outcome<Key, Event>(
        of exchanges: SingleFlight<Key, ExchangeOutcome, Event>,
        for key: Key,
        plan: ExchangePlan,
        within time: OwnTime?,
        onEvent: (@Sendable (Event) -> Void)?,
        whenJoined: () -> Void,
        exchange: @escaping SingleFlight<Key, ExchangeOutcome, Event>.Operation
    ) async -> ExchangeOutcome {
        let outcome = await exchanges.outcome(
            for: key,
            by: .init(of: plan.context.caller.waiter, within: time?.limit, onEvent: onEvent),
            at: invalidations.position,
            isCurrent: { !isOutdated(since: $0.startedAt, for: plan) },
            isNeeded: { !lookup.isSuperseded(plan) },
            onJoin: whenJoined,
            operation: exchange)
        switch outcome {
        case .value(let outcome): return outcome
        case .dismissed: return ExchangeOutcome(.dismissed)
        case .canceled: return ExchangeOutcome(.cancelled)
        case .late: return ExchangeOutcome(time?.error ?? .cancelled)
        case nil: return ExchangeOutcome(.superseded(isCounted: false))
        }
    }

    /// Whether the response to a plan was invalidated, or its identity has logged out, since an exchange began.
    private func isOutdated(since position: LogPosition, for plan: ExchangePlan) -> Bool {
        invalidations.includes(plan.context, since: position)
            || invalidations.hasLogout(of: plan.context.wire.identity, since: position)
    }
}

extension ExchangePlan {
    /// Whether the method and the conditions of a request allow to share its exchange.
    var isShareable: Bool { context.wire.method == .get && context.resolved.conditions.value == nil }
}

extension SingleFlight.Flight where Event == ExchangeEvent {
    /// Passes an event of the exchange on to its callers. A personal response is for the first of them alone.
    @Sendable func receive(_ event: ExchangeEvent) {
        if case .personal = event { dismissOthers() } else { report(event) }
    }
}

extension ExchangeEvent: FlightEvent {
    enum Kind { case began, progress }

    var kind: Kind { if case .began = self { .began } else { .progress } }
}
