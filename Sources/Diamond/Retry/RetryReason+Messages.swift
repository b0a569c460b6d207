import HTTPTypes

extension RetryReason {
    /// Whether the request is sent again without a delay, on another connection.
    var isAtOnce: Bool { code == .misdirected || code == .connectionClosed }

    static let misdirected = RetryReason(.misdirected, "421: the server does not serve this origin on this connection")
    static let connectionClosed = RetryReason(.connectionClosed, "the connection ended before a byte of the answer")
    static let throttled = RetryReason(.throttled, "429: the server asks for fewer requests")
    static let stillRunning = RetryReason(.stillRunning, "409: the first request with this key is being processed")
    static let credential = RetryReason(.credential, "401: the credential is refreshed")
    static let restarted = RetryReason(
        .restarted, "the partial response cannot be continued: the whole is requested")
    static let hedged = RetryReason(.hedged, "another attempt in parallel counts")
    static let committed = RetryReason(.committed, "bytes of the response have reached the caller")
    static let bodyConsumed = RetryReason(
        .bodyConsumed, "the body could be read only once: give a source that can be read again")
    static let circuitOpen = RetryReason(.circuitOpen, "most requests to this origin failed lately: try again later")
    static let unauthorized = RetryReason(.unauthorized, "401, and there is no newer credential: sign in again")
    static let budgetEmpty = RetryReason(
        .budgetEmpty, "too many requests to this origin were sent again lately: try again later")

    static func unprocessed(_ error: TransportError) -> RetryReason {
        RetryReason(.unprocessed, "nothing was sent (\(error.code))")
    }

    static func interrupted(_ error: TransportError) -> RetryReason {
        RetryReason(.interrupted, "the exchange broke (\(error.code)), and a repetition does no harm")
    }

    static func permanent(_ error: TransportError) -> RetryReason {
        RetryReason(.permanent, "a repetition would not help (\(error.code))")
    }

    static func answeredOffline(_ error: TransportError) -> RetryReason {
        RetryReason(.answeredOffline, "the server cannot be reached (\(error.code)), and a stored response is served")
    }

    static func status(_ status: Int) -> RetryReason { RetryReason(.status, "status \(status) may be temporary") }

    static func final(_ status: Int) -> RetryReason {
        RetryReason(.final, "a repetition does not change status \(status)")
    }

    static func retryAfter(_ time: Duration) -> RetryReason {
        RetryReason(.retryAfter, "the server asks for it after \(time.inSeconds)")
    }

    static func retryAfterTooLong(_ time: Duration, limit: Duration) -> RetryReason {
        let message =
            "the server asks to wait \(time.inSeconds), more than the limit of \(limit.inSeconds): try again then"
        return RetryReason(.retryAfterTooLong, message)
    }

    static func notIdempotent(_ method: HTTPRequest.Method) -> RetryReason {
        RetryReason(
            .notIdempotent,
            "a second \(method.rawValue.printable) could act twice: give it an Idempotency-Key to repeat it")
    }

    /// - Parameters:
    ///   - made: attempts in all, as many as ``Response/attempts`` lists.
    ///   - counted: those of them that count for ``RetryPolicy/attempts``.
    static func attemptsUsed(made: Int, counted: Int) -> RetryReason {
        guard made > 1 else { return RetryReason(.attemptsUsed, "the policy allows one attempt") }
        let free = made - counted
        let others = free > 0 ? ", \(free) of which \(free == 1 ? "does" : "do") not count" : ""
        return RetryReason(.attemptsUsed, "\(made) attempts were made\(others)")
    }

    static func outOfTime(_ end: Duration) -> RetryReason {
        RetryReason(.outOfTime, "another attempt would begin later than \(end.inSeconds) after the first")
    }
}
