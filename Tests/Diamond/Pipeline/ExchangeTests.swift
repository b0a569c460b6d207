import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An exchange", .limit(minutes: 5)) struct ExchangeTests {
    private let temporary = TemporaryStore()
    private let clock = TestClock()
    private let wall = ManualClock()

    /// Returns a transport with these results, one after another. The last result is repeated.
    private func transport(_ answers: Result<Int, TransportError>...) -> StubTransport {
        let rest = Guarded(answers)
        return StubTransport { _ throws(TransportError) in
            let next = rest.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            return .stub(status: try next.get(), headers: [:])
        }
    }

    private func engine(
        _ transport: any Transport,
        _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        configuration.clock = clock
        configuration.now = { [wall] in wall.now }
        configuration.draw = { 0.5 }
        change(&configuration)
        return Engine(configuration)
    }

    private func caught(_ body: () async throws -> Response) async -> ConnectionError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? ConnectionError
        }
    }

    /// Advances the clock by each delay, when a task sleeps for it.
    private func pass(_ delays: Duration...) async {
        for delay in delays {
            await untilTrue { [clock] in clock.sleeping == [delay] }
            clock.advance(by: delay)
        }
    }

    private static let lost = TransportError(.connectionLost, "lost", serverMayHaveActed: true)
    private static let refused = TransportError(.cannotConnect, "refused")

    @Test func `is retried after a delay, and reports the earlier attempts`() async throws {
        let transport = transport(.success(503), .failure(Self.refused), .success(200))
        let engine = engine(transport)
        let task = Task { try await engine.send(Request("http://h/")) }
        await pass(.milliseconds(25), .milliseconds(50))
        let response = try await task.value
        #expect(response.status == .ok && transport.requests.count == 3)
        #expect(response.attempts.map(\.delay) == [.milliseconds(25), .milliseconds(50), nil])
        #expect(response.attempts.map(\.reason?.code) == [.status, .unprocessed, nil])
        #expect(response.attempts.map(\.startedAt) == [wall.now, wall.now, wall.now])
    }

    @Test func `an exchange with one attempt reports no attempts`() async throws {
        let engine = engine(transport(.success(200), .success(404)))
        #expect(try await engine.send(Request("http://h/1")).attempts.isEmpty)
        #expect(try await engine.send(Request("http://h/2")).attempts.isEmpty)
    }

    @Test func `an exchange whose attempts are used up fails with the last error and all attempts`() async throws {
        let engine = engine(transport(.failure(Self.lost)))
        let task = Task { await caught { try await engine.send(Request("http://h/")) } }
        // A request lost before its response is retried at once the first time.
        await pass(.milliseconds(25))
        let error = try #require(await task.value)
        #expect(error.code == .connectionLost)
        #expect(error.attempts.map(\.reason?.code) == [.connectionClosed, .interrupted, .attemptsUsed])
    }

    @Test func `reports all attempts, including those that its policy does not count`() async throws {
        let engine = engine(transport(.failure(Self.refused))) { $0.draw = { 0 } }
        let error = try #require(await caught { try await engine.send(Request("http://h/")) })
        #expect(error.attempts.count == 6)
        #expect(error.attempts.last?.reason?.message == "6 attempts were made, 3 of which do not count")
    }

    @Test func `an exchange of a POST is retried only if nothing was sent`() async throws {
        let transport = transport(.failure(Self.refused), .failure(Self.lost))
        let engine = engine(transport)
        let task = Task { await caught { try await engine.send(Request("http://h/", method: .post)) } }
        await pass(.milliseconds(25))
        let error = try #require(await task.value)
        #expect(error.attempts.map(\.reason?.code) == [.unprocessed, .notIdempotent])
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [Request("http://h/"), Request("http://h/", cache: .noStore)])
    func `a waiting exchange holds no permit, and its connection says until when it waits`(request: Request)
        async throws
    {
        let engine = engine(transport(.success(503), .success(200))) { $0.width = 1 }
        let connection = engine.start(request)
        await untilTrue { [clock] in clock.sleeping == [.milliseconds(25)] }
        await untilTrue { engine.lanes.running == 0 }
        #expect(connection.state == .waiting(until: (wall.wallTime + 25).date))
        #expect(engine.activity.counts.inFlight == 0)
        #expect(try await engine.send(Request("http://other/")).status == .ok)
        clock.advance(by: .milliseconds(25))
        #expect(try await connection.response.attempts.count == 2)
    }

    @Test(arguments: [Request("http://h/"), Request("http://h/", cache: .noStore)])
    func `a waiting exchange ends at once with a cancel, and starts again after a pause`(request: Request) async throws
    {
        let transport = transport(.success(503))
        let engine = engine(transport)
        let connections = [engine.start(request)]
        await untilTrue { [clock] in clock.sleeping.count == 1 }
        connections[0].pause()
        await untilTrue { [clock] in clock.sleeping.isEmpty }
        #expect(connections[0].isPaused)
        connections[0].resume()
        await untilTrue { [clock] in clock.sleeping.count == 1 }
        connections[0].cancel()
        await untilTrue { [clock] in clock.sleeping.isEmpty && connections[0].isFinished }
        #expect(transport.requests.count == 2)
    }

    @Test func `ends at its deadline, and each of its attempts at the attempt timeout`() async throws {
        let transport = StubTransport.silent()
        let engine = engine(transport)
        var request = Request("http://h/")
        request.retry = RetryPolicy(attemptTimeout: .seconds(10), deadline: .seconds(15))
        let task = Task { await caught { try await engine.send(request) } }
        await pass(.seconds(10), .milliseconds(25), .milliseconds(4975))
        let error = try #require(await task.value)
        #expect(error.code == .timedOut)
        #expect(error.attempts.map(\.reason?.code) == [.interrupted, .outOfTime])
    }

    @Test func `an exchange whose retry waits too long for a permit returns the last response`() async throws {
        let transport = transport(.success(503))
        let engine = engine(transport)
        let task = Task { try await engine.send(Request("http://h/")) }
        await untilTrue { [clock] in clock.sleeping.count == 1 }
        engine.lanes.pauseAll()
        await pass(.milliseconds(25))
        await untilTrue { engine.lanes.waiting == 1 }
        clock.advance(by: .seconds(30))
        engine.lanes.resumeAll()
        let response = try await task.value
        #expect(response.status == .serviceUnavailable && transport.requests.count == 1)
        #expect(response.attempts.map(\.reason?.code) == [.outOfTime])
    }

    @Test(
        arguments: [
            ([.success(421), .success(503), .success(200)], [false, true, true]),
            ([.failure(lost), .failure(lost), .success(200)], [false, true, false]),
            ([.success(503), .success(200)], [false, false]),
        ] as [([Result<Int, TransportError>], [Bool])])
    func `is retried over a new connection where a reused one was closed`(
        answers: [Result<Int, TransportError>],
        areNew: [Bool]
    ) async throws {
        let rest = Guarded(answers)
        let transport = StubTransport { _ throws(TransportError) in
            .stub(status: try rest.withLock { $0.removeFirst() }.get())
        }
        let engine = engine(transport) { $0.draw = { 0 } }
        #expect(try await engine.send(Request("http://h/")).status == .ok)
        #expect(transport.requests.map(\.needsNewConnection) == areNew)
    }

    /// Retry policies, and the milliseconds that each leaves after the first delay for the start of another attempt.
    static let limits: [(policy: RetryPolicy, rest: Int)] = [
        (RetryPolicy(deadline: .seconds(1)), 975), (RetryPolicy(window: .seconds(2)), 1_975),
        (RetryPolicy(deadline: .seconds(3), window: .seconds(2)), 1_975),
    ]

    @Test(arguments: limits, [Result<Int, TransportError>.success(503), .failure(refused)])
    func `waits for the permit of a retry only while the retry may begin`(
        limit: (policy: RetryPolicy, rest: Int),
        outcome: Result<Int, TransportError>
    ) async throws {
        let transport = transport(outcome, .success(200))
        let engine = engine(transport) { ($0.width, $0.retry) = (1, limit.policy) }
        let task = Task { try await engine.send(Request("http://h/")) }
        await untilTrue { [clock] in clock.sleeping.count == 1 }
        engine.lanes.pauseAll()
        await pass(.milliseconds(25), .milliseconds(limit.rest))
        let attempts: [Attempt]
        switch (await task.result, outcome) {
        case (.success(let response), .success(let status)):
            #expect(response.status.code == status)
            attempts = response.attempts
        case (.failure(let error as ConnectionError), .failure):
            #expect(error.code == .cannotConnect)
            attempts = error.attempts
        case (let other, _):
            Issue.record("\(other)")
            return
        }
        #expect(attempts.map(\.reason?.code) == [.outOfTime] && transport.requests.count == 1)
        // The exchange has left the queue, and no permit is reserved for it.
        #expect(engine.lanes.waiting == 0 && engine.lanes.isPaused(.default))
        engine.lanes.resumeAll()
        #expect(engine.lanes.running == 0)
        #expect(try await engine.send(Request("http://h/2")).status == .ok)
    }

    @Test func `an exchange whose permit arrives at its deadline returns it`() async throws {
        for number in 0..<100 {
            let engine = engine(transport(.success(503))) { configuration in
                (configuration.width, configuration.retry) = (1, RetryPolicy(deadline: .seconds(1)))
                configuration.store = nil
            }
            let task = Task { try await engine.send(Request("http://h/")) }
            await untilTrue { [clock] in clock.sleeping == [.milliseconds(25)] }
            engine.lanes.pauseAll()
            await pass(.milliseconds(25))
            await untilTrue { [clock] in clock.sleeping == [.milliseconds(975)] }
            clock.advance(by: .milliseconds(975))
            engine.lanes.resumeAll()
            #expect(try await task.value.attempts.map(\.reason?.code) == [.outOfTime], "round \(number)")
            await untilTrue { engine.lanes.running == 0 && engine.lanes.waiting == 0 }
        }
    }

    @Test func `an exchange that has not begun waits for its permit without a time limit`() async throws {
        let engine = engine(StubTransport.silent()) { $0.retry = RetryPolicy(deadline: .seconds(1)) }
        engine.lanes.pauseAll()
        let task = Task { await caught { try await engine.send(Request("http://h/")) } }
        await untilTrue { engine.lanes.waiting == 1 }
        clock.advance(by: .seconds(60))
        engine.lanes.resumeAll()
        // The exchange still has all of its time.
        await pass(.seconds(1))
        #expect(await task.value?.code == .timedOut)
    }

    @Test func `an exchange canceled between attempts reports the earlier ones`() async throws {
        let engine = engine(transport(.success(503)))
        let task = Task { await caught { try await engine.send(Request("http://h/", cache: .noStore)) } }
        await untilTrue { [clock] in clock.sleeping.count == 1 }
        task.cancel()
        let error = try #require(await task.value)
        #expect(error.code == .cancelled && error.attempts.count == 1)
    }

    @Test func `obeys Retry-After, and returns the response if the time is too long`()
        async throws
    {
        let answers = Guarded(["2", "60"])
        let transport = StubTransport { _ throws(TransportError) in
            .stub(status: 503, headers: [.retryAfter: answers.withLock { $0.removeFirst() }])
        }
        let engine = engine(transport)
        let task = Task { try await engine.send(Request("http://h/", method: .post)) }
        await pass(.seconds(2))
        let response = try await task.value
        #expect(response.status == .serviceUnavailable)
        #expect(response.attempts.map(\.reason?.code) == [.retryAfter, .retryAfterTooLong])
    }

    @Test func `is not retried after too many retries`() async throws {
        let transport = transport(.success(503))
        let engine = engine(transport) { $0.draw = { 0 } }
        var reasons: [RetryReason.Code?] = []
        for number in 0..<20 {
            reasons.append(try await engine.send(Request("http://h/\(number)")).attempts.last?.reason?.code)
        }
        // The budget has a reserve of 10 retries, and a tenth of a retry for each request.
        #expect(reasons.prefix(5).allSatisfy { $0 == .attemptsUsed })
        #expect(reasons.suffix(5).contains(.budgetEmpty))
        #expect(transport.requests.count <= 20 + 12)
        #expect(try await engine.send(Request("http://other/")).attempts.last?.reason?.code == .attemptsUsed)
    }

    @Test func `is retried no more often than the engine's budget allows`() async throws {
        let transport = transport(.success(503))
        let engine = engine(transport) { configuration in
            configuration.draw = { 0 }
            configuration.retryBudget = RetryBudgetPolicy(share: 0, reserve: 1)
        }
        let attempts = try await engine.send(Request("http://h/")).attempts
        #expect(attempts.map(\.reason?.code) == [.status, .budgetEmpty])
        #expect(transport.requests.count == 2)
    }

    @Test func `does not begin while the circuit breaker is open, until a probe succeeds`() async throws {
        let transport = transport(.failure(Self.refused))
        let engine = engine(transport) { configuration in
            configuration.circuit = CircuitPolicy(minimumCalls: 3)
            configuration.retry = .never
        }
        for _ in 0..<3 { #expect(await caught { try await engine.send(Request("http://h/")) }?.code == .cannotConnect) }
        let refused = await caught { try await engine.send(Request("http://h/")) }
        #expect(refused?.code == .circuitOpen && refused?.openUntil == wall.now.addingTimeInterval(5))
        #expect(transport.requests.count == 3)
        clock.advance(by: .seconds(5))
        #expect(await caught { try await engine.send(Request("http://h/")) }?.code == .cannotConnect)
    }

    @Test func `a waiting exchange ends with its last result when the circuit breaker opens`() async throws {
        let transport = transport(.success(503))
        let engine = engine(transport) { $0.circuit = CircuitPolicy(minimumCalls: 2) }
        let task = Task { try await engine.send(Request("http://h/1")) }
        await untilTrue { [clock] in clock.sleeping == [.milliseconds(25)] }
        var other = Request("http://h/2")
        other.retry = .never
        #expect(try await engine.send(other).status == .serviceUnavailable)
        clock.advance(by: .milliseconds(25))
        let response = try await task.value
        #expect(response.status == .serviceUnavailable && response.text == "body")
        #expect(response.attempts.map(\.reason?.code) == [.circuitOpen] && response.attempts[0].delay == nil)
        #expect(transport.requests.count == 2)
    }

    @Test func `uses the retry policy of its request, through redirects too`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            request.url == "http://h/" ? .stub(status: 302, headers: [.location: "/b"]) : .stub(status: 503)
        }
        let engine = engine(transport)
        var request = Request("http://h/")
        request.retry = .never
        #expect(try await engine.send(request).status == .serviceUnavailable)
        #expect(transport.requests.map(\.url) == ["http://h/", "http://h/b"])
    }
}
