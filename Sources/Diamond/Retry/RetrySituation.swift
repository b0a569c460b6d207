import HTTPTypes

/// The facts that a ``RetryDecision`` depends on, at the end of an attempt.
struct RetrySituation: Sendable {
    /// The result of the attempt.
    enum AttemptResult: Sendable {
        case answered(HTTPResponse.Status, HTTPFields)
        /// - Parameter afterHead: whether the head of a response was received.
        case failed(TransportError, afterHead: Bool = false)
    }

    var policy = RetryPolicy.default
    var request: RetryableRequest
    /// The attempts before this one.
    var history = RetryHistory()
    var result: AttemptResult
    /// Whether a stored response is served if the server cannot be reached.
    var isAnsweredOffline = false
    /// Whether bytes of the response have reached the caller, and cannot be taken back.
    var isCommitted = false
    /// Whether the request's body could be read only once, and was.
    var isBodyConsumed = false
    /// The time since the first attempt began.
    var elapsed = Duration.zero
    /// The current time; only for responses without a `Date`.
    var now: WallTime
    /// Whether the origin's budget pays for a repetition, by ``RetryBudget/canWithdraw(at:)``.
    var hasBudget = true
    /// Whether the origin's ``CircuitBreaker`` lets nothing through.
    var isCircuitOpen = false
    /// A random number from 0 up to 1.
    var draw: Double

    init(request: RetryableRequest, result: AttemptResult, now: WallTime, draw: Double) {
        self.request = request
        self.result = result
        self.now = now
        self.draw = draw
    }
}

/// The properties of a request that decide whether it is sent again. Its body is not among them: each kind can be
/// created as often as needed, except a source that can be read only once (``RetrySituation/isBodyConsumed``).
struct RetryableRequest: Hashable, Sendable {
    var method: HTTPRequest.Method
    /// Whether the request has an `Idempotency-Key`: the server acts once for one key
    /// (draft-ietf-httpapi-idempotency-key-header).
    var hasIdempotencyKey = false
    /// Whether the credential can be refreshed, and ``RefreshLimit`` allows it.
    var canRefreshCredential = false

    init(_ method: HTTPRequest.Method, headers: HTTPFields = [:], canRefreshCredential: Bool = false) {
        self.method = method
        hasIdempotencyKey = headers.contains { $0.name.isIdempotencyKey && !$0.value.isEmpty }
        self.canRefreshCredential = canRefreshCredential
    }

    /// Whether the request may be sent a second time without harm.
    func isRepeatable(by policy: RetryPolicy) -> Bool {
        method.isIdempotent || hasIdempotencyKey || policy.retriesUnsafeMethods
    }
}
