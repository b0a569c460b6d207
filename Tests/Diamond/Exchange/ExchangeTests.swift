import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `An exchange` {
    private let temporary = TemporaryStore()
    private let clock = TestClock()
    private let wall = ManualClock()

    /// Answers one after another, the last one from then on.
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

    /// Wakes who waits, as often as is said.
    private func pass(_ delays: Duration...) async {
        for delay in delays {
            await untilTrue { [clock] in clock.sleeping == [delay] }
            clock.advance(by: delay)
        }
    }

    private static let lost = TransportError(.connectionLost, "lost", requestMayHaveBeenSent: true)
    private static let refused = TransportError(.cannotConnect, "refused")

    @Test func `is repeated after a delay, and tells what led to its end`() async throws {
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

    @Test func `tells nothing of itself where the first attempt was all`() async throws {
        let engine = engine(transport(.success(200), .success(404)))
        #expect(try await engine.send(Request("http://h/1")).attempts.isEmpty)
        #expect(try await engine.send(Request("http://h/2")).attempts.isEmpty)
    }

    @Test func `fails with the last error and all attempts when they are used up`() async throws {
        let engine = engine(transport(.failure(Self.lost)))
        let task = Task { await caught { try await engine.send(Request("http://h/")) } }
        // Lost before an answer, it goes again at once the first time.
        await pass(.milliseconds(25))
        let error = try #require(await task.value)
        #expect(error.code == .connectionLost)
        #expect(error.attempts.map(\.reason?.code) == [.connectionClosed, .interrupted, .attemptsUsed])
    }

    @Test func `says how many attempts were made, those that do not count included`() async throws {
        let engine = engine(transport(.failure(Self.refused))) { $0.draw = { 0 } }
        let error = try #require(await caught { try await engine.send(Request("http://h/")) })
        #expect(error.attempts.count == 6)
        #expect(error.attempts.last?.reason?.message == "6 attempts were made, 3 of which do not count")
    }

    @Test func `of a POST is repeated where nothing was sent, and not otherwise`() async throws {
        let transport = transport(.failure(Self.refused), .failure(Self.lost))
        let engine = engine(transport)
        let task = Task { await caught { try await engine.send(Request("http://h/", method: .post)) } }
        await pass(.milliseconds(25))
        let error = try #require(await task.value)
        #expect(error.attempts.map(\.reason?.code) == [.unprocessed, .notIdempotent])
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [Request("http://h/"), Request("http://h/", cache: .noStore)])
    func `that waits has no place on the wire, and the connection says until when`(request: Request) async throws {
        let engine = engine(transport(.success(503), .success(200))) { $0.width = 1 }
        let connection = engine.enqueue(request)
        await untilTrue { [clock] in clock.sleeping == [.milliseconds(25)] }
        await untilTrue { engine.lanes.running == 0 }
        #expect(connection.state == .waiting(until: Date(milliseconds: wall.milliseconds + 25)))
        #expect(engine.activity.inFlight == 0)
        #expect(try await engine.send(Request("http://other/")).status == .ok)
        clock.advance(by: .milliseconds(25))
        #expect(try await connection.response.attempts.count == 2)
    }

    @Test(arguments: [Request("http://h/"), Request("http://h/", cache: .noStore)])
    func `that waits ends at once with a cancel, and goes on anew after a pause`(request: Request) async throws {
        let transport = transport(.success(503))
        let engine = engine(transport)
        let connections = [engine.enqueue(request)]
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

    @Test func `takes no longer than an attempt may, and not after the deadline`() async throws {
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

    @Test func `is given up where its way back to the wire took too long`() async throws {
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
    func `goes on over a new connection where a kept one would not do`(
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

    /// What leaves how many milliseconds for the begin of another attempt, after the first delay.
    static let limits: [(policy: RetryPolicy, rest: Int)] = [
        (RetryPolicy(deadline: .seconds(1)), 975), (RetryPolicy(window: .seconds(2)), 1_975),
        (RetryPolicy(deadline: .seconds(3), window: .seconds(2)), 1_975),
    ]

    @Test(arguments: limits, [Result<Int, TransportError>.success(503), .failure(refused)])
    func `waits for its way back no longer than another attempt may begin`(
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
        // It stands in line no more, and no place is kept for it.
        #expect(engine.lanes.waiting == 0 && engine.lanes.isPaused(.default))
        engine.lanes.resumeAll()
        #expect(engine.lanes.running == 0)
        #expect(try await engine.send(Request("http://h/2")).status == .ok)
    }

    @Test func `whose place comes with the end of its time gives it back`() async throws {
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

    @Test func `that has not begun waits for its place as long as it takes`() async throws {
        let engine = engine(StubTransport.silent()) { $0.retry = RetryPolicy(deadline: .seconds(1)) }
        engine.lanes.pauseAll()
        let task = Task { await caught { try await engine.send(Request("http://h/")) } }
        await untilTrue { engine.lanes.waiting == 1 }
        clock.advance(by: .seconds(60))
        engine.lanes.resumeAll()
        // All of its time is left.
        await pass(.seconds(1))
        #expect(await task.value?.code == .timedOut)
    }

    @Test func `that is canceled between attempts tells of those before`() async throws {
        let engine = engine(transport(.success(503)))
        let task = Task { await caught { try await engine.send(Request("http://h/", cache: .noStore)) } }
        await untilTrue { [clock] in clock.sleeping.count == 1 }
        task.cancel()
        let error = try #require(await task.value)
        #expect(error.code == .cancelled && error.attempts.count == 1)
    }

    @Test func `waits as long as the server asks, and gives its answer back where that is too long`() async throws {
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

    @Test func `is repeated no more where too many were`() async throws {
        let transport = transport(.success(503))
        let engine = engine(transport) { $0.draw = { 0 } }
        var reasons: [RetryReason.Code?] = []
        for number in 0..<20 {
            reasons.append(try await engine.send(Request("http://h/\(number)")).attempts.last?.reason?.code)
        }
        // 10 in reserve, and a tenth for each of the first requests.
        #expect(reasons.prefix(5).allSatisfy { $0 == .attemptsUsed })
        #expect(reasons.suffix(5).contains(.budgetEmpty))
        #expect(transport.requests.count <= 20 + 12)
        #expect(try await engine.send(Request("http://other/")).attempts.last?.reason?.code == .attemptsUsed)
    }

    @Test func `is repeated no more than the engine's budget pays for`() async throws {
        let transport = transport(.success(503))
        let engine = engine(transport) { configuration in
            configuration.draw = { 0 }
            configuration.retryBudget = RetryBudgetPolicy(share: 0, reserve: 1)
        }
        let attempts = try await engine.send(Request("http://h/")).attempts
        #expect(attempts.map(\.reason?.code) == [.status, .budgetEmpty])
        #expect(transport.requests.count == 2)
    }

    @Test func `is not begun where most have failed, until one has proven the server well`() async throws {
        let transport = transport(.failure(Self.refused))
        let engine = engine(transport) { configuration in
            configuration.circuit = CircuitPolicy(minimumCalls: 3)
            configuration.retry = .never
        }
        for _ in 0..<3 { #expect(await caught { try await engine.send(Request("http://h/")) }?.code == .cannotConnect) }
        #expect(await caught { try await engine.send(Request("http://h/")) }?.code == .circuitOpen)
        #expect(transport.requests.count == 3)
        clock.advance(by: .seconds(5))
        #expect(await caught { try await engine.send(Request("http://h/")) }?.code == .cannotConnect)
    }

    @Test func `tells what came of it last where others open the circuit while it waits`() async throws {
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

    @Test func `goes by the policy of the request, through redirects too`() async throws {
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
