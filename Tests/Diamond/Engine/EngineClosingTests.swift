import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An engine that is closed", .limit(minutes: 5)) struct EngineClosingTests {
    private let server = ManualServer()
    private let clock = TestClock()

    private var engine: Engine { Engine(.init(testing: server.transport, clock: clock)) }

    private static func request(_ number: Int) -> Request { Request("http://h/\(number)") }

    @Test func `an engine closed with a time limit lets running and waiting requests end within it`() async throws {
        let engine = engine
        engine.lanes.width = 1
        let connections = (0..<3).map { engine.start(Self.request($0)) }
        await untilTrue { server.flying.count == 1 }
        async let closed: Void = engine.close(within: .seconds(60))
        await untilTrue { clock.sleeping == [.seconds(60)] }
        for _ in connections {
            await untilTrue { server.flying.count == 1 }
            server.landAll()
        }
        await closed
        for connection in connections { #expect(try await connection.response.status == .ok) }
        #expect(clock.sleeping.isEmpty)
    }

    @Test func `a closed engine cancels the remaining requests when the time is up`() async throws {
        let engine = engine
        let connections = (0..<2).map { engine.start(Self.request($0)) }
        await untilTrue { server.flying.count == 2 }
        async let closed: Void = engine.close(within: .seconds(60))
        await untilTrue { clock.sleeping == [.seconds(60)] }
        server.land("http://h/0")
        _ = try await connections[0].response
        clock.advance(by: .seconds(60))
        await closed
        let error = await #expect(throws: ConnectionError.self) { try await connections[1].response }
        #expect(error?.code == .cancelled)
        #expect(connections[1].isFinished && engine.activity.counts.isIdle && engine.connections.isEmpty)
    }

    @Test func `a closed engine ends a wait between two attempts, for every caller`() async throws {
        let transport = StubTransport(status: 503)
        var configuration = Engine.Configuration(testing: transport, clock: clock)
        configuration.retry = .default
        let engine = Engine(configuration)
        let task = Task { try await engine.send(Self.request(0)) }
        await untilTrue { !clock.sleeping.isEmpty }
        await engine.close()
        #expect(engine.activity.counts.isIdle)
        task.cancel()
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(error?.code == .cancelled && transport.requests.count == 1)
        // A later caller waits for no further attempt either.
        let later = try? await engine.send(Self.request(1))
        #expect(later == nil && clock.sleeping.isEmpty)
    }

    @Test func `a closed engine sends nothing over a transport that still works`() async throws {
        let transport = StubTransport()
        let temporary = TemporaryStore()
        let engine = Engine(.init(testing: transport, clock: clock, store: temporary))
        await engine.close()
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await engine.send(Self.request(0)) }, { _ = try await engine.start(Self.request(1)).response },
            { _ = try await engine.stream(Self.request(2)) },
            { _ = try await engine.download(Self.request(3), to: temporary.directory.appending(path: "file")) },
        ]
        for call in calls {
            let error = await #expect(throws: ConnectionError.self) { try await call() }
            #expect(error?.code == .noEngine && error?.message.contains("make a new engine") == true)
        }
        #expect(transport.requests.isEmpty && engine.activity.counts.isIdle)
    }

    /// Validates a response until it is canceled.
    private struct HangingInterceptor: Interceptor {
        let entered = Gate()
        /// Whether the response is for its caller alone.
        let isPersonal: Bool

        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            if isPersonal { request.headers[.authorization] = "token" }
        }

        func validate(_ response: Response) async throws {
            entered.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw CancellationError()
        }
    }

    @Test(arguments: [false, true])
    func `a closed engine cancels app code that validates a response to be shared`(isPersonal: Bool) async throws {
        let examiner = HangingInterceptor(isPersonal: isPersonal)
        var configuration = Engine.Configuration(testing: StubTransport(), clock: clock)
        configuration.interceptors = [examiner]
        let engine = Engine(configuration)
        let task = Task { try await engine.send(Self.request(0)) }
        await untilTrue { examiner.entered.isOpen }
        await engine.close()
        #expect(engine.activity.counts.isIdle)
        task.cancel()
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }

    @Test func `a closed engine has canceled connections that an app's own queue has started`() async throws {
        let engine = engine
        engine.lanes.pauseAll()
        let connections = (0..<3).map { engine.connection(for: Self.request($0)) }
        let queue = OperationQueue()
        for connection in connections { queue.addOperation(connection) }
        await untilTrue { engine.connections.count == 3 && engine.lanes.waiting == 3 }
        #expect(engine.cancel { $0 === connections[0] } == 1)
        await untilTrue { connections[0].isFinished }
        await engine.close()
        #expect(connections.allSatisfy(\.isFinished) && engine.connections.isEmpty)
    }

    @Test func `a closed engine waits as long as its time limit says`() async throws {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = server.transport
        let engine = Engine(configuration)
        let connection = engine.start(Self.request(0))
        await untilTrue { server.flying.count == 1 }
        async let closed: Void = engine.close(within: .seconds(Int64.max))
        server.landAll()
        #expect(try await connection.response.status == .ok)
        await closed
    }

    @Test func `a closed engine does not wait for paused connections`() async throws {
        let engine = engine
        let connection = engine.connection(for: Self.request(0))
        connection.pause()
        engine.start(connection)
        await engine.close(within: .seconds(60))
        #expect(connection.isFinished && clock.sleeping.isEmpty)
    }

    @Test(arguments: [nil, "User-Agent"])
    func `settling one request does not wait for the refresh of another request`(vary: String?) async throws {
        let temporary = TemporaryStore()
        server.headers = [.cacheControl: "max-age=0"]
        server.headers[.vary] = vary
        let requests = (0..<2).map { Request("http://h/\($0)", cache: .staleWhileRevalidate) }
        let engine = Engine(.init(testing: server.transport, clock: clock, store: temporary))
        for request in requests {
            let first = engine.start(request)
            await untilTrue { server.flying.count == 1 }
            server.landAll()
            _ = try await first.response
        }
        await engine.waitForRefresh(of: requests[0])
        clock.advance(by: .seconds(1))
        for request in requests { #expect(try await engine.send(request).source == .stale) }
        await untilTrue { server.flying.count == 2 }
        let waiting = (0..<3).map { _ in Task { await engine.waitForRefresh(of: requests[0]) } }
        server.land(server.flying.first { $0.hasSuffix("/0") } ?? "")
        for task in waiting { await task.value }
        #expect(server.flying.count == 1)
        let canceled = Task { await engine.waitForRefresh(of: requests[1]) }
        canceled.cancel()
        await canceled.value
        await engine.close()
    }

    @Test func `a closed engine has ended every refresh`() async throws {
        let temporary = TemporaryStore()
        server.headers = [.cacheControl: "max-age=0"]
        let request = Request("http://h/0", cache: .staleWhileRevalidate)
        let engine = Engine(.init(testing: server.transport, clock: clock, store: temporary))
        let first = engine.start(request)
        await untilTrue { server.flying.count == 1 }
        server.landAll()
        _ = try await first.response
        clock.advance(by: .seconds(1))
        #expect(try await engine.send(request).source == .stale)
        await untilTrue { server.flying.count == 1 }
        await engine.close()
        #expect(server.flying.isEmpty && engine.activity.counts.isIdle)
    }
}
