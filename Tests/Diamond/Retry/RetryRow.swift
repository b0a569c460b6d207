import HTTPTypes
import Testing

@testable import Diamond

/// A row of the table of decisions: a request, the result of an attempt, and the expected decision.
///
/// The draw is a half, so that every delay is half of its limit: 25 ms, 50 ms, 100 ms, or 500 ms, 1 s when throttled.
struct RetryRow: Sendable, CustomTestStringConvertible {
    enum Expected: Hashable, Sendable {
        /// Milliseconds until a retry that does not count.
        case free(Int64, RetryReason.Code = .unprocessed)
        /// Milliseconds until one that counts.
        case again(Int64, RetryReason.Code)
        case refresh
        case end(RetryReason.Code)

        init(_ decision: RetryDecision) {
            switch decision {
            case .retry(let delay, true, let reason): self = .free(delay.milliseconds, reason.code)
            case .retry(let delay, false, let reason): self = .again(delay.milliseconds, reason.code)
            case .refreshCredential: self = .refresh
            case .giveUp(let reason): self = .end(reason.code)
            }
        }
    }

    var situation: RetrySituation
    var expected: Expected
    var location: SourceLocation

    init(
        _ method: HTTPRequest.Method,
        _ outcome: RetrySituation.AttemptResult,
        _ expected: Expected,
        at location: SourceLocation = #_sourceLocation,
        where change: (inout RetrySituation) -> Void = { _ in }
    ) {
        situation = RetrySituation(request: RetryableRequest(method), result: outcome, now: Self.now, draw: 0.5)
        change(&situation)
        self.expected = expected
        self.location = location
    }

    /// 2026-01-01T00:00:00Z, in milliseconds.
    static let now: WallTime = 1_767_225_600_000

    var testDescription: String {
        let outcome =
            switch situation.result {
            case .answered(let status, _): "\(status.code)"
            case .failed(let error, _): "\(error.code)"
            }
        return "line \(location.line): \(situation.request.method.rawValue) \(outcome) \(expected)"
    }
}

extension RetrySituation.AttemptResult {
    /// An error before any byte of the request was sent.
    static func unsent(_ code: TransportError.Code) -> Self { .failed(TransportError(code, "unsent")) }

    /// An error after the request may have arrived, and before the head of a response.
    static func sent(_ code: TransportError.Code) -> Self {
        .failed(TransportError(code, "sent", serverMayHaveActed: true))
    }

    /// An error in the middle of the response.
    static func midway(_ code: TransportError.Code) -> Self {
        .failed(TransportError(code, "midway", serverMayHaveActed: true), afterHead: true)
    }

    /// A response, with `Retry-After` and `Date` where given.
    static func status(_ code: Int, after: String? = nil, date: String? = nil) -> Self {
        var headers = HTTPFields()
        headers[.retryAfter] = after
        headers[.date] = date
        return .answered(HTTPResponse.Status(code: code), headers)
    }
}
