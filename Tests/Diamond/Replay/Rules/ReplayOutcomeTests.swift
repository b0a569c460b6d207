import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The outcome of a job") struct ReplayOutcomeTests {
    /// A job that is being sent.
    struct Kind: Sendable, CustomTestStringConvertible {
        var name: String
        var isIdempotent: Bool
        var keyLifetime: Int64?
        var attempts = 0
        var unknownSince: QueueTime?
        var isNobodys = false
        var method: String { String(name.prefix { $0 != " " }) }

        var testDescription: String { name }

        static let put = Kind(name: "PUT", isIdempotent: true, keyLifetime: nil)
        static let delete = Kind(name: "DELETE", isIdempotent: true, keyLifetime: nil)
        static let keyed = Kind(name: "POST with a key", isIdempotent: false, keyLifetime: 86_400_000)
        static let bare = Kind(name: "POST without a key", isIdempotent: false, keyLifetime: nil)

        var onceMore: Kind { with { $0.attempts = 18 } }
        var last: Kind { with { $0.attempts = 19 } }
        var nobodys: Kind { with { $0.isNobodys = true } }
        var unknown: Kind { with { $0.unknownSince = Self.now - 1_000 } }
        var unknownLongAgo: Kind { with { $0.unknownSince = Self.now - 86_400_001 } }

        private func with(_ change: (inout Kind) -> Void) -> Kind {
            var kind = self
            change(&kind)
            return kind
        }

        static let now: QueueTime = 1_767_225_600_000

        var row: ReplayRow {
            var row = ReplayRow(id: 1)
            row.method = method
            row.identity = isNobodys ? nil : "anna"
            row.isIdempotent = isIdempotent
            row.keyLifetime = keyLifetime
            row.attemptLimit = 20
            row.state = .running
            row.reason = .claimed
            row.isHead = true
            row.runAt = Self.now
            row.attempts = attempts
            row.token = 1
            row.owner = 1
            row.sentAt = Self.now - 10
            row.unknownSince = unknownSince
            return row
        }
    }

    struct Row: Sendable {
        var kind: Kind
        var outcome: ReplayOutcome
        var state: ReplayState
        var reason: ReplayReason
        /// The attempts that count now.
        var attempts: Int
        /// Seconds until the next attempt, with a draw of 0; `nil` where there is none.
        var delay: Double?
        var isUnknown = false

        init(
            _ kind: Kind, _ outcome: ReplayOutcome, _ state: ReplayState, _ reason: ReplayReason, _ attempts: Int,
            delay: Double? = nil, isUnknown: Bool = false
        ) {
            (self.kind, self.outcome, self.state, self.reason, self.attempts) = (kind, outcome, state, reason, attempts)
            (self.delay, self.isUnknown) = (delay, isUnknown)
        }
    }

    static func failed(_ fault: ReplayOutcome.Fault) -> ReplayOutcome { .failed(fault, code: "x", message: "x") }

    static func busy(_ status: Int, _ pushBack: Duration? = nil) -> ReplayOutcome {
        .answered(status: status, isTransient: true, pushBack: pushBack)
    }

    private static func redirected(_ status: Int, _ pushBack: Duration? = nil) -> ReplayOutcome {
        .answered(status: status, isTransient: status >= 429, pushBack: pushBack, isBehindRedirect: true)
    }

    static let rows: [Row] = [
        // Answers.
        Row(.put, .answered(status: 200), .done, .finished, 0), Row(.bare, .answered(status: 201), .done, .finished, 0),
        Row(.keyed, .answered(status: 303), .done, .finished, 0),
        Row(.put, .answered(status: 400), .dead, .refused, 0), Row(.keyed, .answered(status: 422), .dead, .refused, 0),
        Row(.put, .answered(status: 403), .dead, .refused, 0),
        Row(.put, .answered(status: 501), .dead, .refused, 0, isUnknown: true),
        Row(.put, .answered(status: 401), .held, .unauthorized, 0),
        // No user can sign in for a request without an identity.
        Row(.put.nobodys, .answered(status: 401), .dead, .refused, 0),
        Row(.put.nobodys, failed(.noCredential), .waiting, .backoff, 1, delay: 1),
        Row(.put, .answered(status: 404), .dead, .refused, 0),
        Row(.delete, .answered(status: 404), .dead, .refused, 0),
        Row(.delete.unknown, .answered(status: 404), .done, .gone, 0, isUnknown: true),
        Row(.delete.unknown, .answered(status: 410), .done, .gone, 0, isUnknown: true),
        // This attempt had no effect, and the outcome of an earlier attempt is unknown.
        Row(.put.unknown, .answered(status: 404), .dead, .refused, 0, isUnknown: true),
        Row(.keyed.unknown, .answered(status: 404), .dead, .refused, 0, isUnknown: true),
        // The first request with the key is still being processed.
        Row(.keyed, .answered(status: 409), .waiting, .backoff, 1, delay: 1, isUnknown: true),
        Row(.bare, .answered(status: 409), .dead, .refused, 0, isUnknown: true),
        Row(.put, .answered(status: 409), .dead, .refused, 0, isUnknown: true),
        // A 421 is sent by a server that has not processed the request.
        Row(.bare, .answered(status: 421), .waiting, .backoff, 1, delay: 1),
        // Transient statuses.
        Row(.put, busy(500), .waiting, .backoff, 1, delay: 1, isUnknown: true),
        Row(.keyed, busy(502), .waiting, .backoff, 1, delay: 1, isUnknown: true),
        Row(.bare, busy(500), .needsReview, .outcomeUnknown, 0, isUnknown: true),
        Row(.bare, busy(503), .needsReview, .outcomeUnknown, 0, isUnknown: true),
        Row(.bare, busy(429), .waiting, .backoff, 1, delay: 1), Row(.bare, busy(425), .waiting, .backoff, 1, delay: 1),
        Row(.bare, busy(408), .waiting, .backoff, 1, delay: 1),
        // The server names the time.
        Row(.bare, busy(503, .seconds(30)), .waiting, .retryAfter, 1, delay: 30),
        Row(.bare, busy(429, .zero), .waiting, .backoff, 1, delay: 1),
        // Retry-After does not shorten the backoff.
        Row(.put.onceMore, busy(503, .seconds(5)), .waiting, .backoff, 19, delay: 1800),
        Row(.put.onceMore, busy(503, .seconds(7200)), .waiting, .retryAfter, 19, delay: 7200),
        Row(.put, busy(503, .seconds(9 * 86_400)), .waiting, .retryAfter, 1, delay: 86_400),
        Row(.put.last, busy(503, .seconds(1)), .dead, .attemptsUsed, 20),
        // The redirecting server may have processed it.
        Row(.bare, redirected(429, .seconds(30)), .needsReview, .outcomeUnknown, 0, isUnknown: true),
        Row(.keyed, redirected(401), .held, .unauthorized, 0, isUnknown: true),
        Row(.keyed, redirected(429, .seconds(30)), .waiting, .retryAfter, 1, delay: 30, isUnknown: true),
        Row(.keyed, redirected(503, .seconds(30)), .waiting, .retryAfter, 1, delay: 30, isUnknown: true),
        Row(.put, redirected(429), .waiting, .backoff, 1, delay: 1, isUnknown: true),
        Row(.put, redirected(404), .dead, .refused, 0, isUnknown: true),
        // Failures.
        Row(.bare, failed(.unsent), .waiting, .backoff, 1, delay: 1),
        Row(.bare.unknownLongAgo, failed(.unsent), .needsReview, .outcomeUnknown, 1, isUnknown: true),
        Row(.put.onceMore, failed(.unsent), .waiting, .backoff, 19, delay: 1800),
        Row(.put.last, failed(.unsent), .dead, .attemptsUsed, 20),
        Row(.put, failed(.unknown), .waiting, .backoff, 1, delay: 1, isUnknown: true),
        Row(.keyed, failed(.unknown), .waiting, .backoff, 1, delay: 1, isUnknown: true),
        Row(.bare, failed(.unknown), .needsReview, .outcomeUnknown, 0, isUnknown: true),
        Row(.keyed.unknownLongAgo, failed(.unknown), .needsReview, .keyExpired, 0, isUnknown: true),
        Row(.put.last, failed(.offline), .waiting, .offline, 19, delay: 60),
        Row(.bare, failed(.unsendable), .dead, .unsendable, 0),
        Row(.bare, failed(.noCredential), .held, .unauthorized, 0),
        Row(.bare, failed(.undecodable), .waiting, .backoff, 0, delay: 1),
        Row(.put.last, failed(.undecodable), .waiting, .backoff, 19, delay: 1800),
        Row(.bare, failed(.returned), .waiting, .returned, 0, delay: 0),
        Row(.keyed, failed(.interrupted), .waiting, .returned, 0, delay: 0, isUnknown: true),
        Row(.bare, failed(.interrupted), .needsReview, .outcomeUnknown, 0, isUnknown: true),
    ]

    /// The kind of the job, the milliseconds since it was sent, whether the app declares it harmless, whether a pause
    /// has interrupted it, and the reason for its review.
    static let cuts: [(kind: Kind, age: Int64, isHarmless: Bool, isPaused: Bool, reason: ReplayReason?)] = [
        (.put, 86_400_001, false, true, nil), (.keyed, 86_400_000, false, true, nil),
        (.keyed, 86_400_001, false, true, .keyExpired), (.keyed, 86_400_001, true, true, nil),
        (.keyed.unknownLongAgo, 1, false, true, .keyExpired), (.bare, 1, false, true, .outcomeUnknown),
        (.bare, 1, true, true, nil), (.bare, 1, false, false, nil), (.keyed, 86_400_000, false, false, nil),
        (.keyed, 86_400_001, false, false, .keyExpired), (.keyed, 86_400_001, true, false, nil),
    ]

    @Test(arguments: cuts)
    func `an interrupted request is sent again if it may be repeated`(
        _ cut: (kind: Kind, age: Int64, isHarmless: Bool, isPaused: Bool, reason: ReplayReason?)
    ) {
        var row = cut.kind.row
        let sentAt = Kind.now - cut.age
        let earlier = ReplayRow.EarlierExchange(sentAt: sentAt, isHarmless: cut.isHarmless, isPaused: cut.isPaused)
        let goesOn = row.continueIfAllowed(after: earlier, at: Kind.now)
        #expect(goesOn == (cut.reason == nil) && row.unknownSince == cut.kind.unknownSince ?? sentAt)
        #expect(row.state == (goesOn ? .running : .needsReview) && row.reason == cut.reason ?? .claimed)
        #expect((row.owner == nil) == !goesOn)
    }

    @Test(arguments: rows)
    func `an outcome decides the next state of a job`(_ row: Row) {
        var job = row.kind.row
        job.apply(row.outcome, at: Kind.now, draw: 0)
        #expect(job.state == row.state)
        #expect(job.reason == row.reason)
        #expect(job.attempts == row.attempts)
        #expect((job.unknownSince != nil) == row.isUnknown)
        #expect(job.owner == nil && job.sentAt == nil)
        if let delay = row.delay { #expect(job.runAt == Kind.now + Int64(delay * 1000)) }
    }

    @Test(arguments: [
        (ReplayOutcome.Fault.unknown, 0, true, ReplayOutcome.Fault.unsent), (.interrupted, 0, true, .unsent),
        (.interrupted, 0, false, .returned), (.unknown, 1, true, .unknown), (.interrupted, 1, false, .interrupted),
        (.unsent, 1, true, .unsent), (.unsent, 2, true, .unknown), (.offline, 2, true, .unknown),
        (.noCredential, 0, true, .noCredential),
    ])
    func `a failure is classified by the number of exchanges that had begun`(
        _ fault: ReplayOutcome.Fault, _ exchanges: Int, _ isWanted: Bool, _ meaning: ReplayOutcome.Fault
    ) {
        #expect(Self.failed(fault).known(exchanges: exchanges, isWanted: isWanted) == Self.failed(meaning))
    }

    private struct SignedOut: Error {}

    private static let refused = TransportError(.cannotConnect, "refused")

    private static func answered(_ code: Int) -> ConnectionError {
        var error = ConnectionError(.badStatus, "it was answered with \(code)")
        error.response = Response(status: .init(code: code))
        return error
    }

    @Test(arguments: [
        (ConnectionError(refused) as any Error, true, ReplayOutcome.Fault.unsent), (refused, true, .unsent),
        (URLError(.timedOut), true, .unsent), (URLError(.cannotFindHost), true, .offline), (refused, false, .offline),
        (answered(503), true, .unsent), (answered(400), true, .noCredential), (SignedOut(), true, .noCredential),
        (URLError(.userAuthenticationRequired), true, .noCredential),
        (ConnectionError(.noCredential, "none"), true, .noCredential),
    ])
    func `a credential that is temporarily unavailable does not require a sign-in`(
        _ cause: any Error, _ isReachable: Bool, _ fault: ReplayOutcome.Fault
    ) {
        let error = ConnectionError(.noCredential, "x", cause: cause)
        let outcome = ReplayOutcome(
            error, method: .post, statuses: RetryPolicy().statuses, now: Kind.now.correctWall, isReachable: isReachable,
            isBehindRedirect: false)
        #expect(outcome == .failed(fault, code: "noCredential", message: "x"))
    }

    @Test(arguments: [(1, 1.0, 2.0), (2, 2, 4), (3, 4, 8), (11, 1024, 2048), (12, 1800, 3600), (40, 1800, 3600)])
    func `a delay doubles from 2 seconds to an hour, half of it random`(_ attempt: Int, _ low: Double, _ high: Double) {
        #expect(ReplayBackoff.delay(after: attempt, draw: 0) == Int64(low * 1000))
        #expect(ReplayBackoff.delay(after: attempt, draw: 1) == Int64(high * 1000))
    }

    @Test func `jobs that a server refuses at the same time are retried at different times`() {
        #expect(ReplayBackoff.delay(pushedBack: .seconds(100), draw: 0) == 100_000)
        #expect(ReplayBackoff.delay(pushedBack: .seconds(100), draw: 1) == 110_000)
    }
}
