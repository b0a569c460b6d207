import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The cache status of a response", .limit(minutes: 5)) struct EngineCacheStatusTests {
    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    private let request = Request("http://h/")

    private func status(_ engine: Engine, _ request: Request) async throws -> String? {
        try await engine.send(request).cacheStatus?.description
    }

    @Test func `tells whether a response was stored, served or validated`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            let isConfirmed = request.headers[.ifNoneMatch] != nil
            return .stub(status: isConfirmed ? 304 : 200, headers: [.cacheControl: "max-age=60", .eTag: "\"1\""])
        }
        let engine = temporary.engine(transport, clock: clock)
        #expect(try await status(engine, request) == "Diamond; fwd=miss; ttl=60; stored")
        clock.advance(by: 10)
        #expect(try await status(engine, request) == "Diamond; hit; ttl=50")
        let noCache = Request("http://h/", headers: [.cacheControl: "no-cache"])
        #expect(try await status(engine, noCache) == "Diamond; fwd=request; fwd-status=304; ttl=60")
        let reload = Request("http://h/", cache: .reload)
        #expect(try await status(engine, reload) == "Diamond; fwd=request; ttl=60; stored")
        clock.advance(by: 61)
        #expect(try await status(engine, Request("http://h/", cache: .cacheOnly)) == "Diamond; hit; ttl=-1")
        #expect(try await status(engine, request) == "Diamond; fwd=stale; fwd-status=304; ttl=60")
        await engine.close()
    }

    @Test(
        arguments: [
            (Request("http://h/", method: .post), "Diamond; fwd=method"),
            (Request("http://h/", cache: .noStore), "Diamond; fwd=bypass"),
            (Request("http://h/", headers: [.cacheControl: "no-store"]), "Diamond; fwd=request"),
            (Request("http://h/"), "Diamond; fwd=miss"),
            (Request("http://h/", cache: .cacheOnly), "Diamond; detail=\"nothing that may be served is stored\""),
        ])
    func `tells why a request was forwarded or has no stored response`(request: Request, status: String) async throws {
        let engine = temporary.engine(StubTransport(headers: [.cacheControl: "no-store"]), clock: clock)
        #expect(try await self.status(engine, request) == status)
        await engine.close()
    }

    @Test(arguments: [503, nil]) func `tells the status of the failed request before a stale response`(code: Int?)
        async throws
    {
        let isDown = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            guard isDown.withLock({ $0 }) else {
                return .stub(headers: [.cacheControl: "max-age=10, stale-if-error=60"])
            }
            guard let code else { throw TransportError(.connectionLost, "reset") }
            return .stub(status: code)
        }
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(request)
        isDown.withLock { $0 = true }
        clock.advance(by: 20)
        let expected = code == nil ? "Diamond; fwd=stale; ttl=-10" : "Diamond; fwd=stale; fwd-status=503; ttl=-10"
        #expect(try await status(engine, request) == expected)
        await engine.close()
    }

    @Test func `tells which responses were collapsed into another request`() async throws {
        let server = ManualServer()
        let transport = server.transport
        let engine = temporary.engine(transport, clock: clock)
        let callers = JoinedCallers()
        callers.watch(engine)
        let tasks = (0..<3).map { _ in Task { try await engine.send(request) } }
        await callers.reach(3)
        await untilTrue { server.flying.count == 1 }
        server.land("http://h/")
        var collapsed = 0
        for task in tasks {
            if try await task.value.cacheStatus?.isCollapsed == true { collapsed += 1 }
        }
        #expect(collapsed == 2)
        await engine.close()
    }

    @Test func `is known before the body of a streamed response`() async throws {
        let engine = temporary.engine(StubTransport(headers: [.cacheControl: "max-age=60"]), clock: clock)
        #expect(try await engine.stream(request).cacheStatus?.forwardReason == .miss)
        _ = try await engine.send(request)
        #expect(try await engine.stream(request).cacheStatus?.isHit == true)
        await engine.close()
    }

    @Test func `is nil without a cache`() async throws {
        var configuration = Engine.Configuration(store: nil)
        let name = try #require(HTTPField.Name("Cache-Status"))
        configuration.transport = StubTransport(headers: [name: "Other; hit"])
        let engine = Engine(configuration)
        let response = try await engine.send(request)
        #expect(response.cacheStatus == nil && response.headers[name] == "Other; hit")
        await engine.close()
    }
}
