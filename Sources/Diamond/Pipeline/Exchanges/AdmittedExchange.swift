import HTTPTypes

/// An exchange that may be on the wire: its plan, and all that its attempts and the storing of its response need.
final class AdmittedExchange: ExchangeOptions {
    let plan: ExchangePlan
    /// The position in the log of invalidations at which the request is sent.
    let position: LogPosition
    /// ``CacheEntry/knownChange`` of the response.
    let knownChange: Int64?
    /// The start of the request's time, by the exchange clock.
    let timeStart: EngineTime
    /// Records the body for the cache; `nil` if it is never stored.
    let bodyRecorder: BodyRecorder?
    let recorder: (any BodyRecording)?
    let bodyLimit: Int
    let policy: RetryPolicy
    let isAnsweredOffline: Bool
    /// The reason why the request is sent; `nil` without a cache.
    let forwardReason: CacheStatus.ForwardReason?
    private let receive: @Sendable (ExchangeEvent) -> Void
    private let admission: Admission
    private let store: ResponseStore

    /// - Parameters:
    ///   - position: the position at which the request is sent.
    ///   - timeStart: the start of the request's time.
    ///   - report: receives the events of the exchange.
    /// - Throws: `timedOut` if no time is left.
    init(
        _ plan: ExchangePlan,
        at position: SendPosition,
        since timeStart: EngineTime,
        admission: Admission,
        store: ResponseStore,
        environment: ExchangeEnvironment,
        report: @escaping @Sendable (ExchangeEvent) -> Void
    ) throws(ConnectionError) {
        let context = plan.context
        self.plan = plan
        self.position = position.position
        knownChange = position.knownChange
        self.timeStart = timeStart
        receive = report
        self.admission = admission
        self.store = store
        bodyRecorder = BodyRecorder(plan, in: store, environment: environment)
        recorder =
            bodyRecorder ?? context.caller.sink.flatMap { ($0 as? any RecordingSink)?.recorder(of: plan, in: store) }
        bodyLimit = context.bodyLimit(in: environment)
        policy = try admission.builder.time.policy(of: context.resolved, since: plan.timeStart)
        isAnsweredOffline = store.lookup.isAnsweredOffline(plan)
        forwardReason = store.lookup.forwardReason(for: context, stored: plan.stored?.response)
    }

    var context: RequestContext { plan.context }

    // MARK: For the attempts

    var request: TransportRequest { plan.request }
    var url: String { context.url }
    var origin: String { context.permitScope.origin }
    var activity: Activity { admission.activity }
    var scope: ActivityScope { context.scope(in: admission.activity, of: plan.parent) }
    var identity: String? { context.wire.identity }
    var rules: KeyRules { admission.builder.environment.rules.adding(context.wire) }
    var isForeign: Bool { context.traits.contains(.foreign) }
    var isContinuable: Bool { context.isContinuable && sink?.isContinuable ?? true }
    var sink: (any BodySink)? { context.caller.sink }
    var cacheStatus: CacheStatus? { forwardReason.map { CacheStatus(forwardReason: $0) } }
    var upload: Upload? { context.caller.upload }
    var gate: SendGate? { context.caller.gate }
    var canRenewCredentials: Bool { admission.builder.canRenewCredentials(of: plan) }

    func isForSink(_ status: HTTPResponse.Status) -> Bool {
        guard let sink else { return false }
        guard sink.takesEveryStatus else { return status.kind == .successful }
        return status == .notModified ? !plan.mayBeConfirmed : !store.lookup.isReplaced(status, for: plan)
    }

    /// Only the runs of connections with an unsafe method are checked. A pause ends other runs at once, or leaves the
    /// exchange to the callers that share it. The hop after a redirect is not given up, because the next run would
    /// begin with the first hop.
    func beginIfAllowed() -> Bool {
        guard let run = context.caller.run, !context.wire.method.isSafe, !context.traits.contains(.redirected) else {
            return true
        }
        return run.beginIfAllowed()
    }

    func renewedRequest() async throws(ConnectionError) -> TransportRequest {
        try await admission.builder.renewedRequest(of: plan)
    }

    func report(_ event: ExchangeEvent) { receive(event) }
}
