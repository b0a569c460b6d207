import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A paused connection", .limit(minutes: 5)) struct ConnectionPauseTests {
    private let manualServer = ManualServer()
    private let temporary = TemporaryStore()

    private func engine(width: Int = 64, _ lanes: [Lane: LaneLimits] = [:]) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = manualServer.transport
        configuration.width = width
        configuration.lanes = lanes
        return Engine(configuration)
    }

    private func flying(_ urls: String...) async { await untilTrue { manualServer.flying == urls } }

    private static func isAtRest(_ connection: Connection) -> Bool { connection.core.withLock { $0.run == nil } }

    @Test func `does not start before it is resumed`() async throws {
        let engine = engine()
        let connection = engine.connection(for: Request("http://h/"))
        connection.pause()
        #expect(connection.state == .paused && !connection.isExecuting)
        engine.start(connection)
        #expect(connection.state == .paused && connection.isExecuting)
        connection.resume()
        await flying("http://h/")
        manualServer.land("http://h/")
        #expect(try await connection.response.text == "http://h/")
    }

    @Test(arguments: [HTTPRequest.Method.get, .put])
    func `a connection paused in flight has neither permit nor exchange, and sends again when resumed`(
        method: HTTPRequest.Method
    ) async throws {
        let engine = engine(width: 1)
        let connection = engine.start(Request("http://h/1", method: method))
        await flying("http://h/1")
        connection.pause()
        #expect(connection.state == .paused)
        let other = engine.start(Request("http://h/2"))
        await flying("http://h/2")
        manualServer.land("http://h/2")
        _ = try await other.response
        #expect(connection.state == .paused)
        connection.resume()
        await flying("http://h/1")
        manualServer.land("http://h/1")
        #expect(try await connection.response.text == "http://h/1")
        #expect(engine.activity.counts.inFlight == 0 && engine.lanes.running == 0)
    }

    @Test func `a connection paused in flight has no socket`() async throws {
        let server = try ChaosServer()
        let engine = Engine(.init(store: nil))
        let connection = engine.start(Request(server.url(.silent, 1, size: 0)))
        await untilTrue { server.arrivals(by: "GET", .silent, 1, size: 0) == 1 }
        connection.pause()
        await untilTrue { server.connections == 0 && engine.activity.counts.inFlight == 0 }
        #expect(connection.isPaused)
        await engine.close()
    }

    @Test func `a connection paused while it waits for its permit leaves the queue`() async throws {
        let engine = engine(width: 1)
        let first = engine.start(Request("http://h/1"))
        await flying("http://h/1")
        let connections = [engine.start(Request("http://h/2", method: .post)), engine.start(Request("http://h/3"))]
        // Both connections wait for the permit.
        await untilTrue { engine.lanes.waiting == 2 }
        for connection in connections { connection.pause() }
        await untilTrue { engine.lanes.waiting == 0 }
        manualServer.land("http://h/1")
        _ = try await first.response
        #expect(manualServer.flying.isEmpty)
        for connection in connections { connection.resume() }
        for _ in connections {
            await untilTrue { manualServer.flying.count == 1 }
            let url = manualServer.flying[0]
            manualServer.land(url)
            // The next connection may be in flight at once.
            await untilTrue { manualServer.flying.first != url }
        }
        for connection in connections { #expect(try await connection.response.status == .ok) }
    }

    @Test func `a paused connection that must not be sent twice delivers its response after its resumption`()
        async throws
    {
        let engine = engine()
        let connection = engine.start(Request("http://h/", method: .post))
        await flying("http://h/")
        connection.pause()
        manualServer.land("http://h/")
        await untilTrue { engine.activity.counts.inFlight == 0 }
        #expect(connection.state == .paused)
        connection.resume()
        #expect(try await connection.response.text == "http://h/")
        #expect(manualServer.flying.isEmpty)
    }

    /// Waits in `prepare` until the test opens its gate.
    private final class HeldConnection: Connection, @unchecked Sendable {
        let (entered, gate) = (Gate(), Gate())

        override func prepare(_ request: inout Request) async throws {
            entered.open()
            await gate.wait()
        }
    }

    @Test(arguments: [HTTPRequest.Method.get, .post])
    func `a paused connection that has sent nothing sends nothing, whatever its method`(method: HTTPRequest.Method)
        async throws
    {
        let engine = engine(width: 1)
        let connection = HeldConnection(Request("http://h/", method: method))
        engine.start(connection)
        await connection.entered.wait()
        connection.pause()
        connection.gate.open()
        await untilTrue { connection.core.withLock { $0.run == nil } }
        let other = engine.start(Request("http://h/2"))
        await flying("http://h/2")
        manualServer.land("http://h/2")
        _ = try await other.response
        await untilTrue { engine.lanes.running == 0 }
        #expect(connection.state == .paused && manualServer.flying.isEmpty)
        connection.resume()
        await flying("http://h/")
        manualServer.land("http://h/")
        #expect(try await connection.response.text == "http://h/")
        #expect(engine.activity.counts.inFlight == 0)
    }

    private struct HeldInterceptor: Interceptor {
        let entered = Gate()
        let gate = Gate()

        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            entered.open()
            await gate.wait()
        }
    }

    @Test(arguments: [ReplayPolicy.never, .durable])
    func `a connection paused while its request is adapted is not sent`(replay: ReplayPolicy) async throws {
        let signer = HeldInterceptor()
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = manualServer.transport
        configuration.interceptors = [signer]
        let engine = Engine(configuration)
        var request = Request("http://h/", method: .post)
        request.replay = replay
        let connection = engine.start(request)
        await signer.entered.wait()
        connection.pause()
        signer.gate.open()
        await untilTrue { Self.isAtRest(connection) || !manualServer.flying.isEmpty }
        try #require(manualServer.flying.isEmpty)
        #expect(connection.state == .paused && engine.lanes.running == 0)
        connection.resume()
        await flying("http://h/")
        manualServer.land("http://h/")
        #expect(try await connection.response.text == "http://h/")
    }

    // MARK: Between two attempts

    /// Answers the first request for a URL as given, and all others when the gate opens.
    private func transport(_ first: [String: Result<TransportResponse, TransportError>]) -> StubTransport {
        let rest = Guarded(first)
        return StubTransport { request throws(TransportError) in
            guard let first = rest.withLock({ $0.removeValue(forKey: request.url) }) else {
                return try await manualServer.transport.send(request)
            }
            return try first.get()
        }
    }

    private static let refused = TransportError(.cannotConnect, "refused")

    private func engine(_ transport: StubTransport, _ clock: TestClock, width: Int = 64) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        configuration.clock = clock
        configuration.width = width
        return Engine(configuration)
    }

    private func isAtRest(_ connection: Connection) -> Bool { connection.core.withLock { $0.run == nil } }

    @Test(arguments: [false, true])
    func `a connection paused between two attempts is not sent again before it is resumed`(isInvited: Bool) async throws
    {
        let invitation = TransportResponse.stub(status: 503, headers: [.retryAfter: "1"])
        let transport = transport(["http://h/": isInvited ? .success(invitation) : .failure(Self.refused)])
        let clock = TestClock()
        let engine = engine(transport, clock)
        let connection = engine.start(Request("http://h/", method: .post))
        await untilTrue { clock.sleeping.count == 1 }
        connection.pause()
        clock.advance(by: .seconds(2))
        await untilTrue { isAtRest(connection) || transport.requests.count > 1 }
        #expect(connection.isPaused && engine.lanes.running == 0)
        try #require(transport.requests.count == 1)
        connection.resume()
        await flying("http://h/")
        manualServer.land("http://h/")
        #expect(try await connection.response.attempts.isEmpty)
        #expect(transport.requests.count == 2)
    }

    @Test func `a connection paused while it waits for another permit returns the permit`() async throws {
        let (transport, clock) = (transport(["http://h/1": .failure(Self.refused)]), TestClock())
        let engine = engine(transport, clock, width: 1)
        let connection = engine.start(Request("http://h/1", method: .post))
        await untilTrue { clock.sleeping.count == 1 }
        let other = engine.start(Request("http://h/2"))
        await flying("http://h/2")
        clock.advance(by: .seconds(2))
        await untilTrue { engine.lanes.waiting == 1 }
        connection.pause()
        manualServer.land("http://h/2")
        _ = try await other.response
        await untilTrue { isAtRest(connection) || transport.requests.count > 2 }
        #expect(connection.isPaused && engine.lanes.running == 0)
        try #require(transport.requests.count == 2)
        connection.resume()
        await flying("http://h/1")
        manualServer.land("http://h/1")
        _ = try await connection.response
    }

    @Test func `a connection begins again if its time for another attempt passed during a pause`() async throws {
        let busy = TransportResponse.stub(status: 503, headers: [.retryAfter: "1"])
        let (transport, clock) = (transport(["http://h/1": .success(busy)]), TestClock())
        let engine = engine(transport, clock, width: 1)
        let connection = engine.start(Request("http://h/1", method: .post))
        await untilTrue { clock.sleeping.count == 1 }
        let other = engine.start(Request("http://h/2"))
        await flying("http://h/2")
        clock.advance(by: .seconds(2))
        await untilTrue { engine.lanes.waiting == 1 && clock.sleeping.count == 1 }
        connection.pause()
        clock.advance(by: .seconds(60))
        await untilTrue { Self.isAtRest(connection) }
        connection.resume()
        manualServer.land("http://h/2")
        _ = try await other.response
        await flying("http://h/1")
        manualServer.land("http://h/1")
        #expect(try await connection.response.status == .ok)
    }

    @Test func `a connection paused after a redirect runs on, because the first hop may have acted`() async throws {
        let redirect = TransportResponse.stub(status: 307, headers: [.location: "/new"])
        let transport = transport(["http://h/old": .success(redirect), "http://h/new": .failure(Self.refused)])
        let clock = TestClock()
        let engine = engine(transport, clock)
        let connection = engine.start(Request("http://h/old", method: .post))
        await untilTrue { clock.sleeping.count == 1 }
        connection.pause()
        clock.advance(by: .seconds(2))
        await untilTrue { isAtRest(connection) || manualServer.flying == ["http://h/new"] }
        try #require(manualServer.flying == ["http://h/new"])
        manualServer.land("http://h/new")
        await untilTrue { isAtRest(connection) }
        #expect(connection.isPaused)
        connection.resume()
        #expect(try await connection.response.text == "http://h/new")
        #expect(transport.requests.map(\.url) == ["http://h/old", "http://h/new", "http://h/new"])
        #expect(engine.lanes.running == 0)
    }

    @Test func `may be sent twice where the engine's policy allows it`() async throws {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = manualServer.transport
        configuration.retry.retriesUnsafeMethods = true
        let engine = Engine(configuration)
        let connection = engine.start(Request("http://h/", method: .post))
        await flying("http://h/")
        connection.pause()
        try #require(isAtRest(connection))
        await flying()
        connection.resume()
        await flying("http://h/")
        manualServer.land("http://h/")
        _ = try await connection.response
        // The first exchange, which the pause has given up, may end later than the second.
        await untilTrue { engine.lanes.running == 0 }
    }

    // MARK: Late preparation

    /// Signs with the number of the call. Waits each time until the test opens its gate, canceled or not.
    private final class SignedConnection: Connection, @unchecked Sendable {
        let calls = Guarded(0)
        let gates = [Gate(), Gate()]

        override func prepare(_ request: inout Request) async throws {
            let call = calls.withLock { calls in
                defer { calls += 1 }
                return calls
            }
            await gates[call].wait()
            request.headers[.authorization] = "\(call)"
        }
    }

    private struct WeakRun { weak var run: ConnectionRun? }

    @Test func `a resumed connection sends the request that its latest run has prepared`() async throws {
        let transport = manualServer.transport
        let engine = engine(transport, TestClock(), width: 1)
        let other = engine.start(Request("http://h/2"))
        await flying("http://h/2")
        let connection = SignedConnection(Request("http://h/1", cache: .noStore))
        engine.start(connection)
        await untilTrue { connection.calls.withLock { $0 } == 1 }
        let first = WeakRun(run: connection.core.withLock { $0.run })
        connection.pause()
        connection.resume()
        await untilTrue { connection.calls.withLock { $0 } == 2 }
        connection.gates[1].open()
        await untilTrue { engine.lanes.waiting == 1 }
        connection.gates[0].open()
        await untilTrue { first.run == nil }
        manualServer.land("http://h/2")
        _ = try await other.response
        await flying("http://h/1")
        manualServer.land("http://h/1")
        _ = try await connection.response
        #expect(transport.requests.map { $0.headers[.authorization] } == [nil, "1"])
    }

    // MARK: Cancel, lanes and sharing

    @Test(arguments: [HTTPRequest.Method.get, .post])
    func `a connection canceled during a pause reports paused until it finishes`(method: HTTPRequest.Method) async {
        let engine = engine()
        let connection = engine.start(Request("http://h/", method: method))
        await flying("http://h/")
        connection.pause()
        let states = connection.states
        connection.cancel()
        connection.resume()
        var told: [ConnectionState] = []
        for await state in states { told.append(state) }
        #expect(told == [.paused, .finished(.cancelled)] && engine.activity.counts.paused == 0)
    }

    @Test func `a paused connection with an idempotency key may be sent twice`() async throws {
        let engine = engine()
        var request = Request("http://h/", method: .post)
        request.headers[try #require(HTTPField.Name("Idempotency-Key"))] = "1"
        let connection = engine.start(request)
        await flying("http://h/")
        connection.pause()
        await flying()
        connection.resume()
        await flying("http://h/")
        manualServer.land("http://h/")
        _ = try await connection.response
    }

    @Test func `needs one resume for every pause`() async throws {
        let engine = engine()
        let connection = engine.connection(for: Request("http://h/"))
        connection.pause()
        connection.pause()
        engine.start(connection)
        connection.resume()
        #expect(connection.isPaused)
        connection.resume()
        #expect(!connection.isPaused)
        await flying("http://h/")
        manualServer.land("http://h/")
        _ = try await connection.response
        connection.pause()
        #expect(connection.state == .finished(.success))
    }

    @Test(arguments: [0, 1, 2]) func `finishes at once when canceled`(stage: Int) async throws {
        let engine = engine()
        let connection = engine.connection(for: Request("http://h/"))
        if stage == 0 { connection.pause() }
        engine.start(connection)
        if stage > 0 {
            await flying("http://h/")
            connection.pause()
        }
        if stage == 2 {
            connection.resume()
            connection.pause()
        }
        connection.cancel()
        await #expect(throws: ConnectionError.self) { try await connection.response }
        await untilTrue { connection.isFinished }
        connection.resume()
        #expect(connection.state == .finished(.cancelled))
        manualServer.landAll()
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.inFlight == 0 }
    }

    @Test func `does not affect the other callers of its exchange`() async throws {
        let engine = engine()
        let recorder = ActivityRecorder(engine.activity)
        let connections = [engine.start(Request("http://h/")), engine.start(Request("http://h/"))]
        await untilTrue { recorder.lines.count { $0 == "miss" } == 2 }
        await flying("http://h/")
        connections[0].pause()
        manualServer.land("http://h/")
        _ = try await connections[1].response
        #expect(connections[0].isPaused)
        connections[0].resume()
        #expect(try await connections[0].response.text == "http://h/")
    }

    @Test func `holds up the ones after it in a serial lane`() async throws {
        let engine = engine(lanes: [.default: .serial])
        let first = engine.start(Request("http://h/1"))
        let second = engine.start(Request("http://h/2"))
        await flying("http://h/1")
        first.pause()
        await untilTrue { engine.lanes.running == 0 }
        #expect(manualServer.flying.isEmpty && second.state == .ready)
        first.resume()
        await flying("http://h/1")
        manualServer.land("http://h/1")
        await flying("http://h/2")
        manualServer.land("http://h/2")
        _ = try await (first.response, second.response)
    }

    private func engine(lanes: [Lane: LaneLimits]) -> Engine { engine(width: 64, lanes) }

    /// Each connection finishes once and is freed, in whatever order connections are paused, resumed and canceled.
    @Test(arguments: 0..<4) func `many connections with random pauses and cancels each finish once`(seed: UInt64)
        async throws
    {
        let transport = StubTransport { request throws(TransportError) in
            await Task.yield()
            guard !Task.isCancelled else { throw .cancelled(serverMayHaveActed: true) }
            return .stub(headers: [:], body: request.url)
        }
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        configuration.width = 4
        let engine = Engine(configuration)
        var random = SplitMix(state: seed)
        let finishes = Guarded(0)
        let connections = (0..<40).map { _ in
            let method: HTTPRequest.Method = random.next() % 3 == 0 ? .post : .get
            let connection = engine.connection(for: Request("http://h/\(random.next() % 20)", method: method))
            connection.completionBlock = { finishes.withLock { $0 += 1 } }
            return connection
        }
        for connection in connections { engine.start(connection) }
        for _ in 0..<400 {
            let connection = connections[Int(random.next() % 40)]
            switch random.next() % 12 {
            case 0: connection.cancel()
            case 1...5: connection.pause()
            case 6: await Task.yield()
            default: connection.resume()
            }
        }
        for connection in connections { while connection.isPaused { connection.resume() } }
        for connection in connections { _ = try? await connection.response }
        await untilTrue { connections.allSatisfy { $0.isFinished } && finishes.withLock { $0 } == 40 }
        await untilTrue {
            engine.activity.counts.inFlight == 0 && engine.lanes.running == 0 && engine.lanes.waiting == 0
        }
    }
}
