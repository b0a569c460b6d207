/// The parameters of one exchange: its request, policies, and the functions that it reports to.
///
/// It is a class so that each step of an exchange stores only a reference.
final class ExchangeOptions: Sendable {
    let request: TransportRequest
    let policy: RetryPolicy
    /// Whether a stored response is served if the server cannot be reached.
    let isAnsweredOffline: Bool
    /// The origin, as scheme, host and port. Its budget pays for repetitions.
    let origin: String
    /// The renewal of the request's credentials; `nil` if they cannot be renewed.
    let renewal: Renewal?
    /// The scope that its attempts are counted in.
    let scope: ActivityScope
    let report: @Sendable (ExchangeEvent) -> Void
    /// The maximum number of bytes of a body.
    let bodyLimit: Int
    /// The identity on whose behalf it is sent; `nil` if it is unknown.
    let identity: String?
    /// The rules that tell which of its fields and parameters are secret.
    let rules: KeyRules
    /// Whether a redirect has led to another origin than the caller's.
    let isForeign: Bool
    /// Whether a response whose transfer breaks may be continued, as far as that depends on the request.
    let isContinuable: Bool
    /// Records the body; `nil` if it is not stored, and no later exchange could continue it.
    let recorder: (any BodyRecording)?
    /// The destination of a successful response's body, piece by piece; `nil` if the body is collected.
    let destination: BodyDestination?
    /// The source of the request's body; `nil` if the request has it, or there is none.
    let upload: Upload?
    /// The gate to pass before each attempt; `nil` for none.
    let gate: SendGate?
    /// Begins an attempt if the run of the connection allows it, and returns whether it does; `nil` if there is no run
    /// to call. Called before each attempt.
    let beginIfAllowed: (@Sendable () -> Bool)?

    init(
        request: TransportRequest,
        policy: RetryPolicy,
        isAnsweredOffline: Bool,
        origin: String,
        renewal: Renewal?,
        scope: ActivityScope,
        report: @escaping @Sendable (ExchangeEvent) -> Void,
        bodyLimit: Int,
        identity: String?,
        rules: KeyRules,
        isForeign: Bool,
        isContinuable: Bool,
        recorder: (any BodyRecording)?,
        destination: BodyDestination?,
        upload: Upload? = nil,
        gate: SendGate? = nil,
        beginIfAllowed: (@Sendable () -> Bool)? = nil
    ) {
        self.request = request
        self.policy = policy
        self.isAnsweredOffline = isAnsweredOffline
        self.origin = origin
        self.renewal = renewal
        self.scope = scope
        self.report = report
        self.bodyLimit = bodyLimit
        self.identity = identity
        self.rules = rules
        self.isForeign = isForeign
        self.isContinuable = isContinuable
        self.recorder = recorder
        self.destination = destination
        self.upload = upload
        self.gate = gate
        self.beginIfAllowed = beginIfAllowed
    }

    /// The renewal of a request's credentials.
    struct Renewal: Sendable {
        /// Whether the credentials may be renewed at this time.
        let isAllowed: @Sendable () -> Bool
        /// Returns the request with newer credentials.
        let request: @Sendable () async throws(ConnectionError) -> TransportRequest
    }
}
