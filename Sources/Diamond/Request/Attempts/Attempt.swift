public import Foundation
public import HTTPTypes

/// One exchange of those that a request took, and what came of it.
public struct Attempt: Hashable, Sendable {
    /// What came of an exchange.
    public enum Outcome: Hashable, Sendable {
        /// A response came, of whatever status.
        case answered(HTTPResponse.Status)
        /// The code and the message of the error, without secrets.
        case failed(code: String, message: String)
    }

    /// From 1 on. Every exchange has a number, also one that does not count for ``RetryPolicy/attempts``: one that surely
    /// was not processed, one that went beside another, one behind a credential that was made anew. A redirect that is
    /// followed begins at 1 again.
    public var number: Int
    /// When it began, by the wall clock.
    public var startedAt: Date
    /// What came of it.
    public var outcome: Outcome
    /// Before the next; `nil` of the last.
    public var delay: Duration?
    /// Why another followed, or none did; `nil` where the answer is what was asked for.
    public var reason: RetryReason?
    /// Whether it may have been processed without anybody knowing. Not written, and so nothing by which two differ.
    var mayHaveArrived: Bool

    /// For previews and tests; an engine makes its own.
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
    /// Neither of a server that fails, nor of a gateway before it, is it known whether it has acted, but for one that asks for
    /// another attempt itself; nor of one that is still at work on the same.
    ///
    /// - Parameter isAsking: whether it says when (RFC 9110 section 10.2.3).
    static func mayHaveArrived(answered status: Int, isAsking: Bool) -> Bool {
        (status >= 500 && !(status == 503 && isAsking)) || status == 409
    }
}

extension Attempt.Outcome {
    /// As far as it says itself.
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
