import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// A hook may send a request through its own engine, and wait for the response.
@Suite("Requests from hooks of the same engine", .limit(minutes: 5)) struct HookTests {
    /// The engine that the hooks send through.
    private final class EngineReference: Sendable {
        private let engine = Guarded<Engine?>(nil)

        func move(into new: Engine?) { engine.withLock { $0 = new } }

        @discardableResult
        func send(_ url: String) async throws -> Response {
            var request = Request(url)
            request.identity = "anna"
            return try await #require(engine.withLock { $0 }).send(request)
        }
    }

    private struct RequestingProvider: RefreshableCredentialProvider {
        let home: EngineReference

        func identity(for request: Request) async throws -> String? {
            try await home.send("http://h/me")
            return "anna"
        }
        func secret(_ name: String, for identity: String?) async throws -> String? { "t" }
        func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {
            try await home.send("http://h/token")
        }
    }

    private struct RequestingInterceptor: Interceptor {
        var validating: @Sendable (Response) async throws -> Void = { _ in }
        var transforming: @Sendable (inout Response) async throws -> Void = { _ in }
        var failing: @Sendable (inout ConnectionError) async -> Void = { _ in }

        func validate(_ response: Response) async throws { try await validating(response) }
        func transform(_ response: inout Response) async throws { try await transforming(&response) }
        func transform(_ error: inout ConnectionError) async { await failing(&error) }
    }

    private final class RequestingConnection: Connection, @unchecked Sendable {
        var home: EngineReference?

        override func prepare(_ request: inout Request) async throws { try await home?.send("http://h/token") }
    }

    private let temporary = TemporaryStore()
    private let home = EngineReference()

    private func engine(
        _ transport: StubTransport = StubTransport(body: "1"),
        isSerial: Bool = true,
        _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        if isSerial { configuration.lanes = [.default: .serial] }
        configuration.draw = { 0 }
        // No time passes for the retry policy, however slow the machine is.
        configuration.clock = TestClock()
        change(&configuration)
        let engine = Engine(configuration)
        home.move(into: engine)
        return engine
    }

    @Test func `a request from prepare does not wait for its serial lane`() async throws {
        let engine = engine()
        defer { home.move(into: nil) }
        let connections = (0..<3).map { RequestingConnection(Request("http://h/\($0)")) }
        for connection in connections {
            connection.home = home
            engine.start(connection)
        }
        for connection in connections { #expect(try await connection.response.status == .ok) }
    }

    @Test func `a request from a credential provider does not wait for its serial lane`() async throws {
        let answered = Guarded(false)
        let transport = StubTransport { request throws(TransportError) in
            guard request.url == "http://h/1" else { return .stub(body: "1") }
            return answered.withLock { wasAnswered in
                defer { wasAnswered = true }
                return wasAnswered ? .stub(body: "1") : .stub(status: 401)
            }
        }
        let engine = engine(transport) { $0.credentials = RequestingProvider(home: home) }
        defer { home.move(into: nil) }
        var request = Request("http://h/1")
        request.credentials = [.bearer(.secret("token"))]
        #expect(try await engine.send(request).status == .ok)
        // The identity may be asked for more than once.
        let urls = transport.requests.map(\.url)
        #expect(urls.first == "http://h/me" && urls.contains("http://h/token"))
        #expect(urls.filter { $0 == "http://h/1" }.count == 2)
    }

    /// More requests are queued than the width of the engine.
    @Test func `a request from a credential provider is sent while queued requests ask for their identity`()
        async throws
    {
        let engine = engine {
            $0.credentials = RequestingProvider(home: home)
            $0.width = 1
        }
        defer { home.move(into: nil) }
        let connections = (0..<20).map { number in
            var request = Request("http://h/\(number)")
            request.lane = "kept"
            request.replay = .onFailure
            return engine.start(request)
        }
        for connection in connections { #expect(try await connection.response.status == .ok) }
        await engine.close()
    }

    /// A request that holds a permit calls no hook that may need one.
    @Test func `a request from a credential provider is sent while others wait for their permits`() async throws {
        let engine = engine(isSerial: false) {
            $0.credentials = RequestingProvider(home: home)
            $0.width = 1
        }
        defer { home.move(into: nil) }
        let connections = (0..<20).map { engine.start(Request("http://h/\($0)", method: .post)) }
        for connection in connections { #expect(try await connection.response.status == .ok) }
        await engine.close()
    }

    @Test(arguments: [0, 1, 2])
    func `a request from an interceptor does not wait for its serial lane`(_ place: Int) async throws {
        let send = { @Sendable [home] (url: String) in if url.hasSuffix("/1") { try await home.send("http://h/2") } }
        let interceptor =
            switch place {
            case 0: RequestingInterceptor(validating: { _ = try await send($0.url) })
            case 1: RequestingInterceptor(transforming: { _ = try await send($0.url) })
            default: RequestingInterceptor(failing: { _ in _ = try? await send("/1") })
            }
        let transport = StubTransport { request throws(TransportError) in
            guard place == 2, request.url.hasSuffix("/1") else { return .stub(body: "1") }
            throw TransportError(.badResponse, "garbage", serverMayHaveActed: true)
        }
        let engine = engine(transport) { $0.interceptors = [interceptor] }
        defer { home.move(into: nil) }
        let connection = engine.start(Request("http://h/1", method: .post))
        _ = try? await connection.response
        #expect(transport.requests.map(\.url) == ["http://h/1", "http://h/2"])
    }

    @Test(arguments: [false, true])
    func `a request from a hook does not wait for the equal request that called the hook`(asConnection: Bool)
        async throws
    {
        let count = Guarded(0)
        let transport = StubTransport { _ throws(TransportError) in
            count.withLock { count in
                count += 1
                // A stored response that says "not yet" would be requested forever.
                return .stub(status: count < 3 ? 202 : 200, headers: [.cacheControl: "no-store"], body: "\(count)")
            }
        }
        let polling = RequestingInterceptor(transforming: { [home] response in
            if response.status == .accepted { response = try await home.send("http://h/1") }
        })
        let engine = engine(transport, isSerial: asConnection) { $0.interceptors = [polling] }
        defer { home.move(into: nil) }
        var request = Request("http://h/1")
        request.identity = "anna"
        #expect(try await engine.send(request.decoding(Int.self)) == 3)
    }

    @Test func `requests from as many hooks as may run at the same time get a permit`() async throws {
        let transport = StubTransport(headers: [.cacheControl: "max-age=86400"], body: "1")
        let (arrived, goes, haveAllArrived) = (Guarded(0), Guarded(false), Gate())
        let asking = RequestingInterceptor(transforming: { [home] response in
            guard goes.withLock({ $0 }), response.url.hasSuffix("/1") else { return }
            let count = arrived.withLock { count in
                count += 1
                return count
            }
            if count == 9 { haveAllArrived.open() }
            await haveAllArrived.wait()
            try await home.send("http://h/2")
        })
        let engine = engine(transport) {
            ($0.width, $0.interceptors) = (1, [asking])
        }
        defer { home.move(into: nil) }
        var request = Request("http://h/1")
        request.lane = "free"
        _ = try await engine.send(request)
        goes.withLock { $0 = true }
        let connections = (0..<9).map { _ in engine.start(request) }
        for connection in connections { #expect(try await connection.response.source == .cache) }
    }

    @Test func `a request sent after its hook has returned keeps the order of its serial lane`() async throws {
        let server = ManualServer()
        let (transport, later) = (server.transport, Guarded<Task<Response, any Error>?>(nil))
        var configuration = Engine.Configuration(store: nil)
        (configuration.transport, configuration.lanes) = (transport, [.default: .serial])
        let goes = Guarded(false)
        configuration.interceptors = [
            RequestingInterceptor(transforming: { [home] response in
                guard response.url == "http://h/1" else { return }
                let task = Task {
                    await untilTrue { goes.withLock { $0 } }
                    return try await home.send("http://h/3")
                }
                later.withLock { $0 = task }
            })
        ]
        let engine = Engine(configuration)
        home.move(into: engine)
        defer { home.move(into: nil) }
        let first = engine.start(Request("http://h/1"))
        await untilTrue { server.flying == ["http://h/1"] }
        server.land("http://h/1")
        _ = try await first.response
        let second = engine.start(Request("http://h/2"))
        await untilTrue { server.flying == ["http://h/2"] }
        goes.withLock { $0 = true }
        await untilTrue { engine.connections.count == 2 }
        #expect(server.flying == ["http://h/2"])
        server.land("http://h/2")
        await untilTrue { server.flying == ["http://h/3"] }
        server.land("http://h/3")
        _ = try await second.response
        _ = try await later.withLock { $0 }?.value
    }
}
