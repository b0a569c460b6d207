import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A shared exchange", .limit(minutes: 5)) struct SharedExchangeTests {
    private let server = ManualServer()
    private let temporary = TemporaryStore()
    private let callers = JoinedCallers()

    private func engine(
        width: Int = 64,
        _ transport: StubTransport? = nil,
        _ clock: any Clock<Duration> = ContinuousClock()
    ) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport ?? server.transport
        configuration.clock = clock
        configuration.width = width
        return Engine(configuration)
    }

    private func flying(_ urls: String...) async { await untilTrue { server.flying == urls } }

    @Test func `serves all callers of equal requests at the same time`() async throws {
        let engine = engine()
        callers.watch(engine)
        let tasks = (0..<5).map { _ in Task { try await engine.send(Request("http://h/")) } }
        let connections = (0..<5).map { _ in engine.start(Request("http://h/")) }
        await callers.reach(10)
        await flying("http://h/")
        #expect(engine.lanes.running == 1 && engine.lanes.waiting == 0)
        server.land("http://h/")
        for task in tasks { #expect(try await task.value.source == .network) }
        for connection in connections { #expect(try await connection.response.source == .network) }
        #expect(try await engine.send(Request("http://h/")).source == .cache)
        #expect(server.flying.isEmpty && engine.activity.counts.inFlight == 0)
    }

    @Test(arguments: [false, true])
    func `continues for the other callers when any caller cancels`(isConnection: Bool)
        async throws
    {
        let engine = engine()
        callers.watch(engine)
        let connections = [engine.start(Request("http://h/"))]
        await callers.reach(1)
        let tasks = (0..<2).map { _ in Task { try await engine.send(Request("http://h/")) } }
        await callers.reach(3)
        await flying("http://h/")
        if isConnection { connections[0].cancel() } else { tasks[0].cancel() }
        await #expect(throws: ConnectionError.self) {
            _ = isConnection ? try await connections[0].response : try await tasks[0].value
        }
        #expect(server.flying == ["http://h/"])
        server.land("http://h/")
        #expect(try await tasks[1].value.text == "http://h/")
        if !isConnection { #expect(try await connections[0].response.text == "http://h/") }
        #expect(server.flying.isEmpty)
    }

    @Test func `ends when the last caller has left`() async throws {
        let hasEnded = Gate()
        let transport = StubTransport.silent { hasEnded.open() }
        let engine = temporary.engine(transport, clock: ManualClock())
        callers.watch(engine)
        let connections = (0..<3).map { _ in engine.start(Request("http://h/")) }
        await untilTrue { transport.requests.count == 1 }
        await callers.reach(3)
        for connection in connections {
            #expect(!hasEnded.isOpen)
            connection.cancel()
        }
        await hasEnded.wait()
        for connection in connections { await #expect(throws: ConnectionError.self) { try await connection.response } }
        await untilTrue { engine.activity.counts.inFlight == 0 && engine.lanes.running == 0 }
    }

    /// Pairs of requests that share no exchange, though the cache may use one key for both.
    static let pairs: [(String, Request, Request)] = {
        let plain = Request("http://h/")
        func changed(_ change: (inout Request) -> Void) -> Request {
            var request = plain
            change(&request)
            return request
        }
        return [
            ("credentials", changed { $0.headers[.authorization] = "a" }, changed { $0.headers[.authorization] = "b" }),
            ("one of no credentials", plain, changed { $0.headers[.authorization] = "a" }),
            ("identities", changed { $0.identity = "a" }, changed { $0.identity = "b" }),
            ("an unsafe method", Request("http://h/", method: .post), Request("http://h/", method: .post)),
            ("ranges", changed { $0.headers[.range] = "bytes=0-1" }, changed { $0.headers[.range] = "bytes=0-2" }),
            ("If-Match", changed { $0.headers[.ifMatch] = "*" }, changed { $0.headers[.ifMatch] = "*" }),
            ("reload", plain, Request("http://h/", cache: .reload)),
            ("two reloads", Request("http://h/", cache: .reload), Request("http://h/", cache: .reload)),
            ("noStore", plain, Request("http://h/", cache: .noStore)),
            ("a header that does not select", plain, changed { $0.headers[.userAgent] = "other" }),
            (
                "bodies", changed { ($0.method, $0.body) = (.query, .json(1)) },
                changed { ($0.method, $0.body) = (.query, .json(2)) }
            ),
            ("lanes", plain, changed { $0.lane = "other" }),
            ("tags", plain, changed { $0.tags = ["other"] }),
            ("timeouts", plain, changed { $0.timeout = .seconds(1) }),
        ]
    }()

    @Test(arguments: pairs)
    func `different requests share no exchange`(name: String, one: Request, other: Request) async throws {
        let engine = engine()
        let connections = [engine.start(one), engine.start(other)]
        await flying("http://h/", "http://h/")
        server.land("http://h/")
        server.land("http://h/")
        for connection in connections { _ = try await connection.response }
    }

    @Test(arguments: [1, 4])
    func `an exchange with an added credential belongs to one caller`(count: Int) async throws {
        let signing = SigningInterceptor()
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.interceptors = [signing]
        configuration.transport = StubTransport { request throws(TransportError) in
            .stub(headers: [.cacheControl: "max-age=86400"], body: request.headers[.authorization] ?? "")
        }
        let engine = Engine(configuration)
        callers.watch(engine)
        let recorder = ActivityRecorder(engine.activity)
        let tasks = (0..<count).map { _ in Task { try await engine.send(Request("http://h/")).text } }
        let connections = (0..<count).map { _ in engine.start(Request("http://h/")) }
        await callers.reach(2 * count)
        signing.mayGoOn.open()
        var tokens: Set<String> = []
        for task in tasks { tokens.insert(try await task.value) }
        for connection in connections { tokens.insert(try await connection.response.text) }
        #expect(tokens == Set((1...(2 * count)).map { "Bearer \($0)" }))
        // The response was not stored either.
        #expect(try await engine.send(Request("http://h/")).text == "Bearer \(2 * count + 1)")
        #expect(callers.count == 2 * count + 1)
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle && recorder.isBalanced }
    }

    @Test func `an exchange without conditions is not joined by a caller with an entry to validate`() async throws {
        let engine = engine()
        callers.watch(engine)
        server.headers = [.eTag: "\"1\""]
        let first = engine.start(Request("http://h/"))
        await flying("http://h/")
        server.land("http://h/")
        _ = try await first.response
        let asked = engine.start(Request("http://h/", cache: .reload))
        let confirmed = engine.start(Request("http://h/", cache: .revalidate))
        let another = engine.start(Request("http://h/", cache: .networkElseCache))
        await callers.reach(4)
        // The last one does not wait for another attempt if the server cannot be reached.
        await flying("http://h/", "http://h/", "http://h/")
        for _ in 0..<3 { server.land("http://h/") }
        for connection in [asked, confirmed, another] { _ = try await connection.response }
    }

    @Test func `waits for its permit at the priority of its most urgent caller`() async throws {
        let engine = engine(width: 1)
        callers.watch(engine)
        let first = engine.start(Request("http://h/1"))
        await callers.reach(1)
        await flying("http://h/1")
        for (index, url) in ["http://h/2", "http://h/3"].enumerated() {
            engine.start(Request(url))
            await callers.reach(index + 2)
        }
        let urgent = engine.connection(for: Request("http://h/3"))
        urgent.queuePriority = .high
        engine.start(urgent)
        await callers.reach(4)
        server.land("http://h/1")
        _ = try await first.response
        await flying("http://h/3")
        server.land("http://h/3")
        #expect(try await urgent.response.text == "http://h/3")
        await flying("http://h/2")
        server.land("http://h/2")
    }

    @Test func `waits between attempts at the priority of its most urgent caller`() async throws {
        let (gate, isLost) = (Gate(), Guarded(false))
        let transport = StubTransport { request throws(TransportError) in
            guard request.url == "http://h/1" else { return try await server.transport.send(request) }
            await gate.wait()
            let wasLost = isLost.withLock { isLost in
                defer { isLost = true }
                return isLost
            }
            if wasLost { return try await server.transport.send(request) }
            throw TransportError(.cannotConnect, "lost", serverMayHaveActed: false)
        }
        let clock = TestClock()
        let engine = engine(width: 1, transport, clock)
        callers.watch(engine)
        var connections = [engine.start(Request("http://h/1"))]
        await untilTrue { transport.requests.count == 1 }
        for (index, url) in ["http://h/2", "http://h/3"].enumerated() {
            connections.append(engine.start(Request(url)))
            await callers.reach(index + 2)
        }
        let urgent = engine.connection(for: Request("http://h/1"))
        urgent.queuePriority = .high
        engine.start(urgent)
        await callers.reach(4)
        gate.open()
        await flying("http://h/2")
        // The clock is advanced only once, because further delays could exceed the time for all attempts.
        await untilTrue { !clock.sleeping.isEmpty }
        clock.advance(by: .seconds(1))
        await untilTrue { engine.lanes.waiting == 2 }
        server.land("http://h/2")
        await flying("http://h/1")
        server.land("http://h/1")
        await flying("http://h/3")
        server.land("http://h/3")
        for connection in connections + [urgent] { _ = try await connection.response }
    }

    @Test func `the end of a shared exchange does not affect callers of other requests`() async throws {
        let (gate, secrets) = (Gate(), Guarded<[String]>([]))
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = server.transport
        configuration.credentials = GatedCredentialProvider(gate: gate, asked: secrets)
        let engine = Engine(configuration)
        var request = Request("http://h/slow")
        request.credentials = [.header(.authorization, .secret("slow"))]
        request.identity = "anna"
        let slow = engine.start(request)
        await untilTrue { secrets.withLock { $0 } == ["slow"] }
        for number in 0..<20 {
            let other = engine.start(Request("http://h/\(number)"))
            await flying("http://h/\(number)")
            server.land("http://h/\(number)")
            _ = try await other.response
        }
        gate.open()
        await flying("http://h/slow")
        server.landAll()
        _ = try await slow.response
        #expect(secrets.withLock { $0 } == ["slow"])
    }

    @Test func `fails for all callers, and is not joined afterwards`() async throws {
        let gate = Gate()
        let transport = StubTransport { _ throws(TransportError) in
            await gate.wait()
            throw TransportError(.badResponse, "no")
        }
        let engine = temporary.engine(transport, clock: ManualClock())
        callers.watch(engine)
        let connections = (0..<3).map { _ in engine.start(Request("http://h/")) }
        await untilTrue { transport.requests.count == 1 }
        await callers.reach(3)
        gate.open()
        for connection in connections {
            await #expect(throws: ConnectionError.self) { try await connection.response }
        }
        await #expect(throws: ConnectionError.self) { try await engine.send(Request("http://h/")) }
        #expect(transport.requests.count == 2)
    }

    @Test func `leaves nothing in memory, however many callers come and go`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            await Task.yield()
            return Task.isCancelled ? try Self.canceled() : .stub(headers: [:], body: request.url)
        }
        let engine = temporary.engine(transport)
        var random = SplitMix(state: 5)
        let requests = (0..<2_000).map { _ in Int(random.next() % 20) }
        let connections = requests.map { engine.start(Request("http://h/\($0)")) }
        for connection in connections where random.next() % 3 == 0 { connection.cancel() }
        for (number, connection) in zip(requests, connections) {
            guard let response = try? await connection.response else { continue }
            #expect(response.text == "http://h/\(number)")
        }
        await untilTrue { connections.allSatisfy { $0.isFinished } }
        await untilTrue {
            engine.activity.counts.inFlight == 0 && engine.lanes.running == 0 && engine.lanes.waiting == 0
        }
        #expect(transport.requests.count < 2_000)
    }

    private static func canceled() throws(TransportError) -> TransportResponse {
        throw .cancelled(serverMayHaveActed: true)
    }
}

/// Returns every secret when its gate is open.
private struct GatedCredentialProvider: CredentialProvider {
    let gate: Gate
    let asked: Guarded<[String]>

    func secret(_ name: String, for identity: String?) async throws -> String? {
        asked.withLock { $0.append(name) }
        await gate.wait()
        return "s"
    }
}
