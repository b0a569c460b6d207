/// The reason why a request was sent again, or was not.
public struct RetryReason: Hashable, Sendable, CustomStringConvertible {
    /// The kind of a reason, with its name.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        // Reasons to send again:

        /// The request was certainly not processed: name lookup, connecting or TLS failed.
        package static let unprocessed = Code(description: "unprocessed")
        /// 421: the server of this connection is not responsible for the origin (RFC 9110 section 15.5.20).
        package static let misdirected = Code(description: "misdirected")
        /// The connection ended before the first byte of the response, as a long-idle connection does (RFC 9112 section
        /// 9.3.1).
        package static let connectionClosed = Code(description: "connectionClosed")
        /// The exchange was interrupted, and the request is safe to repeat.
        package static let interrupted = Code(description: "interrupted")
        /// A status of ``RetryPolicy/statuses``.
        package static let status = Code(description: "status")
        /// 429 (RFC 6585 section 4).
        package static let throttled = Code(description: "throttled")
        /// The server set the time with `Retry-After` (RFC 9110 section 10.2.3).
        package static let retryAfter = Code(description: "retryAfter")
        /// 409 to a request with an `Idempotency-Key`: the server is still processing the first one.
        package static let stillRunning = Code(description: "stillRunning")
        /// 401: the credential was renewed.
        package static let credential = Code(description: "credential")
        /// The rest of an interrupted transfer is not available, so the whole body is requested.
        package static let restarted = Code(description: "restarted")

        // Reasons for a parallel attempt:

        /// The attempt took long, and another was started in parallel. It need not have been faster.
        package static let hedged = Code(description: "hedged")

        // Reasons not to send again:

        /// The response would be the same.
        package static let final = Code(description: "final")
        /// The error would be the same, or the caller ended the request.
        package static let permanent = Code(description: "permanent")
        /// 401 with a new credential, or with one that cannot be renewed.
        package static let unauthorized = Code(description: "unauthorized")
        /// The request may have been processed, and a repetition could act twice.
        package static let notIdempotent = Code(description: "notIdempotent")
        /// The caller has received bytes of the response.
        package static let committed = Code(description: "committed")
        /// The request's body could be read only once, and was read.
        public static let bodyConsumed = Code(description: "bodyConsumed")
        /// The server cannot be reached, and a stored response is served at once (``CachePolicy/networkElseCache``).
        package static let answeredOffline = Code(description: "answeredOffline")
        /// ``RetryPolicy/attempts`` are used up.
        package static let attemptsUsed = Code(description: "attemptsUsed")
        /// Too many requests to this origin were retried recently.
        package static let budgetEmpty = Code(description: "budgetEmpty")
        /// Most requests to this origin failed recently.
        package static let circuitOpen = Code(description: "circuitOpen")
        /// `Retry-After` is longer than ``RetryPolicy/retryAfterLimit`` allows.
        package static let retryAfterTooLong = Code(description: "retryAfterTooLong")
        /// ``RetryPolicy/deadline`` or ``RetryPolicy/window`` ends before the next attempt could start.
        package static let outOfTime = Code(description: "outOfTime")
    }

    /// The kind of reason.
    public var code: Code
    /// The reason in one line, without secrets.
    public var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
