public import Foundation
public import HTTPTypes

/// One exchange of a request, and its outcome.
public struct Attempt: Hashable, Sendable {
    /// The outcome of an exchange.
    public enum Outcome: Hashable, Sendable {
        /// A response came, with any status.
        case answered(HTTPResponse.Status)
        /// The code and the message of the error, without secrets.
        case failed(code: String, message: String)
    }

    /// The number of the exchange, from 1. An exchange that does not count for ``RetryPolicy/attempts`` has a number,
    /// too: one that surely was not processed, one in parallel with another, or one after a renewed credential. A
    /// redirect that is followed begins at 1 again.
    public var number: Int
    /// The start of the exchange, by the wall clock.
    public var startedAt: Date
    /// The outcome of the exchange.
    public var outcome: Outcome
    /// The delay before the next attempt; `nil` for the last.
    public var delay: Duration?
    /// The reason why another attempt followed, or why none did; `nil` if the answer is the one asked for.
    public var reason: RetryReason?
    /// Whether the request may have been processed although no answer says so. It is not written, so `==` does not
    /// compare it.
    var mayHaveArrived: Bool

    /// Creates an attempt, for previews and tests; an engine makes its own.
    public init(number: Int, startedAt: Date, outcome: Outcome, delay: Duration? = nil, reason: RetryReason? = nil) {
        self.number = number
        self.startedAt = startedAt
        self.outcome = outcome
        self.delay = delay
        self.reason = reason
        mayHaveArrived = outcome.mayHaveArrived
    }

    public static func == (left: Attempt, right: Attempt) -> Bool {
        (left.number, left.startedAt, left.outcome, left.delay, left.reason)
            == (right.number, right.startedAt, right.outcome, right.delay, right.reason)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(number)
        hasher.combine(startedAt)
        hasher.combine(outcome)
    }
}

extension Attempt {
    /// Whether a request may have been processed although it was answered with this status. A status of 500 or above
    /// says nothing about it: a server that fails, or a gateway before it, may have acted. A 503 that asks for another
    /// attempt is an exception. A 409 counts, because the server may still be at work on the same request.
    ///
    /// - Parameter isAsking: whether the answer says when to try again (RFC 9110 section 10.2.3).
    static func mayHaveArrived(answered status: Int, isAsking: Bool) -> Bool {
        (status >= 500 && !(status == 503 && isAsking)) || status == 409
    }
}

extension Attempt.Outcome {
    /// Whether the request may have been processed, as far as the outcome itself says.
    fileprivate var mayHaveArrived: Bool {
        switch self {
        case .answered(let status): Attempt.mayHaveArrived(answered: status.code, isAsking: false)
        case .failed: true
        }
    }
}

extension Attempt: CustomStringConvertible {
    /// One line, such as `attempt 1: status 503; again after 0.04 s: …`.
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
