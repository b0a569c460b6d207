public import Foundation
public import HTTPTypes

/// One attempt to send a request, with its outcome.
public struct Attempt: Hashable, Sendable {
    /// The outcome of an attempt.
    public enum Outcome: Hashable, Sendable {
        /// A response with any status.
        case answered(HTTPResponse.Status)
        /// The code and the message of the error, without secrets.
        case failed(code: String, message: String)
    }

    /// The number of the attempt, from 1. Attempts that do not count for ``RetryPolicy/attempts`` have numbers, too:
    /// one that was certainly not processed, a parallel (hedged) one, one after a renewed credential. The count starts
    /// again at 1 after a redirect.
    public var number: Int
    /// The start of the attempt, by the wall clock.
    public var startedAt: Date
    /// The outcome of the attempt.
    public var outcome: Outcome
    /// The delay before the next attempt; `nil` for the last.
    public var delay: Duration?
    /// The reason why another attempt followed, or why none did; `nil` if the response was accepted.
    public var reason: RetryReason?
    /// Whether the server may have processed the request although no response confirms it. It is not encoded, so `==`
    /// ignores it.
    @NotCompared var serverMayHaveActed: Bool

    /// Creates an attempt, for previews and tests; an engine makes its own.
    package init(number: Int, startedAt: Date, outcome: Outcome, delay: Duration? = nil, reason: RetryReason? = nil) {
        self.number = number
        self.startedAt = startedAt
        self.outcome = outcome
        self.delay = delay
        self.reason = reason
        serverMayHaveActed = outcome.serverMayHaveActed
    }
}

extension Attempt {
    /// Whether the server may have processed a request despite this response status. After a status of 500 or above,
    /// the server, or one behind a gateway, may have acted. A 503 with `Retry-After` is an exception. A 409 counts,
    /// because the server may still be processing the same request.
    ///
    /// - Parameter hasRetryAfter: whether the response has a `Retry-After` field (RFC 9110 section 10.2.3).
    static func serverMayHaveActed(answered status: Int, hasRetryAfter: Bool) -> Bool {
        (status >= 500 && !(status == 503 && hasRetryAfter)) || status == 409
    }
}

extension Attempt.Outcome {
    /// Whether the server may have processed the request, judging by the outcome alone.
    fileprivate var serverMayHaveActed: Bool {
        switch self {
        case .answered(let status): Attempt.serverMayHaveActed(answered: status.code, hasRetryAfter: false)
        case .failed: true
        }
    }
}

extension Attempt: CustomStringConvertible {
    /// A line such as `attempt 1: status 503; again after 0.04 s: …`.
    public var description: String {
        let next = delay.map { "; again after \(Double($0.milliseconds) / 1000) s" } ?? ""
        let why = reason.map { ": \($0.message)" } ?? ""
        return "attempt \(number): \(outcome)\(next)\(why)"
    }
}

extension Attempt.Outcome: CustomStringConvertible {
    public var description: String {
        switch self {
        case .answered(let status): "status \(status.code)"
        case .failed(let code, let message): "\(code), \(message.printable)"
        }
    }
}
