import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An engine with a shared cache", .limit(minutes: 5)) struct EngineSharedCacheTests {
    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    private let request = Request("http://h/")

    private func engine(_ transport: StubTransport, _ kind: CacheKind = .shared) -> Engine {
        temporary.engine(transport, clock: clock) { $0.cacheKind = kind }
    }

    @Test(
        arguments: [
            ("max-age=60", false, .cache), ("max-age=60, private", false, .network), ("max-age=60", true, .network),
            ("max-age=60, public", true, .cache), ("s-maxage=60", true, .cache),
            ("s-maxage=5, max-age=60", false, .network),
        ] as [(String, Bool, Response.Source)])
    func `stores only responses for any user`(control: String, isAuthorized: Bool, source: Response.Source) async throws
    {
        let engine = engine(StubTransport(headers: [.cacheControl: control]))
        let headers: HTTPFields = isAuthorized ? [.authorization: "Basic YTpi"] : [:]
        _ = try await engine.send(Request("http://h/", headers: headers))
        clock.advance(by: 10)
        #expect(try await engine.send(Request("http://h/", headers: headers)).source == source)
        await engine.close()
    }

    @Test func `stores no response to a request whose credential the engine adds`() async throws {
        let engine = temporary.engine(StubTransport(headers: [.cacheControl: "max-age=60"]), clock: clock) {
            $0.cacheKind = .shared
            $0.credentials = Provider()
        }
        var request = request
        request.identity = "user-42"
        request.credentials = [.bearer(.secret("token"))]
        _ = try await engine.send(request)
        #expect(try await engine.send(request).source == .network)
        await engine.close()
    }

    private struct Provider: CredentialProvider {
        func secret(_ name: String, for identity: String?) async throws -> String? { "s3cret" }
    }

    @Test(
        arguments: [
            (.shared, nil, .cache), (.private, nil, .network), (.shared, [], .network),
            (.shared, ["Own-Cache-Control", "not a name", "cdn-cache-control"], .cache),
        ] as [(CacheKind, [String]?, Response.Source)])
    func `obeys its targeted fields before Cache-Control`(
        kind: CacheKind, fields: [String]?, source: Response.Source
    ) async throws {
        let name = try #require(HTTPField.Name("CDN-Cache-Control"))
        let transport = StubTransport(headers: [name: "max-age=60", .cacheControl: "no-store"])
        let engine = temporary.engine(transport, clock: clock) {
            $0.cacheKind = kind
            if let fields { $0.targetedFields = fields }
        }
        _ = try await engine.send(request)
        let response = try await engine.send(request)
        #expect(response.source == source && response.headers[name] == "max-age=60")
        await engine.close()
    }

    @Test(arguments: [(CacheKind.private, CacheKind.shared), (.shared, .private)])
    func `does not use responses stored by the other kind of cache`(first: CacheKind, second: CacheKind) async throws {
        let transport = StubTransport(headers: [.cacheControl: "max-age=60", .eTag: "\"1\""])
        for kind in [first, second] {
            let engine = engine(transport, kind)
            #expect(try await engine.send(request).source == .network)
            #expect(try await engine.send(request).source == .cache)
            await engine.close()
        }
        #expect(transport.requests.allSatisfy { $0.headers[.ifNoneMatch] == nil })
        // The second engine's response has replaced the first.
        let engine = engine(transport, second)
        #expect(try await engine.send(request).source == .cache)
        await engine.close()
    }

    @Test(
        arguments: [
            (.shared, [.cacheControl: "max-age=60"], 1), (.shared, [.cacheControl: "max-age=60, private"], 3),
            (.shared, [.cacheControl: "no-store"], 3), (.shared, [.cacheControl: "no-cache"], 3), (.shared, [:], 3),
            // The other callers get the stored response, without the cookie.
            (.shared, [.cacheControl: "max-age=60", .setCookie: "a=b"], 1),
            (.private, [.cacheControl: "max-age=60, private", .setCookie: "a=b"], 1),
            (.private, [.cacheControl: "no-store"], 1),
        ] as [(CacheKind, HTTPFields, Int)])
    func `shares one response among concurrent requests if it may be reused for them`(
        kind: CacheKind, headers: HTTPFields, count: Int
    ) async throws {
        let server = ManualServer()
        server.headers = headers
        let transport = server.transport
        let engine = engine(transport, kind)
        let callers = JoinedCallers()
        callers.watch(engine)
        let tasks = (0..<3).map { _ in Task { try await engine.send(request) } }
        await callers.reach(3)
        await untilTrue { server.flying.count == 1 }
        server.land("http://h/")
        if count > 1 {
            await untilTrue { server.flying.count == 2 }
            server.landAll()
        }
        var cookies = 0
        for task in tasks {
            let response = try await task.value
            #expect(response.text == "http://h/")
            if response.headers.contains(.setCookie) { cookies += 1 }
        }
        #expect(transport.requests.count == count && (kind == .private || cookies <= 1))
        await engine.close()
    }

    @Test func `serves no stale response that s-maxage or proxy-revalidate forbids`() async throws {
        for control in ["s-maxage=5", "max-age=5, proxy-revalidate"] {
            let isDown = Guarded(false)
            let transport = StubTransport { _ throws(TransportError) in
                .stub(
                    status: isDown.withLock { $0 } ? 503 : 200,
                    headers: [.cacheControl: control + ", stale-if-error=60, stale-while-revalidate=60"])
            }
            let engine = engine(transport)
            let request = Request("http://h/\(control.count)")
            _ = try await engine.send(request)
            isDown.withLock { $0 = true }
            clock.advance(by: 10)
            #expect(try await engine.send(request).status.code == 503)
            await engine.close()
        }
    }

    private static let modified: HTTPFields = [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"]
    private static let cookie: HTTPFields = [.cookie: "sid=anna"]
    private static let apiKey = HTTPField.Name("X-API-Key") ?? .cookie

    @Test(
        arguments: [
            ([:], cookie, false), (modified, cookie, false), (modified, [.authorization: "Basic YTpi"], false),
            (modified, [apiKey: "k"], false), ([.cacheControl: "public"] + modified, cookie, true),
            ([.cacheControl: "max-age=60"], cookie, true), (modified, [:], true), ([.setCookie: "a=b"], [:], false),
            ([.setCookie: "a=b", .cacheControl: "max-age=60"], [:], true),
        ] as [(headers: HTTPFields, credentials: HTTPFields, isShared: Bool)], [true, false])
    func `gives no user's response to others without the server's word`(
        answer: (headers: HTTPFields, credentials: HTTPFields, isShared: Bool), isUp: Bool
    ) async throws {
        let (headers, credentials, isShared) = answer
        let isDown = Guarded(false)
        let count = Guarded(0)
        let transport = StubTransport { _ throws(TransportError) in
            guard !isDown.withLock({ $0 }) else { throw TransportError(.cannotConnect, "refused") }
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            return .stub(headers: isFirst ? headers : [.cacheControl: "no-store"], body: isFirst ? "anna's" : "other")
        }
        let engine = temporary.engine(transport, clock: clock) {
            $0.cacheKind = .shared
            $0.identityPreset = .http
        }
        _ = try await engine.send(Request("http://h/", headers: credentials))
        isDown.withLock { $0 = !isUp }
        if !isUp { clock.advance(by: 100) }
        for others in [[:], [.cookie: "sid=ben"], [.authorization: "Basic YTpj"]] as [HTTPFields] {
            let response = try? await engine.send(Request("http://h/", headers: others))
            #expect((response?.text == "anna's") == isShared, "\(others)")
        }
        await engine.close()
    }
}
