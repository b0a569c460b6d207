import HTTPTypes

/// All that the decision whether to send again depends on, at the end of an attempt.
struct RetrySituation: Sendable {
    /// What came of the attempt.
    enum Outcome: Sendable {
        case answered(HTTPResponse.Status, HTTPFields)
        /// - Parameter afterHead: whether the head of an answer was there.
        case failed(TransportError, afterHead: Bool = false)
    }

    var policy = RetryPolicy.default
    var request: RetryableRequest
    /// The attempts before this one.
    var history = RetryHistory()
    var outcome: Outcome
    /// Whether bytes of the answer have reached the caller, who cannot give them back.
    var isCommitted = false
    /// Whether the request's body could be read only once, and was.
    var isBodyConsumed = false
    /// Since the first attempt began.
    var elapsed = Duration.zero
    /// Milliseconds since 1970; only for answers without a `Date`.
    var now: Int64
    /// What ``RetryBudget/canWithdraw(at:)`` says of the origin.
    var hasBudget = true
    /// Whether the origin's ``CircuitBreaker`` lets nothing through.
    var isCircuitOpen = false
    /// From 0 up to 1.
    var draw: Double
}

/// What of a request counts for sending it again. Its body does not: each kind can be made as often as is needed, but
/// for a source that can be read only once.
struct RetryableRequest: Hashable, Sendable {
    var method: HTTPRequest.Method
    /// draft-ietf-httpapi-idempotency-key-header: the server acts once for one key.
    var hasIdempotencyKey = false
    /// Whether there is somebody who can make the credential anew, and ``RefreshLimit`` allows it.
    var canRefreshCredential = false

    init(_ method: HTTPRequest.Method, headers: HTTPFields = [:], canRefreshCredential: Bool = false) {
        self.method = method
        hasIdempotencyKey = headers.contains { $0.name.isIdempotencyKey && !$0.value.isEmpty }
        self.canRefreshCredential = canRefreshCredential
    }

    /// Whether a second arrival does no harm.
    func isRepeatable(by policy: RetryPolicy) -> Bool {
        method.isIdempotent || hasIdempotencyKey || policy.retriesUnsafeMethods
    }
}
