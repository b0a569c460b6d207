import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// A deadline of ten seconds, whatever the time is spent on.
@Suite("The deadline of a request", .limit(minutes: 5)) struct DeadlineTests {
    private let temporary = TemporaryStore()
    private let clock = TestClock()
    private let callers = JoinedCallers()
    /// Whether `/start` redirects to `/end` by now.
    private let leads = Gate()
    /// Whether `/end` answers.
    private let answers = Gate()

    private func transport() -> StubTransport {
        StubTransport { [leads, answers] request throws(TransportError) in
            guard request.url.hasSuffix("/start") else {
                try await Self.pass(answers)
                return .stub()
            }
            try await Self.pass(leads)
            return .stub(status: 307, headers: [.location: "/end"])
        }
    }

    /// Waits for a gate, unless the exchange is canceled.
    private static func pass(_ gate: Gate) async throws(TransportError) {
        let isOpen = Promise<Bool>()
        Task {
            await gate.wait()
            isOpen.fulfill(with: true)
        }
        guard await isOpen.value(whenCanceled: { false }) else { throw .cancelled(serverMayHaveActed: true) }
    }

    /// Releases the exchanges that still wait at a gate.
    private func openAll() {
        leads.open()
        answers.open()
    }

    private func engine(_ transport: StubTransport) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        (configuration.transport, configuration.clock) = (transport, clock)
        configuration.retry = RetryPolicy(deadline: .seconds(10))
        return Engine(configuration)
    }

    /// How the request is sent, and whether other callers may share its exchange.
    enum Sending: CaseIterable {
        case task, connection, taskAlone, connectionAlone

        var isAlone: Bool { self == .taskAlone || self == .connectionAlone }
        var isConnection: Bool { self == .connection || self == .connectionAlone }
    }

    private func ask(
        _ engine: Engine,
        _ path: String = "start",
        as sending: Sending = .task
    ) -> Task<Response, any Error> {
        let request = Request("http://h/\(path)", cache: sending.isAlone ? .noStore : .automatic)
        guard sending.isConnection else { return Task { try await engine.send(request) } }
        let connection = engine.start(request)
        return Task { try await connection.response }
    }

    private func sleeping(_ seconds: Int...) async {
        await untilTrue { [clock] in clock.sleeping == seconds.map { .seconds($0) } }
    }

    private func settled(_ engine: Engine) async {
        await untilTrue { engine.lanes.running == 0 && engine.lanes.waiting == 0 && engine.activity.counts.isIdle }
    }

    // MARK: Hops

    @Test(arguments: Sending.allCases) func `one deadline covers all hops of a redirect`(sending: Sending) async throws
    {
        let transport = transport()
        let engine = engine(transport)
        let task = ask(engine, as: sending)
        await sleeping(10)
        clock.advance(by: .seconds(4))
        leads.open()
        // The timer of the first hop has ended.
        await untilTrue { transport.requests.count == 2 }
        // A caller that may share the exchange has a timer in addition to that of the exchange.
        await untilTrue { [clock] in
            clock.sleeping == Array(repeating: .seconds(6), count: sending.isAlone ? 1 : 2)
        }
        clock.advance(by: .seconds(6))
        #expect(await task.errorCode == .timedOut)
        #expect(transport.requests.map(\.url) == ["http://h/start", "http://h/end"])
        await settled(engine)
        openAll()
    }

    @Test func `the attempt timeout starts again with each hop, unlike the deadline`() async throws {
        let engine = engine(transport())
        var request = Request("http://h/start", cache: .noStore)
        request.retry = RetryPolicy(attempts: 1, attemptTimeout: .seconds(5), deadline: .seconds(20))
        let task = Task { [request] in try await engine.send(request) }
        await sleeping(5)
        clock.advance(by: .seconds(4))
        leads.open()
        await sleeping(5)
        clock.advance(by: .seconds(4))
        answers.open()
        #expect(try await task.value.status == .ok)
    }

    @Test(arguments: Sending.allCases)
    func `includes the wait for a permit after a redirect`(sending: Sending) async throws {
        let transport = transport()
        let engine = engine(transport)
        let task = ask(engine, as: sending)
        await sleeping(10)
        engine.lanes.pauseAll()
        clock.advance(by: .seconds(4))
        leads.open()
        await untilTrue { engine.lanes.waiting == 1 }
        await sleeping(6)
        clock.advance(by: .seconds(6))
        #expect(await task.errorCode == .timedOut)
        #expect(transport.requests.map(\.url) == ["http://h/start"])
        // The request has left the queue, and no permit is reserved for it.
        await untilTrue { engine.lanes.waiting == 0 }
        engine.lanes.resumeAll()
        await settled(engine)
        answers.open()
        #expect(try await engine.send(Request("http://h/end")).status == .ok)
    }

    @Test func `does not begin again after a failed validation`() async throws {
        let isStored = Guarded(false)
        let transport = StubTransport { [leads, answers] request throws(TransportError) in
            let headers: HTTPFields = [.cacheControl: "max-age=0", .eTag: "\"1\""]
            guard isStored.withLock({ $0 }) else { return .stub(headers: headers) }
            guard request.headers[.ifNoneMatch] != nil else {
                try await Self.pass(answers)
                return .stub()
            }
            try await Self.pass(leads)
            return .stub(status: 304, headers: [.eTag: "\"2\""], body: "")
        }
        let engine = engine(transport)
        _ = try await engine.send(Request("http://h/end"))
        isStored.withLock { $0 = true }
        let task = ask(engine, "end")
        await sleeping(10)
        clock.advance(by: .seconds(4))
        leads.open()
        await untilTrue { transport.requests.count == 3 }
        await sleeping(6)
        clock.advance(by: .seconds(6))
        #expect(await task.errorCode == .timedOut)
        #expect(transport.requests.count == 3)
        openAll()
    }

    // MARK: Shared exchanges

    @Test(arguments: [Sending.task, .connection])
    func `a caller that joins the exchange of a redirect keeps its own deadline`(sending: Sending) async throws {
        let transport = transport()
        let engine = engine(transport)
        callers.watch(engine)
        let first = ask(engine)
        await sleeping(10)
        clock.advance(by: .seconds(4))
        leads.open()
        await sleeping(6, 6)
        clock.advance(by: .seconds(1))
        let late = ask(engine, "end", as: sending)
        await callers.reach(3)
        clock.advance(by: .seconds(5))
        #expect(await first.errorCode == .timedOut)
        // The timers of the late caller, and of the exchange that it has begun.
        await sleeping(5, 10)
        answers.open()
        #expect(try await late.value.status == .ok)
        #expect(transport.requests.map(\.url) == ["http://h/start", "http://h/end", "http://h/end"])
        await settled(engine)
    }

    @Test(arguments: [Sending.task, .connection])
    func `stays the same where a redirect leads to an exchange under way`(sending: Sending) async throws {
        let transport = transport()
        let engine = engine(transport)
        callers.watch(engine)
        let redirected = ask(engine, as: sending)
        await sleeping(10)
        clock.advance(by: .seconds(4))
        let other = ask(engine, "end")
        await sleeping(6, 10)
        clock.advance(by: .seconds(1))
        leads.open()
        await callers.reach(3)
        await sleeping(5, 9)
        clock.advance(by: .seconds(5))
        #expect(await redirected.errorCode == .timedOut)
        await sleeping(4)
        answers.open()
        #expect(try await other.value.status == .ok)
        #expect(transport.requests.map(\.url) == ["http://h/start", "http://h/end"])
        await settled(engine)
    }

    @Test(arguments: [Sending.task, .connection])
    func `the deadline of a caller that joins later is later by the same time`(sending: Sending) async throws {
        let engine = engine(transport())
        callers.watch(engine)
        let first = ask(engine)
        await sleeping(10)
        clock.advance(by: .seconds(3))
        let late = ask(engine, as: sending)
        await callers.reach(2)
        clock.advance(by: .seconds(1))
        leads.open()
        // The callers' timers, and that of the exchange.
        await untilTrue { [clock] in [[6, 6, 9], [6, 9, 9]].contains(clock.sleeping.map { $0 / .seconds(1) }) }
        clock.advance(by: .seconds(6))
        #expect(await first.errorCode == .timedOut)
        await sleeping(3, 3)
        clock.advance(by: .seconds(3))
        #expect(await late.errorCode == .timedOut)
        await settled(engine)
        openAll()
    }

    @Test(arguments: [Sending.task, .connection])
    func `the deadline of a caller that repeats the first hop also covers the redirect after it`(sending: Sending)
        async throws
    {
        let transport = transport()
        let engine = engine(transport)
        callers.watch(engine)
        let first = ask(engine)
        await sleeping(10)
        clock.advance(by: .seconds(4))
        let late = ask(engine, as: sending)
        await callers.reach(2)
        clock.advance(by: .seconds(6))
        #expect(await first.errorCode == .timedOut)
        await sleeping(4, 10)
        clock.advance(by: .seconds(1))
        leads.open()
        await sleeping(3, 3)
        clock.advance(by: .seconds(3))
        #expect(await late.errorCode == .timedOut)
        #expect(transport.requests.map(\.url) == ["http://h/start", "http://h/start", "http://h/end"])
        await settled(engine)
        openAll()
    }
}
