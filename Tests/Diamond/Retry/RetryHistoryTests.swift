import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The history of a request's attempts") struct RetryHistoryTests {
    static let start = Date(timeIntervalSince1970: 1_767_225_600)
    static let unavailable = Attempt.Outcome.answered(.serviceUnavailable)
    static let refused = Attempt.Outcome.failed(code: "cannotConnect", message: "refused")

    static func retry(_ milliseconds: Int64, isFree: Bool = false, _ reason: RetryReason) -> RetryDecision {
        .retry(after: .milliseconds(milliseconds), isFree: isFree, reason: reason)
    }

    @Test func `has the attempts in order and numbered`() {
        var history = RetryHistory()
        let unprocessed = RetryReason.unprocessed(TransportError(.cannotConnect, "refused"))
        history.record(Self.retry(40, isFree: true, unprocessed), after: Self.refused, startedAt: Self.start)
        history.record(Self.retry(80, .status(503)), after: Self.unavailable, startedAt: Self.start + 1)
        history.record(.giveUp(.attemptsUsed(made: 3, counted: 3)), after: Self.unavailable, startedAt: Self.start + 2)
        #expect(history.attempts.map(\.number) == [1, 2, 3])
        #expect(history.attempts.map(\.delay) == [.milliseconds(40), .milliseconds(80), nil])
        #expect(history.attempts.map(\.reason?.code) == [.unprocessed, .status, .attemptsUsed])
        #expect(history.attempts.map(\.startedAt) == [Self.start, Self.start + 1, Self.start + 2])
        #expect(
            history.attempts[0].description == "attempt 1: cannotConnect, refused; again after 0.04 s: "
                + "nothing was sent (cannotConnect)")
        #expect(history.attempts[2].description == "attempt 3: status 503: 3 attempts were made")
    }

    @Test func `is empty where the first attempt succeeds`() {
        var history = RetryHistory()
        history.recordSuccess(.answered(.ok), startedAt: Self.start)
        #expect(history == RetryHistory())
        history.record(Self.retry(1, .throttled), after: Self.unavailable, startedAt: Self.start)
        history.recordSuccess(.answered(.ok), startedAt: Self.start)
        #expect(history.attempts.last == Attempt(number: 2, startedAt: Self.start, outcome: .answered(.ok)))
    }

    @Test func `counts free attempts separately`() {
        var history = RetryHistory()
        history.record(Self.retry(1, isFree: true, .misdirected), after: Self.unavailable, startedAt: Self.start)
        #expect((history.free, history.counted, history.exponent) == (1, 0, 0))
        #expect(history.wasMisdirected)
        history.record(Self.retry(1, .connectionClosed), after: Self.refused, startedAt: Self.start)
        #expect((history.free, history.counted, history.exponent) == (1, 1, 0))
        #expect(history.hasLostConnection)
        history.record(.refreshCredential, after: .answered(.unauthorized), startedAt: Self.start)
        #expect((history.free, history.counted, history.exponent) == (1, 1, 0))
        #expect(history.hasRefreshed)
    }

    @Test func `increases the delays, and starts again after a Retry-After`() {
        var history = RetryHistory()
        for _ in 0..<3 { history.record(Self.retry(1, .status(503)), after: Self.unavailable, startedAt: Self.start) }
        #expect(history.exponent == 3)
        history.record(Self.retry(1, .retryAfter(.seconds(1))), after: Self.unavailable, startedAt: Self.start)
        #expect(history.exponent == 0)
        history.record(Self.retry(1, .status(503)), after: Self.unavailable, startedAt: Self.start)
        #expect(history.exponent == 1)
    }

    /// Records the results one after another, as the pipeline does, and returns the decisions.
    static func play(_ method: HTTPRequest.Method, _ outcomes: [RetrySituation.AttemptResult]) -> [RetryRow.Expected] {
        var history = RetryHistory()
        return outcomes.map { outcome in
            let row = RetryRow(method, outcome, .refresh) { $0.history = history }
            let decision = RetryDecision(row.situation)
            history.record(decision, after: Self.unavailable, startedAt: Self.start)
            return RetryRow.Expected(decision)
        }
    }

    @Test func `gives the delays of all attempts of a request`() {
        typealias Outcome = RetrySituation.AttemptResult
        #expect(
            Self.play(.get, [.status(503), .status(503), .status(503)]) == [
                .again(25, .status), .again(50, .status), .end(.attemptsUsed),
            ])
        #expect(
            Self.play(.post, Array(repeating: .unsent(.cannotConnect), count: 6)) == [
                .free(25), .free(50), .free(100), .again(200, .unprocessed), .again(400, .unprocessed),
                .end(.attemptsUsed),
            ])
        #expect(
            Self.play(.get, [.sent(.connectionLost), .sent(.connectionLost), .sent(.connectionLost)]) == [
                .again(0, .connectionClosed), .again(25, .interrupted), .end(.attemptsUsed),
            ])
        #expect(
            Self.play(.get, [.status(503), .status(503, after: "0"), .status(503)]) == [
                .again(25, .status), .again(50, .retryAfter), .end(.attemptsUsed),
            ])
        #expect(
            Self.play(.post, [.status(421), .status(421)]) == [.free(0, .misdirected), .end(.final)])
    }
}
