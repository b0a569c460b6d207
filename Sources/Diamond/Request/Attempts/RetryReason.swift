/// The reason why a request was sent again, or was not.
public struct RetryReason: Hashable, Sendable, CustomStringConvertible {
    /// The kinds of reasons; new ones may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        // Sent again:

        /// The request surely was not processed: no name, no connection, no TLS.
        public static let unprocessed = Code(description: "unprocessed")
        /// 421: the server of this connection does not answer for the origin (RFC 9110 section 15.5.20).
        public static let misdirected = Code(description: "misdirected")
        /// The connection ended before a byte of the answer, as one that was idle for long does (RFC 9112 section
        /// 9.3.1).
        public static let connectionClosed = Code(description: "connectionClosed")
        /// The exchange broke, and a repetition does no harm.
        public static let interrupted = Code(description: "interrupted")
        /// A status of ``RetryPolicy/statuses``.
        public static let status = Code(description: "status")
        /// 429 (RFC 6585 section 4).
        public static let throttled = Code(description: "throttled")
        /// The server named the time itself (RFC 9110 section 10.2.3).
        public static let retryAfter = Code(description: "retryAfter")
        /// 409 to a request with an `Idempotency-Key`: the first one is still at work.
        public static let stillRunning = Code(description: "stillRunning")
        /// 401: the credential is renewed.
        public static let credential = Code(description: "credential")
        /// The rest of a broken transfer could not be had, so the whole is requested.
        public static let restarted = Code(description: "restarted")

        // In parallel with another:

        /// The attempt took long, and another was begun in parallel, whether that was faster or not.
        public static let hedged = Code(description: "hedged")

        // Not sent again:

        /// The answer would be the same.
        public static let final = Code(description: "final")
        /// The error would be the same, or the caller wanted the end.
        public static let permanent = Code(description: "permanent")
        /// 401, and the credential is new, or cannot be renewed.
        public static let unauthorized = Code(description: "unauthorized")
        /// It may have been processed, and could act twice.
        public static let notIdempotent = Code(description: "notIdempotent")
        /// Bytes of the answer are with the caller.
        public static let committed = Code(description: "committed")
        /// The body of the request could be read only once, and was.
        public static let bodyConsumed = Code(description: "bodyConsumed")
        /// ``RetryPolicy/attempts`` are used up.
        public static let attemptsUsed = Code(description: "attemptsUsed")
        /// Too many requests to this origin were sent again lately.
        public static let budgetEmpty = Code(description: "budgetEmpty")
        /// Most requests to this origin failed lately.
        public static let circuitOpen = Code(description: "circuitOpen")
        /// The server asks for a longer wait than a caller is made to wait.
        public static let retryAfterTooLong = Code(description: "retryAfterTooLong")
        /// ``RetryPolicy/deadline`` or ``RetryPolicy/window`` ends before the next attempt would begin.
        public static let outOfTime = Code(description: "outOfTime")
    }

    /// The kind of reason.
    public var code: Code
    /// The reason in one line, without secrets.
    public var message: String

    /// Creates a reason, for previews and tests; an engine gives its own.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
