import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Hedged requests", .limit(minutes: 5)) struct HedgeTests {
    private let server = ManualServer()
    private let clock = TestClock()

    private func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        var configuration = Engine.Configuration(testing: server.transport, clock: clock)
        configuration.retry = RetryPolicy(hedgeDelay: .seconds(1))
        configuration.draw = { 0.5 }
        change(&configuration)
        return Engine(configuration)
    }

    private static let request = Request("http://h/")

    private func flying(_ count: Int) async { await untilTrue { [server] in server.flying.count == count } }

    /// Advances the clock to the time of the second attempt.
    private func pass() async {
        await untilTrue { [clock] in clock.sleeping == [.seconds(1)] }
        clock.advance(by: .seconds(1))
    }

    @Test(arguments: [0, 1]) func `a slow attempt is hedged by another, and the first response counts`(faster: Int)
        async throws
    {
        let engine = engine()
        let connection = engine.start(Self.request)
        await flying(1)
        await pass()
        await flying(2)
        #expect(engine.activity.counts.inFlight == 2 && engine.lanes.running == 2)
        server.land("http://h/", number: faster)
        let response = try await connection.response
        #expect(response.text == "http://h/" && response.attempts.map(\.reason?.code) == [.hedged, nil])
        #expect(response.attempts.first?.outcome.description.hasPrefix("cancelled") == true)
        #expect(server.flying.isEmpty && clock.sleeping.isEmpty)
        await untilTrue { engine.activity.counts.isIdle && engine.lanes.running == 0 }
    }

    @Test func `an attempt is not hedged where its response arrives before`() async throws {
        let connection = engine().start(Self.request)
        await flying(1)
        await untilTrue { [clock] in clock.sleeping == [.seconds(1)] }
        server.landAll()
        #expect(try await connection.response.attempts.isEmpty)
        #expect(clock.sleeping.isEmpty)
    }

    /// A reason not to send a second attempt.
    enum Obstacle: CaseIterable {
        case unsafe, body, noRoom, noBudget, signing
    }

    private struct HeaderInterceptor: Interceptor {
        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            if attempt > 1 { throw CancellationError() }
        }
    }

    @Test(arguments: Obstacle.allCases) func `a slow attempt is not hedged if a second attempt may not be sent`(
        obstacle: Obstacle
    ) async throws {
        let engine = engine { configuration in
            if obstacle == .noRoom { configuration.originWidth = 1 }
            if obstacle == .noBudget {
                let server = server.transport
                configuration.transport = StubTransport { request throws(TransportError) in
                    guard !request.url.hasSuffix("busy") else { return .stub(status: 503) }
                    return try await server.send(request)
                }
                configuration.draw = { 0 }
            }
            if obstacle == .signing { configuration.interceptors = [HeaderInterceptor()] }
        }
        if obstacle == .noBudget { try await spend(engine) }
        var request = Self.request
        if obstacle == .unsafe { request.method = .delete }
        if obstacle == .body { (request.method, request.body) = (.query, .json(1)) }
        let connection = engine.start(request)
        await flying(1)
        if obstacle != .unsafe, obstacle != .body { await pass() }
        await untilTrue { [clock] in clock.sleeping.isEmpty }
        // Time for a second attempt to get as far as the wire.
        for _ in 0..<500 { await Task.yield() }
        #expect(server.flying.count == 1)
        server.landAll()
        #expect(try await connection.response.attempts.isEmpty)
    }

    /// Retries requests until the retry budget is used up.
    private func spend(_ engine: Engine) async throws {
        var request = Request("http://h/busy")
        request.retry = .default
        for _ in 0..<20 { _ = try await engine.send(request) }
    }

    @Test func `a failed attempt waits for the other attempt under way`() async throws {
        let gates = [Gate(), Gate()]
        let transport = StubTransport { request throws(TransportError) in
            let isFirst = request.headers[.referer] == nil
            await gates[isFirst ? 0 : 1].wait()
            return .stub(status: isFirst ? 503 : 200)
        }
        struct MarkingInterceptor: Interceptor {
            func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
                if attempt > 1 { request.headers[.referer] = "second" }
            }
        }
        let engine = engine { configuration in
            (configuration.transport, configuration.interceptors) = (transport, [MarkingInterceptor()])
        }
        let connection = engine.start(Self.request)
        await untilTrue { transport.requests.count == 1 }
        await pass()
        await untilTrue { transport.requests.count == 2 }
        gates[0].open()
        await untilTrue { engine.activity.counts.inFlight == 1 }
        gates[1].open()
        let response = try await connection.response
        #expect(response.status == .ok && response.attempts.map(\.outcome.description) == ["status 503", "status 200"])
    }

    @Test func `an attempt that fails before it is hedged is retried as usual`() async throws {
        let transport = StubTransport(status: 503)
        let engine = engine { $0.transport = transport }
        let connection = engine.start(Self.request)
        for delay in [25, 50] {
            await untilTrue { [clock] in clock.sleeping == [.milliseconds(delay)] }
            clock.advance(by: .milliseconds(delay))
        }
        let reasons = try await connection.response.attempts.map(\.reason?.code)
        #expect(reasons == [.status, .status, .attemptsUsed] && transport.requests.count == 3)
    }

    /// Delays the second attempt until the gate opens, even if the attempt is canceled.
    private struct HeldInterceptor: Interceptor {
        let entered = Gate()
        let gate = Gate()

        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            guard attempt > 1 else { return }
            entered.open()
            await gate.wait()
        }
    }

    @Test func `a hedge held up by app code does not hold up the first attempt`() async throws {
        let holding = HeldInterceptor()
        let engine = engine { $0.interceptors = [holding] }
        let connection = engine.start(Self.request)
        await flying(1)
        await pass()
        await untilTrue { holding.entered.isOpen }
        server.landAll()
        #expect(try await connection.response.text == "http://h/")
        await untilTrue { engine.activity.counts.isIdle && engine.lanes.running == 0 }
        holding.gate.open()
    }

    @Test func `a cancel ends both attempts`() async throws {
        let connection = engine().start(Self.request)
        await flying(1)
        await pass()
        await flying(2)
        connection.cancel()
        await untilTrue { [server] in server.flying.isEmpty && connection.isFinished }
    }
}
