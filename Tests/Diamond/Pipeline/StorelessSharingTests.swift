import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A shared exchange of an engine without a store", .limit(minutes: 5)) struct StorelessSharingTests {
    private let server = ManualServer()
    private static let url = "http://h/cities"

    private func engine(_ transport: StubTransport? = nil) -> Engine { Engine.stub(transport ?? server.transport) }

    private static var request: Request {
        var request = Request(url)
        (request.tags, request.identity) = (["cities"], "anna")
        return request
    }

    private func flying(_ count: Int) async { await untilTrue { server.flying.count == count } }

    /// Returns when the callers have joined the exchange and the server has received its request.
    private func joined(_ connections: [Connection]) async {
        await untilTrue { connections.allSatisfy { $0.core.withLock { $0.meter != nil } } }
        await untilTrue { !server.flying.isEmpty }
    }

    @Test func `an exchange without a store serves concurrent callers, and no later caller`() async throws {
        let engine = engine()
        let misses = Guarded(0)
        let observation = engine.activity.observe { if case .miss = $0 { misses.withLock { $0 += 1 } } }
        let connections = (0..<5).map { _ in engine.start(Self.request) }
        await joined(connections)
        #expect(server.flying == [Self.url] && engine.lanes.running == 1)
        server.land(Self.url)
        for connection in connections { #expect(try await connection.response.source == .network) }
        let later = engine.start(Self.request)
        await flying(1)
        server.land(Self.url)
        #expect(try await later.response.source == .network)
        // There is no cache that could miss.
        #expect(misses.withLock { $0 } == 0)
        _ = observation
    }

    @Test func `an exchange without a store is not shared with a cacheOnly, noStore or POST request`()
        async throws
    {
        let engine = engine()
        var only = Self.request
        only.cache = .cacheOnly
        #expect(try await engine.send(only).status == .gatewayTimeout)
        let others = [Request(Self.url, method: .post), Request(Self.url, cache: .noStore), Self.request]
        let connections = others.map { engine.start($0) }
        await flying(3)
        server.landAll()
        for connection in connections { #expect(try await connection.response.source == .network) }
    }

    typealias Change = @Sendable (Engine) async throws -> Void

    static let changes: [(String, Change)] = [
        ("a sign-out", { engine in _ = try await engine.forget(identity: "anna") }),
        ("a purge", { engine in _ = try await engine.purge(request) }),
        ("an invalidation", { engine in _ = try await engine.invalidate(request) }),
        ("an unsafe request", { engine in _ = try await engine.send(Request(url, method: .delete)) }),
    ]

    @Test(arguments: changes)
    func `an exchange without a store is not joined after an invalidation`(name: String, change: Change) async throws {
        let server = server
        let transport = server.transport
        let engine = engine(
            StubTransport { request throws(TransportError) in
                request.method == .delete ? .stub() : try await transport.send(request)
            })
        let first = engine.start(Self.request)
        await flying(1)
        try await change(engine)
        let second = engine.start(Self.request)
        await flying(2)
        server.landAll()
        for connection in [first, second] { #expect(try await connection.response.source == .network) }
    }

    @Test func `an exchange without a store is joined after the invalidation of another identity`() async throws {
        let engine = engine()
        let first = engine.start(Self.request)
        await flying(1)
        _ = try await engine.forget(identity: "bert")
        let second = engine.start(Self.request)
        await joined([first, second])
        #expect(server.flying == [Self.url])
        server.landAll()
        for connection in [first, second] { #expect(try await connection.response.source == .network) }
    }
}
