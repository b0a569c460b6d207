import Diamond
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@Suite("An engine with a cookie jar", .limit(minutes: 5)) struct EngineCookieTests {
    private let temporary = TemporaryStore()
    private let jar = CookieJar()

    private static let fresh: HTTPFields = [.cacheControl: "max-age=3600"]

    private func engine(
        _ transport: any Transport,
        _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        configuration.cookies = jar
        configuration.draw = { 0 }
        // No time passes for the retry policy, however slow the machine is.
        configuration.clock = TestClock()
        change(&configuration)
        return Engine(configuration)
    }

    private func request(_ path: String, _ identity: String? = nil) -> Request {
        var request = Request("http://h.x/\(path)")
        request.identity = identity
        return request
    }

    /// Returns a transport that sets a cookie where the path asks for it, and redirects.
    private let transport = StubTransport { request throws(TransportError) in
        switch request.url {
        case "http://h.x/login": .stub(headers: [.setCookie: "s=1; Path=/"])
        case "http://h.x/1": .stub(status: 302, headers: [.location: "/2", .setCookie: "r=1; Path=/"])
        case "http://h.x/2": .stub(status: 302, headers: [.location: "http://o.x/3", .setCookie: "r=2; Path=/"])
        default: .stub(headers: fresh)
        }
    }

    private func sent() -> [String?] { transport.requests.map { $0.headers[.cookie] } }

    @Test func `an engine sends a connection once, also where its response sets a cookie`() async throws {
        let engine = engine(transport)
        #expect(try await engine.start(request("login")).response.status == .ok)
        #expect(sent() == [nil])
        await engine.close()
    }

    @Test func `an engine sends a connection once after a stored redirect, also where its response sets a cookie`()
        async throws
    {
        let redirect: HTTPFields = [.location: "/login", .cacheControl: "max-age=3600"]
        let transport = StubTransport { request throws(TransportError) in
            request.url == "http://h.x/old"
                ? .stub(status: 301, headers: redirect) : .stub(headers: [.setCookie: "s=1; Path=/"])
        }
        let plain = engine(transport) { $0.cookies = nil }
        _ = try await plain.send(request("old"))
        await plain.close()
        let engine = engine(transport)
        #expect(try await engine.start(request("old")).response.status == .ok)
        let paths = transport.requests.map { String($0.url.dropFirst("http://h.x/".count)) }
        #expect(paths == ["old", "login", "login"])
        await engine.close()
    }

    @Test func `an engine stores no response that a server varies by cookies`() async throws {
        let varying = StubTransport(headers: [.cacheControl: "max-age=3600", .vary: "Accept, Cookie"])
        let engine = engine(varying)
        for _ in 1...2 { #expect(try await engine.send(request("cart", "anna")).source == .network) }
        await engine.close()
    }

    @Test func `an engine stores no cookie of a session that ended while its request was adapted`() async throws {
        struct Logout: Interceptor {
            let jar: CookieJar
            func adapt(_ request: inout TransportRequest, attempt: Int) async throws { jar.removeAll(of: "anna") }
        }
        let engine = engine(transport) { $0.interceptors = [Logout(jar: jar)] }
        _ = try await engine.send(request("login", "anna"))
        #expect(jar.cookies(of: "anna").isEmpty)
        await engine.close()
    }

    @Test func `an engine stores and sends cookies, over a real connection too`() async throws {
        let heads = Guarded<[String]>([])
        let server = try RawServer { connection in
            guard let head = connection.readHead() else { return }
            heads.withLock { $0.append(head) }
            connection.write(
                "HTTP/1.1 200 OK\r\nSet-Cookie: s=1; Path=/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        for kind in TransportKind.allCases {
            let transport = kind.make()
            jar.removeAll(of: nil)
            heads.withLock { $0 = [] }
            let engine = engine(transport)
            for _ in 1...2 { _ = try await engine.send(Request(server.base, cache: .noStore)) }
            #expect(heads.withLock { $0.map { $0.lowercased().contains("\r\ncookie: s=1\r\n") } } == [false, true])
            await engine.close()
        }
    }

    @Test func `an engine has no cookies unless it is given a jar`() async throws {
        let engine = engine(transport) { $0.cookies = nil }
        for path in ["login", "a"] { _ = try await engine.send(request(path)) }
        #expect(sent() == [nil, nil] && jar.cookies().isEmpty)
    }

    @Test func `an engine does not use the cache for a request with a cookie but no identity`() async throws {
        let engine = engine(transport)
        _ = try await engine.send(request("a"))
        #expect(try await engine.send(request("a")).source == .cache)
        _ = try await engine.send(request("login"))
        for _ in 1...2 { #expect(try await engine.send(request("a")).source == .network) }
        jar.removeAll(of: nil)
        #expect(try await engine.send(request("a")).source == .cache)
        #expect(sent() == [nil, nil, "s=1", "s=1"])
    }

    @Test func `an engine stores responses for each identity, whatever its cookies`() async throws {
        let engine = engine(transport)
        for identity in ["anna", "otto"] {
            _ = try await engine.send(request("login", identity))
            #expect(try await engine.send(request("a", identity)).source == .network)
            #expect(try await engine.send(request("a", identity)).source == .cache)
        }
        jar.set(Cookie("s", "2", domain: "h.x", isSecure: false), of: "anna")
        #expect(try await engine.send(request("a", "anna")).source == .cache)
        #expect(sent() == [nil, "s=1", nil, "s=1"])
        try await engine.forget(identity: "anna")
        #expect(try await engine.send(request("a", "anna")).source == .network)
        #expect(sent().last == .some(nil) && jar.cookies(of: "otto").count == 1)
    }

    @Test func `an engine shares no exchange among requests with a cookie but no identity`() async throws {
        let gate = Gate()
        let stub = StubTransport { _ throws(TransportError) in
            await gate.wait()
            return .stub(headers: Self.fresh)
        }
        let engine = engine(stub)
        jar.set(Cookie("s", "1", domain: "h.x", isSecure: false))
        let connections = [engine.start(request("a")), engine.start(request("a"))]
        await untilTrue { stub.requests.count == 2 }
        gate.open()
        for connection in connections { _ = try await connection.response }
    }

    @Test func `an engine sets and sends cookies at every hop, each host its own`() async throws {
        jar.set(Cookie("o", "3", domain: "o.x", isSecure: false), of: "anna")
        let engine = engine(transport)
        #expect(try await engine.send(request("1", "anna")).status == .ok)
        #expect(sent() == [nil, "r=1", "o=3"])
        #expect(jar.cookies(of: "anna").map(\.value) == ["2", "3"])
    }

    @Test func `an engine does not change a cookie of the request's own`() async throws {
        jar.set(Cookie("s", "1", domain: "h.x", isSecure: false))
        let engine = engine(transport)
        var request = request("a")
        request.headers[.cookie] = "own=1"
        _ = try await engine.send(request)
        #expect(try await engine.send(request).source == .cache)
        #expect(sent() == ["own=1"])
    }

    /// Sends requests to another URL.
    private struct RedirectingInterceptor: Interceptor {
        let url: String
        var cookie: String?

        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            request.url = url
            if let cookie { request.headers[.cookie] = cookie }
        }
    }

    @Test(
        arguments: [
            ("http://h.x/a", nil), ("https://o.x/a", "o=3"), ("https://n.x/a", nil), ("https://h.x/b/c", "p=2; s=1"),
            ("https://h.x/a?page=1", "s=1"),
        ] as [(url: String, cookie: String?)], [nil, "anna"])
    func `an engine sends the cookies of the URL that an interceptor has set`(
        detour: (url: String, cookie: String?),
        identity: String?
    ) async throws {
        jar.set(Cookie("s", "1", domain: "h.x"), of: identity)
        jar.set(Cookie("p", "2", domain: "h.x", path: "/b"), of: identity)
        jar.set(Cookie("o", "3", domain: "o.x"), of: identity)
        let engine = engine(transport) { $0.interceptors = [RedirectingInterceptor(url: detour.url)] }
        var request = Request("https://h.x/a")
        request.identity = identity
        _ = try await engine.send(request)
        #expect(sent() == [detour.cookie])
    }

    @Test func `an engine does not change a cookie that an interceptor has set, for any URL`() async throws {
        jar.set(Cookie("s", "1", domain: "h.x"))
        let engine = engine(transport) {
            $0.interceptors = [RedirectingInterceptor(url: "https://o.x/a", cookie: "own=1")]
        }
        _ = try await engine.send(Request("https://h.x/a"))
        #expect(sent() == ["own=1"])
    }

    @Test func `an engine stores no response if an interceptor's URL adds a cookie without an identity`() async throws {
        jar.set(Cookie("o", "3", domain: "o.x"))
        let engine = engine(transport) { $0.interceptors = [RedirectingInterceptor(url: "https://o.x/a")] }
        for _ in 1...2 { #expect(try await engine.send(Request("https://h.x/a")).source == .network) }
    }

    @Test func `an engine accepts the cookies of a response that is refused or retried`() async throws {
        let statuses = Guarded([503, 200])
        let transport = StubTransport { _ throws(TransportError) in
            let status = statuses.withLock { $0.removeFirst() }
            return .stub(status: status, headers: [.setCookie: "s=\(status); Path=/"])
        }
        let engine = engine(transport) { $0.interceptors = [ResponseValidator(statuses: 300...399)] }
        await #expect(throws: ConnectionError.self) { try await engine.send(request("a")) }
        #expect(transport.requests.map { $0.headers[.cookie] } == [nil, "s=503"])
        #expect(jar.cookies().map(\.value) == ["200"])
    }

    @Test func `an engine does not store a response to a cookie that the previous attempt has set`() async throws {
        let statuses = Guarded([503, 200])
        let transport = StubTransport { _ throws(TransportError) in
            let status = statuses.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            return .stub(status: status, headers: [.cacheControl: "max-age=3600", .setCookie: "s=1; Path=/"])
        }
        let engine = engine(transport)
        _ = try await engine.send(request("a"))
        jar.removeAll(of: nil)
        #expect(try await engine.send(request("a")).source == .network)
        #expect(transport.requests.map { $0.headers[.cookie] } == [nil, "s=1", nil])
    }

    @Test func `an engine writes no cookie value to the disk`() async throws {
        let engine = engine(
            StubTransport(headers: [.cacheControl: "max-age=3600", .setCookie: "s=c00kiesecret; Path=/"]))
        for _ in 1...2 { _ = try await engine.send(request("a", "anna")) }
        _ = try await engine.send(request("b", "anna"))
        await engine.close()
        #expect(try temporary.bytes().firstRange(of: Data("c00kiesecret".utf8)) == nil)
    }
}
