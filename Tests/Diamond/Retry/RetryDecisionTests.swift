import HTTPTypes
import Testing

@testable import Diamond

@Suite("The decision to retry") struct RetryDecisionTests {
    /// Requests that were not processed: they are retried with any method, and three retries are not counted.
    static let unprocessed: [RetryRow] = [
        RetryRow(.get, .unsent(.cannotConnect), .free(25)),
        RetryRow(.post, .unsent(.cannotConnect), .free(25)),
        RetryRow(.patch, .unsent(.cannotConnect), .free(25)),
        RetryRow(.connect, .unsent(.cannotConnect), .free(25)),
        RetryRow(.get, .unsent(.cannotResolveHost), .free(25)),
        RetryRow(.post, .unsent(.cannotResolveHost), .free(25)),
        RetryRow(.get, .unsent(.tlsFailed), .free(25)),
        RetryRow(.post, .unsent(.tlsFailed), .free(25)),
        RetryRow(.post, .unsent(.timedOut), .free(25)),
        RetryRow(.post, .unsent(.connectionLost), .free(25)),
        RetryRow(.post, .unsent(.other), .free(25)),
        RetryRow(.post, .unsent(.cannotConnect), .free(50)) { $0.history = .after(free: 1) },
        RetryRow(.post, .unsent(.cannotConnect), .free(100)) { $0.history = .after(free: 2) },
        RetryRow(.post, .unsent(.cannotConnect), .again(200, .unprocessed)) { $0.history = .after(free: 3) },
        RetryRow(.post, .unsent(.cannotConnect), .again(400, .unprocessed)) {
            $0.history = .after(free: 3, counted: 1)
        },
        RetryRow(.post, .unsent(.cannotConnect), .end(.attemptsUsed)) { $0.history = .after(free: 3, counted: 2) },
        RetryRow(.post, .unsent(.cannotConnect), .free(100)) { $0.history = .after(free: 1, counted: 1) },
        RetryRow(.post, .unsent(.cannotConnect), .free(25)) { $0.hasBudget = false },
        RetryRow(.post, .unsent(.cannotConnect), .end(.budgetEmpty)) {
            ($0.hasBudget, $0.history) = (false, .after(free: 3))
        },
        RetryRow(.get, .unsent(.cannotConnect), .end(.attemptsUsed)) { $0.policy = .never },
        RetryRow(.get, .unsent(.cannotConnect), .end(.circuitOpen)) { $0.isCircuitOpen = true },
    ]

    static let post = HTTPRequest.Method.post

    /// Requests that may have been processed: the method or an idempotency key decides.
    static let ambiguous: [RetryRow] = [
        RetryRow(.get, .sent(.timedOut), .again(25, .interrupted)),
        RetryRow(.head, .sent(.timedOut), .again(25, .interrupted)),
        RetryRow(.options, .sent(.timedOut), .again(25, .interrupted)),
        RetryRow(.trace, .sent(.timedOut), .again(25, .interrupted)),
        RetryRow(.put, .sent(.timedOut), .again(25, .interrupted)),
        RetryRow(.delete, .sent(.timedOut), .again(25, .interrupted)),
        RetryRow(.query, .sent(.timedOut), .again(25, .interrupted)),
        RetryRow(.post, .sent(.timedOut), .end(.notIdempotent)),
        RetryRow(.patch, .sent(.timedOut), .end(.notIdempotent)),
        RetryRow(.connect, .sent(.timedOut), .end(.notIdempotent)),
        RetryRow(HTTPRequest.Method("BREW") ?? post, .sent(.timedOut), .end(.notIdempotent)),
        RetryRow(.post, .sent(.timedOut), .again(25, .interrupted)) { $0.request.hasIdempotencyKey = true },
        RetryRow(.patch, .sent(.timedOut), .again(25, .interrupted)) { $0.request.hasIdempotencyKey = true },
        RetryRow(.post, .sent(.timedOut), .again(25, .interrupted)) { $0.policy.retriesUnsafeMethods = true },
        RetryRow(.get, .sent(.other), .again(25, .interrupted)),
        RetryRow(.post, .sent(.other), .end(.notIdempotent)),
        RetryRow(.get, .sent(.tlsFailed), .again(25, .interrupted)),
        RetryRow(.post, .sent(.tlsFailed), .end(.notIdempotent)),
        RetryRow(.get, .midway(.truncatedBody), .again(25, .interrupted)),
        RetryRow(.post, .midway(.truncatedBody), .end(.notIdempotent)),
        RetryRow(.get, .midway(.connectionLost), .again(25, .interrupted)),
        RetryRow(.post, .midway(.connectionLost), .end(.notIdempotent)),
        RetryRow(.post, .failed(TransportError(.truncatedBody, "said unsent"), afterHead: true), .end(.notIdempotent)),
        RetryRow(.get, .sent(.timedOut), .again(50, .interrupted)) { $0.history = .after(counted: 1) },
        RetryRow(.get, .sent(.timedOut), .end(.attemptsUsed)) { $0.history = .after(counted: 2) },
        RetryRow(.get, .sent(.timedOut), .end(.budgetEmpty)) { $0.hasBudget = false },
        RetryRow(.get, .sent(.timedOut), .end(.circuitOpen)) { $0.isCircuitOpen = true },
        RetryRow(.get, .sent(.timedOut), .end(.attemptsUsed)) { $0.policy = .never },
    ]

    /// A connection that was idle for too long: the request is sent at once on another connection, and only once.
    static let lost: [RetryRow] = [
        RetryRow(.get, .sent(.connectionLost), .again(0, .connectionClosed)),
        RetryRow(.query, .sent(.connectionLost), .again(0, .connectionClosed)),
        RetryRow(.post, .sent(.connectionLost), .end(.notIdempotent)),
        RetryRow(.post, .sent(.connectionLost), .again(0, .connectionClosed)) { $0.request.hasIdempotencyKey = true },
        RetryRow(.get, .sent(.connectionLost), .again(25, .interrupted)) {
            ($0.history.counted, $0.history.hasLostConnection) = (1, true)
        },
        RetryRow(.get, .sent(.connectionLost), .end(.attemptsUsed)) {
            ($0.history.counted, $0.history.hasLostConnection) = (2, true)
        },
    ]

    /// Failures of requests that have a stored response.
    static let answeredOffline: [RetryRow] = [
        RetryRow(.get, .unsent(.cannotConnect), .end(.answeredOffline)),
        RetryRow(.get, .unsent(.cannotResolveHost), .end(.answeredOffline)),
        RetryRow(.get, .sent(.timedOut), .end(.answeredOffline)),
        RetryRow(.get, .sent(.connectionLost), .again(0, .connectionClosed)),
        RetryRow(.get, .sent(.connectionLost), .end(.answeredOffline)) {
            ($0.history.counted, $0.history.hasLostConnection) = (1, true)
        },
        RetryRow(.get, .unsent(.tlsFailed), .free(25)),
        RetryRow(.get, .midway(.connectionLost), .again(25, .interrupted)),
        RetryRow(.get, .status(503), .again(25, .status)),
        RetryRow(.get, .status(421), .free(0, .misdirected)),
        RetryRow(.get, .unsent(.cannotConnect), .end(.attemptsUsed)) { $0.policy = .never },
    ].map { row in
        var row = row
        row.situation.isAnsweredOffline = true
        return row
    }

    /// Errors that another attempt would not change.
    static let permanent: [RetryRow] = [
        RetryRow(.get, .unsent(.badURL), .end(.permanent)),
        RetryRow(.get, .unsent(.cancelled), .end(.permanent)),
        RetryRow(.get, .sent(.cancelled), .end(.permanent)),
        RetryRow(.get, .unsent(.certificateRejected), .end(.permanent)),
        RetryRow(.get, .unsent(.closed), .end(.permanent)),
        RetryRow(.get, .sent(.closed), .end(.permanent)),
        RetryRow(.get, .midway(.bodyTooLarge), .end(.permanent)),
        RetryRow(.put, .sent(.badRequestBody), .end(.permanent)),
        RetryRow(.put, .unsent(.badRequestBody), .end(.permanent)),
        RetryRow(.get, .sent(.badResponse), .end(.permanent)),
        RetryRow(.get, .sent(.cancelled), .end(.permanent)) { $0.request.hasIdempotencyKey = true },
    ]

    /// Retryable and final statuses, with different methods.
    static let statuses: [RetryRow] = [
        RetryRow(.get, .status(408), .again(25, .status)),
        RetryRow(.get, .status(425), .again(25, .status)),
        RetryRow(.get, .status(429), .again(500, .throttled)),
        RetryRow(.get, .status(500), .again(25, .status)),
        RetryRow(.get, .status(502), .again(25, .status)),
        RetryRow(.get, .status(503), .again(25, .status)),
        RetryRow(.get, .status(504), .again(25, .status)),
        RetryRow(.put, .status(503), .again(25, .status)),
        RetryRow(.delete, .status(500), .again(25, .status)),
        RetryRow(.post, .status(408), .end(.notIdempotent)),
        RetryRow(.post, .status(425), .end(.notIdempotent)),
        RetryRow(.post, .status(429), .end(.notIdempotent)),
        RetryRow(.post, .status(500), .end(.notIdempotent)),
        RetryRow(.post, .status(503), .end(.notIdempotent)),
        RetryRow(.post, .status(500), .again(25, .status)) { $0.request.hasIdempotencyKey = true },
        RetryRow(.post, .status(500), .again(25, .status)) { $0.policy.retriesUnsafeMethods = true },
        RetryRow(.get, .status(200), .end(.final)),
        RetryRow(.get, .status(304), .end(.final)),
        RetryRow(.get, .status(403), .end(.final)),
        RetryRow(.get, .status(404), .end(.final)),
        RetryRow(.get, .status(410), .end(.final)),
        RetryRow(.get, .status(501), .end(.final)),
        RetryRow(.get, .status(505), .end(.final)),
        RetryRow(.get, .status(404), .again(25, .status)) { $0.policy.statuses = [404] },
        RetryRow(.get, .status(503), .end(.final)) { $0.policy.statuses = [404] },
        RetryRow(.get, .status(400), .end(.final)),
        RetryRow(.post, .status(422), .end(.final)) { $0.request.hasIdempotencyKey = true },
        RetryRow(.post, .status(400), .end(.final)) { $0.request.hasIdempotencyKey = true },
        RetryRow(.get, .status(422), .end(.final)) { $0.policy.statuses = [400, 422] },
        RetryRow(.get, .status(400), .end(.final)) { $0.policy.statuses = [400, 422] },
        RetryRow(.get, .status(503), .again(50, .status)) { $0.history = .after(counted: 1) },
        RetryRow(.get, .status(429), .again(1000, .throttled)) { $0.history = .after(counted: 1) },
        RetryRow(.get, .status(503), .end(.attemptsUsed)) { $0.history = .after(counted: 2) },
        RetryRow(.get, .status(503), .again(100, .status)) {
            ($0.policy.attempts, $0.history) = (5, .after(counted: 2))
        },
        RetryRow(.get, .status(503), .end(.budgetEmpty)) { $0.hasBudget = false },
        RetryRow(.get, .status(503), .end(.circuitOpen)) { $0.isCircuitOpen = true },
    ]

    /// 409 to a request with an idempotency key: the first one is still being processed.
    static let running: [RetryRow] = [
        RetryRow(.post, .status(409), .again(25, .stillRunning)) { $0.request.hasIdempotencyKey = true },
        RetryRow(.post, .status(409, after: "2"), .again(2000, .retryAfter)) { $0.request.hasIdempotencyKey = true },
        RetryRow(.post, .status(409), .end(.attemptsUsed)) {
            ($0.request.hasIdempotencyKey, $0.history) = (true, .after(counted: 2))
        },
        RetryRow(.post, .status(409), .end(.final)),
        RetryRow(.put, .status(409), .end(.final)),
        RetryRow(.get, .status(409), .end(.final)),
    ]

    /// 421: once, whatever the method, on another connection.
    static let misdirected: [RetryRow] = [
        RetryRow(.get, .status(421), .free(0, .misdirected)),
        RetryRow(.post, .status(421), .free(0, .misdirected)),
        RetryRow(.post, .status(421), .end(.final)) { $0.history.wasMisdirected = true },
        RetryRow(.get, .status(421), .end(.final)) {
            ($0.history.wasMisdirected, $0.policy.statuses) = (true, [421])
        },
        RetryRow(.get, .status(421), .end(.attemptsUsed)) { $0.policy = .never },
    ]

    /// 401: the credential is refreshed, once.
    static let unauthorized: [RetryRow] = [
        RetryRow(.get, .status(401), .refresh) { $0.request.canRefreshCredential = true },
        RetryRow(.post, .status(401), .refresh) { $0.request.canRefreshCredential = true },
        RetryRow(.post, .status(401), .refresh) { ($0.request.canRefreshCredential, $0.policy) = (true, .never) },
        RetryRow(.get, .status(401), .refresh) { ($0.request.canRefreshCredential, $0.hasBudget) = (true, false) },
        RetryRow(.get, .status(401), .refresh) {
            ($0.request.canRefreshCredential, $0.history) = (true, .after(counted: 2))
        },
        RetryRow(.get, .status(401), .end(.unauthorized)),
        RetryRow(.get, .status(401), .end(.unauthorized)) {
            ($0.request.canRefreshCredential, $0.history.hasRefreshed) = (true, true)
        },
        RetryRow(.get, .status(401), .end(.unauthorized)) { $0.policy.statuses = [401] },
        RetryRow(.get, .status(401), .end(.outOfTime)) {
            ($0.request.canRefreshCredential, $0.elapsed) = (true, .seconds(30))
        },
        RetryRow(.get, .status(401), .end(.circuitOpen)) {
            ($0.request.canRefreshCredential, $0.isCircuitOpen) = (true, true)
        },
        RetryRow(.get, .status(401), .end(.committed)) {
            ($0.request.canRefreshCredential, $0.isCommitted) = (true, true)
        },
    ]

    static let (date, later) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:40 GMT")

    /// The server names the time, between the policy's delay and 5 seconds more.
    static let pushedBack: [RetryRow] = [
        RetryRow(.get, .status(503, after: "1"), .again(1000, .retryAfter)),
        RetryRow(.get, .status(503, after: "0"), .again(25, .retryAfter)),
        RetryRow(.get, .status(429, after: "0"), .again(500, .retryAfter)),
        RetryRow(.get, .status(429, after: "3"), .again(3000, .retryAfter)),
        RetryRow(.get, .status(429, after: "5"), .again(5000, .retryAfter)),
        RetryRow(.get, .status(429, after: "6"), .end(.retryAfterTooLong)),
        RetryRow(.get, .status(503, after: "5"), .again(5000, .retryAfter)),
        RetryRow(.get, .status(503, after: "6"), .end(.retryAfterTooLong)),
        RetryRow(.get, .status(503, after: "6"), .again(6000, .retryAfter)) { $0.policy.retryAfterLimit = .seconds(6) },
        RetryRow(.get, .status(503, after: "99999999999999999999"), .end(.retryAfterTooLong)),
        RetryRow(.get, .status(503, after: "-1"), .again(25, .status)),
        RetryRow(.get, .status(503, after: "soon"), .again(25, .status)),
        RetryRow(.get, .status(503, after: "1.5"), .again(25, .status)),
        RetryRow(.get, .status(503, after: ""), .again(25, .status)),
        RetryRow(.get, .status(500, after: "1"), .again(1000, .retryAfter)),
        RetryRow(.post, .status(503, after: "1"), .again(1000, .retryAfter)),
        RetryRow(.post, .status(429, after: "1"), .again(1000, .retryAfter)),
        RetryRow(.patch, .status(429, after: "0"), .again(500, .retryAfter)),
        RetryRow(.post, .status(500, after: "1"), .end(.notIdempotent)),
        RetryRow(.post, .status(503, after: "-1"), .end(.notIdempotent)),
        RetryRow(.post, .status(503, after: "soon"), .end(.notIdempotent)),
        RetryRow(.post, .status(503, after: "60"), .end(.retryAfterTooLong)),
        RetryRow(.get, .status(503, after: later, date: date), .again(3000, .retryAfter)),
        RetryRow(.get, .status(503, after: date, date: date), .again(25, .retryAfter)),
        RetryRow(.get, .status(503, after: date, date: later), .again(25, .status)),
        RetryRow(.get, .status(503, after: "Sunday, 06-Nov-94 08:49:40 GMT", date: date), .again(3000, .retryAfter)),
        RetryRow(.get, .status(503, after: "Sun Nov  6 08:49:40 1994", date: date), .again(3000, .retryAfter)),
        RetryRow(.get, .status(503, after: "Thu, 01 Jan 2026 00:00:02 GMT"), .again(2000, .retryAfter)),
        RetryRow(.get, .status(503, after: "Thu, 01 Jan 2026 00:00:02 GMT", date: "?"), .again(2000, .retryAfter)),
        RetryRow(.get, .status(503, after: "Thu, 01 Jan 2026 00:01:00 GMT"), .end(.retryAfterTooLong)),
        RetryRow(.get, .status(404, after: "1"), .end(.final)),
        RetryRow(.get, .status(503, after: "1"), .end(.attemptsUsed)) { $0.history = .after(counted: 2) },
        RetryRow(.get, .status(503, after: "1"), .end(.budgetEmpty)) { $0.hasBudget = false },
        RetryRow(.get, .status(503, after: "60"), .end(.attemptsUsed)) { $0.policy = .never },
    ]

    /// Bytes that the caller has received, a body that is read only once, and a deadline that has passed.
    static let limits: [RetryRow] = [
        RetryRow(.get, .midway(.truncatedBody), .end(.committed)) { $0.isCommitted = true },
        RetryRow(.get, .midway(.connectionLost), .end(.committed)) { $0.isCommitted = true },
        RetryRow(.get, .status(503, after: "1"), .end(.committed)) { $0.isCommitted = true },
        RetryRow(.get, .unsent(.cannotConnect), .end(.committed)) { $0.isCommitted = true },
        RetryRow(.put, .status(503), .end(.bodyConsumed)) { $0.isBodyConsumed = true },
        RetryRow(.put, .sent(.connectionLost), .end(.bodyConsumed)) { $0.isBodyConsumed = true },
        RetryRow(.post, .unsent(.cannotConnect), .end(.bodyConsumed)) { $0.isBodyConsumed = true },
        RetryRow(.post, .status(421), .end(.bodyConsumed)) { $0.isBodyConsumed = true },
        RetryRow(.post, .status(401), .end(.bodyConsumed)) {
            ($0.request.canRefreshCredential, $0.isBodyConsumed) = (true, true)
        },
        RetryRow(.post, .status(401), .end(.unauthorized)) { $0.isBodyConsumed = true },
        RetryRow(.put, .status(404), .end(.final)) { $0.isBodyConsumed = true },
        RetryRow(.put, .status(503), .end(.attemptsUsed)) { ($0.isBodyConsumed, $0.policy) = (true, .never) },
        RetryRow(.get, .status(503), .again(25, .status)) { $0.elapsed = .milliseconds(29_974) },
        RetryRow(.get, .status(503), .end(.outOfTime)) { $0.elapsed = .milliseconds(29_975) },
        RetryRow(.get, .status(503), .end(.outOfTime)) { $0.elapsed = .seconds(60) },
        RetryRow(.get, .status(503), .again(25, .status)) { ($0.elapsed, $0.policy.window) = (.seconds(60), nil) },
        RetryRow(.get, .status(503), .again(25, .status)) {
            ($0.elapsed, $0.policy.deadline) = (.milliseconds(974), .seconds(1))
        },
        RetryRow(.get, .status(503), .end(.outOfTime)) {
            ($0.elapsed, $0.policy.deadline) = (.milliseconds(976), .seconds(1))
        },
        RetryRow(.get, .status(503), .end(.outOfTime)) {
            ($0.elapsed, $0.policy.deadline, $0.policy.window) = (.seconds(1), .seconds(1), nil)
        },
        RetryRow(.get, .status(503, after: "4"), .end(.outOfTime)) { $0.policy.deadline = .seconds(3) },
        RetryRow(.post, .unsent(.cannotConnect), .end(.outOfTime)) { $0.elapsed = .seconds(30) },
        RetryRow(.post, .status(421), .end(.outOfTime)) { $0.elapsed = .seconds(30) },
        RetryRow(.get, .status(503), .again(10_000, .status)) {
            ($0.history, $0.policy.attempts) = (.after(counted: 9), 20)
        },
        RetryRow(.get, .status(503), .again(10_000, .status)) {
            ($0.history, $0.policy.attempts) = (.after(counted: 900), 1000)
        },
        RetryRow(.get, .status(503), .again(25, .status)) { $0.policy.throttledDelay = .seconds(9) },
        RetryRow(.get, .status(503), .again(2, .status)) { $0.policy.baseDelay = .milliseconds(4) },
        RetryRow(.get, .status(503), .again(0, .status)) { $0.draw = 0 },
    ]

    static let table =
        unprocessed + ambiguous + lost + permanent + statuses + running + misdirected + unauthorized + pushedBack
        + limits + answeredOffline

    @Test(arguments: table) func `depends on method, result, history and policy`(row: RetryRow) {
        let decision = RetryDecision(row.situation)
        #expect(RetryRow.Expected(decision) == row.expected, sourceLocation: row.location)
    }

    @Test func `names the time that the server asks for`() {
        let row = RetryRow(.get, .status(503, after: "120"), .end(.retryAfterTooLong))
        guard case .giveUp(let reason) = RetryDecision(row.situation) else { Issue.record("not given up"); return }
        #expect(reason.message.contains("120 s"))
        #expect(reason.message.contains("5 s"))
    }

    @Test func `reads the idempotency key from the headers`() throws {
        let name = try #require(HTTPField.Name("idempotency-Key"))
        #expect(RetryableRequest(.post, headers: [name: "8e03978e"]).hasIdempotencyKey)
        #expect(!RetryableRequest(.post, headers: [name: ""]).hasIdempotencyKey)
        #expect(!RetryableRequest(.post).hasIdempotencyKey)
    }
}

extension RetryHistory {
    /// A history with as many delays as attempts.
    static func after(free: Int = 0, counted: Int = 0) -> RetryHistory {
        var history = RetryHistory()
        (history.free, history.counted, history.exponent) = (free, counted, free + counted)
        return history
    }
}
