import HTTPTypes
import Testing

@testable import Diamond

@Suite("Reconnection to an event stream") struct ReconnectionTests {
    private let lost = ConnectionError(.connectionLost, "lost")

    private static func answer(_ status: Int, _ headers: HTTPFields = [:]) -> ConnectionError {
        ConnectionError(badStatus: Response(status: HTTPResponse.Status(code: status), headers: headers))
    }

    private func opened(_ request: Request = Request("http://h/"), _ policy: RetryPolicy = .default) -> Reconnection {
        var reconnection = Reconnection(request, policy)
        reconnection.open()
        return reconnection
    }

    @Test func `a reconnection after the end of a stream waits as long as the server says`() {
        var reconnection = opened()
        #expect(reconnection.delayAfterEnd == .seconds(3))
        reconnection.time = .milliseconds(100)
        #expect(reconnection.delayAfterEnd == .milliseconds(100))
        // Never at once: a server that closes each stream as it opens would receive requests without end.
        reconnection.time = .zero
        #expect(reconnection.delayAfterEnd == .milliseconds(50))
    }

    @Test(arguments: [
        (Duration.zero, Duration.zero, 50), (.milliseconds(1), .milliseconds(1), 50),
        (.zero, .milliseconds(200), 200), (.milliseconds(200), .zero, 200),
    ])
    func `is never immediate, whatever the server and the policy say`(
        time: Duration, baseDelay: Duration, least: Int
    ) {
        var reconnection = opened(Request("http://h/"), RetryPolicy(baseDelay: baseDelay))
        reconnection.time = time
        #expect(reconnection.delayAfterEnd == .milliseconds(least))
        let delays = (0..<3).compactMap { _ in reconnection.delay(after: lost, draw: 0.5, now: 0) }
        let growing: [Duration] = [1.5, 2, 3].map { .milliseconds(Double(least) * $0) }
        #expect(delays == growing)
    }

    @Test func `waits longer after each failure, and briefly after an open stream`() {
        var reconnection = opened()
        let delays = (0..<5).map { _ in reconnection.delay(after: lost, draw: 0.5, now: 0) }
        #expect(delays == [4.5, 6, 9, 13, 13].map { .seconds($0) })
        reconnection.open()
        #expect(reconnection.delay(after: lost, draw: 0.5, now: 0) == .seconds(4.5))
    }

    @Test func `waits as long as a failing server asks for`() {
        var reconnection = opened()
        let busy = Self.answer(503, [.retryAfter: "60"])
        #expect(reconnection.delay(after: busy, draw: 0, now: 0) == .seconds(60))
    }

    @Test(arguments: [
        (ConnectionError(.timedOut, ""), true), (ConnectionError(.cannotConnect, ""), true),
        (ConnectionError(.circuitOpen, ""), true), (answer(503), true), (answer(429), true),
        (answer(404), false), (answer(401), false), (ConnectionError(.cancelled, ""), false),
        (ConnectionError(.noEngine, ""), false), (ConnectionError(TransportError(.tlsFailed, "")), true),
        (ConnectionError(TransportError(.certificateRejected, "")), false),
        (ConnectionError(.badContentType, ""), false), (ConnectionError(.badResponse, ""), false),
    ]) func `follows transient errors only`(error: ConnectionError, isPassing: Bool) {
        var reconnection = opened()
        #expect((reconnection.delay(after: error, draw: 0, now: 0) != nil) == isPassing)
    }

    @Test func `requires that the stream has been open before`() {
        var reconnection = Reconnection(Request("http://h/"), .default)
        #expect(reconnection.delay(after: lost, draw: 0, now: 0) == nil)
        #expect(reconnection.attempts.attempts == 3)
        reconnection.open()
        #expect(reconnection.attempts.attempts == 1)
    }

    @Test func `requires a request that may be sent twice, and a policy that allows retries`() throws {
        let key = try #require(HTTPField.Name("Idempotency-Key"))
        let post = Request("http://h/", method: .post)
        let marked = Request("http://h/", method: .post, headers: [key: "1"])
        for (request, policy, isAllowed) in [
            (post, RetryPolicy.default, false), (marked, .default, true),
            (post, RetryPolicy(retriesUnsafeMethods: true), true), (Request("http://h/"), .never, false),
        ] {
            var reconnection = opened(request, policy)
            #expect((reconnection.delayAfterEnd != nil) == isAllowed)
            #expect((reconnection.delay(after: lost, draw: 0, now: 0) != nil) == isAllowed)
        }
    }
}
