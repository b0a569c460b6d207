import HTTPTypes

/// An exchange that may be on the wire: its plan, and all that its attempts and the storing of its response need.
///
/// It is a class, so that each step of the exchange stores only a reference.
final class Exchange: Sendable {
    let plan: ExchangePlan
    /// The position in the log of invalidations at which the request is sent.
    let position: LogPosition
    /// ``CacheEntry/knownChange`` of the response.
    let knownChange: ChangePosition?
    /// The start of the request's time, by the exchange clock.
    let timeStart: EngineTime
    let environment: ExchangeEnvironment
    /// Records the body for the cache; `nil` if it is never stored.
    let bodyRecorder: BodyRecorder?
    /// Records the body; `nil` if it is not stored, and no later exchange could continue it.
    let recorder: (any BodyRecording)?
    /// The maximum number of bytes of a body.
    let bodyLimit: Int
    /// The retry policy, with the time that is left.
    let policy: RetryPolicy
    /// Whether a stored response is served if the server cannot be reached.
    let isAnsweredOffline: Bool
    /// The reason why the request is sent; `nil` without a cache.
    let forwardReason: CacheStatus.ForwardReason?
    /// Receives the events of the exchange.
    let report: @Sendable (ExchangeEvent) -> Void
    let builder: RequestBuilder
    private let store: ResponseStore

    /// - Parameters:
    ///   - position: the position at which the request is sent.
    ///   - timeStart: the start of the request's time.
    ///   - report: receives the events of the exchange.
    /// - Throws: `timedOut` if no time is left.
    @inline(never)
    init(
        _ plan: ExchangePlan,
        at position: SendPosition,
        since timeStart: EngineTime,
        builder: RequestBuilder,
        store: ResponseStore,
        environment: ExchangeEnvironment,
        report: @escaping @Sendable (ExchangeEvent) -> Void
    ) throws(ConnectionError) {
        let context = plan.context
        self.plan = plan
        self.position = position.position
        knownChange = position.knownChange
        self.timeStart = timeStart
        self.environment = environment
        self.report = report
        self.builder = builder
        self.store = store
        bodyRecorder = BodyRecorder(plan, in: store, environment: environment)
        recorder =
            bodyRecorder ?? context.caller.sink.flatMap { ($0 as? any RecordingSink)?.recorder(of: plan, in: store) }
        bodyLimit = context.bodyLimit(in: environment)
        policy = try builder.time.policy(of: context.resolved, since: plan.timeStart)
        isAnsweredOffline = store.lookup.isAnsweredOffline(plan)
        forwardReason = store.lookup.forwardReason(for: context, stored: plan.stored?.response)
    }

    var context: RequestContext { plan.context }
    /// The origin, as scheme, host and port. Its budget pays for repetitions.
    var origin: String { context.permitScope.origin }
    var activity: Activity { store.lookup.activity }
    /// The scope that its attempts are counted in.
    var scope: ActivityScope { context.scope(in: activity, of: plan.parent) }
    /// The identity on whose behalf it is sent; `nil` if it is unknown.
    var identity: String? { context.wire.identity }
    /// The rules that tell which of its fields and parameters are secret.
    var rules: KeyRules { builder.environment.rules.adding(context.wire) }
    /// The sink of a successful response's body, piece by piece; `nil` if the body is collected.
    var sink: (any BodySink)? { context.caller.sink }
    /// The gate to pass before each attempt; `nil` for none.
    var gate: SendGate? { context.caller.gate }

    /// Whether a response whose transfer breaks may be continued, as far as that depends on the request.
    var isContinuable: Bool { context.isContinuable && sink?.isContinuable ?? true }

    /// Whether the body of a response goes into the sink. Other bodies are collected, because the request may be sent
    /// again, or a stored response returned instead.
    func isForSink(_ status: HTTPResponse.Status) -> Bool {
        guard let sink else { return false }
        guard sink.takesEveryStatus else { return status.kind == .successful }
        return status == .notModified ? !plan.mayBeConfirmed : !store.lookup.isReplaced(status, for: plan)
    }

    /// Begins an attempt if the run of the connection allows it, and returns whether it does. Called before each
    /// attempt.
    ///
    /// Only the runs of connections with an unsafe method are checked. A pause ends other runs at once, or leaves the
    /// exchange to the callers that share it. The hop after a redirect is not given up, because the next run would
    /// begin with the first hop.
    func beginIfAllowed() -> Bool {
        guard let run = context.caller.run, !context.wire.method.isSafe, !context.traits.contains(.redirected) else {
            return true
        }
        return run.beginIfAllowed()
    }
}
