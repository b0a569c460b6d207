import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A caller that joins a shared exchange late", .limit(minutes: 5)) struct LateCallerTests {
    private let temporary = TemporaryStore()
    private let clock = TestClock()
    private let callers = JoinedCallers()

    private func engine(_ transport: StubTransport, _ policy: RetryPolicy = policies[0]) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        (configuration.transport, configuration.clock, configuration.retry) = (transport, clock, policy)
        return Engine(configuration)
    }

    /// Leaves a number of requests without an answer until they are canceled. Answers 200 from then on,
    /// when the gate is open.
    private func transport(silent count: Int, _ gate: Gate = Gate()) -> StubTransport {
        let (rest, silent) = (Guarded(count), StubTransport.silent())
        return StubTransport { request throws(TransportError) in
            let isSilent = rest.withLock { rest in
                defer { rest -= 1 }
                return rest > 0
            }
            if isSilent { return try await silent.send(request) }
            await gate.wait()
            return .stub(headers: [.cacheControl: "max-age=3600"])
        }
    }

    private func ask(_ engine: Engine, isConnection: Bool = false) -> Task<Response, any Error> {
        let request = Request("http://h/")
        guard isConnection else { return Task { try await engine.send(request) } }
        let connection = engine.start(request)
        return Task { try await connection.response }
    }

    private func sleeping(_ seconds: Int...) async {
        await untilTrue { [clock] in clock.sleeping == seconds.map { .seconds($0) } }
    }

    /// The timeout of a silent server is the same for callers that have joined later.
    @Test func `a late caller without a deadline times out together with the first caller`() async throws {
        let (gate, count) = (Gate(), Guarded(0))
        let transport = StubTransport { _ throws(TransportError) in
            count.withLock { $0 += 1 }
            await gate.wait()
            throw TransportError(.timedOut, "nothing moved", serverMayHaveActed: true)
        }
        var policy = RetryPolicy(attempts: 1)
        (policy.deadline, policy.attemptTimeout) = (nil, nil)
        let engine = engine(transport, policy)
        callers.watch(engine)
        let first = ask(engine)
        await untilTrue { count.withLock { $0 } == 1 }
        clock.advance(by: .seconds(30))
        let late = ask(engine)
        await callers.reach(2)
        clock.advance(by: .seconds(30))
        gate.open()
        for task in [first, late] { #expect(await task.errorCode == .timedOut) }
        #expect(count.withLock { $0 } == 1)
    }

    /// A caller whose exchange is under way, and one that joins it later.
    private func askTwice(
        _ engine: Engine,
        after delay: Duration,
        isConnection: Bool = false
    ) async -> (first: Task<Response, any Error>, late: Task<Response, any Error>) {
        let first = ask(engine)
        await sleeping(10)
        clock.advance(by: delay)
        let late = ask(engine, isConnection: isConnection)
        await callers.reach(2)
        return (first, late)
    }

    private func settled(_ engine: Engine) async {
        await untilTrue { engine.lanes.running == 0 && engine.lanes.waiting == 0 && engine.activity.counts.isIdle }
    }

    /// Policies that allow ten seconds in all.
    static let policies = [
        RetryPolicy(attempts: 1, attemptTimeout: .seconds(10)), RetryPolicy(deadline: .seconds(10)),
        RetryPolicy(attempts: 1, attemptTimeout: .seconds(10), window: nil),
    ]

    @Test(arguments: policies, [false, true])
    func `late callers share one new request after the first caller has timed out`(
        policy: RetryPolicy,
        isConnection: Bool
    ) async throws {
        let gate = Gate()
        let transport = transport(silent: 1, gate)
        let engine = engine(transport, policy)
        callers.watch(engine)
        let first = ask(engine, isConnection: !isConnection)
        await sleeping(10)
        clock.advance(by: .milliseconds(9_900))
        let late = (0..<3).map { _ in ask(engine, isConnection: isConnection) }
        await callers.reach(4)
        clock.advance(by: .milliseconds(100))
        #expect(await first.errorCode == .timedOut)
        // The timers of the three callers, and of the attempt that they share.
        let left = Array(repeating: Duration.milliseconds(9_900), count: 3) + [.seconds(10)]
        await untilTrue { [clock] in clock.sleeping == left }
        gate.open()
        for task in late { #expect(try await task.value.status == .ok) }
        #expect(transport.requests.count == 2 && callers.count == 4)
        await settled(engine)
    }

    @Test(arguments: policies, [false, true])
    func `has as much time as the first caller, and no more`(policy: RetryPolicy, isConnection: Bool)
        async throws
    {
        let transport = transport(silent: .max)
        let engine = engine(transport, policy)
        callers.watch(engine)
        let (first, late) = await askTwice(engine, after: .seconds(4), isConnection: isConnection)
        clock.advance(by: .seconds(6))
        #expect(await first.errorCode == .timedOut)
        await sleeping(4, 10)
        clock.advance(by: .seconds(4))
        #expect(await late.errorCode == .timedOut)
        #expect(transport.requests.count == 2 && callers.count == 2)
        await settled(engine)
    }

    @Test(arguments: [false, true])
    func `a caller that joins within 99 ms or before the exchange begins ends with the first caller`(isInLine: Bool)
        async throws
    {
        let transport = transport(silent: 1)
        let engine = engine(transport)
        callers.watch(engine)
        if isInLine { engine.lanes.pauseAll() }
        let first = ask(engine)
        if isInLine { await callers.reach(1) } else { await sleeping(10) }
        clock.advance(by: isInLine ? .seconds(60) : .milliseconds(99))
        let second = ask(engine)
        await callers.reach(2)
        engine.lanes.resumeAll()
        await untilTrue { [clock] in clock.sleeping.count == 1 }
        clock.advance(by: .seconds(10))
        #expect(await first.errorCode == .timedOut)
        #expect(await second.errorCode == .timedOut)
        #expect(transport.requests.count == 1)
    }

    @Test func `receives every other failure of the shared exchange`() async throws {
        let gate = Gate()
        let transport = StubTransport { _ throws(TransportError) in
            await gate.wait()
            throw TransportError(.badResponse, "no")
        }
        let engine = engine(transport)
        callers.watch(engine)
        let (first, late) = await askTwice(engine, after: .seconds(9))
        gate.open()
        #expect(await first.errorCode == .badResponse)
        #expect(await late.errorCode == .badResponse)
        #expect(transport.requests.count == 1)
    }

    @Test func `may cancel the exchange that it sends again`() async throws {
        let transport = transport(silent: .max)
        let engine = engine(transport)
        callers.watch(engine)
        let (first, late) = await askTwice(engine, after: .seconds(4))
        clock.advance(by: .seconds(6))
        #expect(await first.errorCode == .timedOut)
        await sleeping(4, 10)
        late.cancel()
        #expect(await late.errorCode == .cancelled)
        await settled(engine)
    }
}
