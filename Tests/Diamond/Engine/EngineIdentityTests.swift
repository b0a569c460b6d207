import Diamond
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@Suite("An engine with several users", .limit(minutes: 5)) struct EngineIdentityTests {
    private let temporary = TemporaryStore()
    private let transport = StubTransport { request throws(TransportError) in
        .stub(headers: [.cacheControl: "max-age=3600"], body: "for \(request.url) \(request.headers)")
    }

    private func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        change(&configuration)
        return Engine(configuration)
    }

    private static let name = HTTPField.Name("X-Whatever") ?? .cookie

    /// How users identify themselves.
    enum Way: CaseIterable {
        case authorization, cookie, userInfo, parameter, listedHeader, unnamedSecret, form

        func request(_ user: String) -> Request {
            var request = Request("http://h/me")
            switch self {
            case .authorization: request.headers[.authorization] = "Bearer \(user)"
            case .cookie: request.headers[.cookie] = "session=\(user)"
            case .userInfo: request.url = "http://\(user):pw@h/me"
            case .parameter: request.parameters = ["access_token": user]
            case .listedHeader:
                request.headers[name] = user
                request.rules.secrets = ["x-whatever"]
            case .unnamedSecret: request.credentials = [.header(name, .unnamed(user))]
            case .form:
                request.method = .query
                request.body = .form(["whatever": user])
                request.rules.secrets = ["whatever"]
            }
            return request
        }
    }

    @Test(arguments: Way.allCases) func `an engine never answers one user with another's response`(way: Way)
        async throws
    {
        let first = engine()
        let alice = try await first.send(way.request("alice-s3cret"))
        #expect(try await first.send(way.request("bob-s3cret")).source == .network)
        #expect(try await first.send(way.request("alice-s3cret")).source == .cache)
        await first.close()
        let second = engine()
        #expect(try await second.send(way.request("carol-s3cret")).source == .network)
        let again = try await second.send(way.request("alice-s3cret"))
        #expect(again.source == .cache)
        #expect(again.body == alice.body)
        await second.close()
    }

    @Test(arguments: Way.allCases) func `an engine finds a response by its identity after the token has changed`(
        way: Way
    ) async throws {
        let engine = engine()
        var (old, new, other) = (way.request("old"), way.request("new"), way.request("new"))
        (old.identity, new.identity, other.identity) = ("user-42", "user-42", "user-43")
        #expect(try await engine.send(old).source == .network)
        // A parameter that is a secret only by its name may be something else, so it still separates users.
        #expect(try await engine.send(new).source == (way == .parameter ? .network : .cache))
        #expect(try await engine.send(other).source == .network)
        await engine.close()
    }

    @Test(arguments: Way.allCases, [IdentityPreset.selectingHeaders, .http])
    func `a credential of the request itself separates users although the provider names one identity`(
        way: Way,
        preset: IdentityPreset
    ) async throws {
        let engine = engine {
            $0.credentials = KnownSecrets([:], identity: "ann")
            $0.identityPreset = preset
        }
        #expect(try await engine.send(way.request("bob")).source == .network)
        #expect(try await engine.send(way.request("carol")).source == .network)
        #expect(try await engine.send(way.request("bob")).source == .cache)
        #expect(try await engine.forget(identity: "ann") == 2)
        await engine.close()
    }

    @Test func `a cookie of the request itself is in the key, and needs no variant of its response`() async throws {
        let transport = StubTransport(headers: [.cacheControl: "max-age=60", .vary: "Cookie"])
        let engine = engine {
            $0.transport = transport
            $0.credentials = KnownSecrets([:], identity: "ann")
        }
        let request = Request("http://h/me", headers: [.cookie: "a=b"])
        #expect(try await engine.send(request).source == .network)
        await engine.cache?.flush()
        #expect(try temporary.rows("entry") == 1)
        await engine.close()
    }

    @Test func `a redirect keeps a credential of the request itself in the key`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            request.url == "http://h/a"
                ? .stub(status: 302, headers: [.location: "/b"])
                : .stub(headers: [.cacheControl: "max-age=60"])
        }
        let engine = engine {
            $0.transport = transport
            $0.credentials = KnownSecrets([:], identity: "ann")
        }
        for user in ["bob", "carol"] {
            let request = Request("http://h/a", headers: [.authorization: "Bearer \(user)"])
            #expect(try await engine.send(request).source == .network)
        }
        await engine.close()
    }

    @Test func `an engine stores no response to a named secret without an identity`() async throws {
        let engine = engine { $0.credentials = KnownSecrets(["token": "s3cret"]) }
        var request = Request("http://h/me")
        request.credentials = [.bearer(.secret("token"))]
        for _ in 0..<2 { #expect(try await engine.send(request).source == .network) }
        #expect(transport.requests.map { $0.headers[.authorization] } == ["Bearer s3cret", "Bearer s3cret"])
        #expect(try await engine.cache?.purge() == 0)
        await engine.close()
    }

    @Test func `an engine asks its provider for the identity before it looks a request up`() async throws {
        let provider = KnownSecrets(["a/token": "s3cret-a", "b/token": "s3cret-b"], identity: "a")
        let engine = engine { $0.credentials = provider }
        var request = Request("http://h/me")
        request.credentials = [.bearer(.secret("token")), .parameter("key", .secret("token"))]
        #expect(try await engine.send(request).source == .network)
        #expect(try await engine.send(request).source == .cache)
        provider.signIn("b")
        #expect(try await engine.send(request).source == .network)
        #expect(transport.requests.map { $0.headers[.authorization] } == ["Bearer s3cret-a", "Bearer s3cret-b"])
        #expect(transport.requests.map(\.url) == ["http://h/me?key=s3cret-a", "http://h/me?key=s3cret-b"])
        await engine.close()
        // The server decides what its response contains; the stub repeats the request, so only keys and URLs count.
        let secret = try await engine.cache?.purge()
        #expect(secret == 2)
    }

    @Test func `an engine stores no byte of a secret in its files or in responses' URLs`() async throws {
        let quiet = StubTransport(headers: [.cacheControl: "max-age=3600", .setCookie: "session=s3cret"])
        let engine = engine {
            $0.transport = quiet
            $0.credentials = KnownSecrets(["token": "s3cret-named"], identity: "user-42")
        }
        var named = Request("http://h/named", parameters: ["a": 1])
        named.credentials = [.bearer(.secret("token")), .parameter("api_key", .secret("token"))]
        var unnamed = Request("http://me:s3cret-info@h/unnamed", parameters: ["password": "s3cret-parameter"])
        unnamed.credentials = [.header(Self.name, prefix: "Key ", .unnamed("s3cret-value"))]
        for request in [named, unnamed] {
            let response = try await engine.send(request)
            #expect(!response.url.contains("s3cret-named") && !response.url.contains("s3cret-info"))
        }
        #expect(quiet.requests.allSatisfy { "\($0.url) \($0.headers)".contains("s3cret") })
        await engine.cache?.flush()
        let bytes = try temporary.bytes()
        #expect(bytes.count > 0)
        #expect(bytes.firstRange(of: Data("s3cret".utf8)) == nil)
        #expect(bytes.firstRange(of: Data("credential header authorization".utf8)) != nil)
        await engine.close()
    }

    @Test func `an engine stores no response for a user without the parameter that identifies the user`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            request.url.hasPrefix("http://h/a")
                ? .stub(status: 302, headers: [.location: "/b"])
                : .stub(headers: [.cacheControl: "max-age=3600"], body: request.url)
        }
        let engine = engine { $0.transport = transport }
        func request(_ url: String) -> Request {
            var request = Request(url)
            (request.identity, request.credentials) = ("user-42", [.parameter("appid", .unnamed("s3cret"))])
            return request
        }
        #expect(try await engine.send(request("http://h/a")).text == "http://h/b")
        #expect(try await engine.send(request("http://h/b")).text == "http://h/b?appid=s3cret")
        await engine.close()
    }

    @Test(arguments: ["header", "parameter"])
    func `an engine stores no response for a user whose credential an interceptor removed`(
        place: String
    ) async throws {
        struct SignedOut: Interceptor {
            func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
                request.headers[.authorization] = nil
                request.url = request.url.replacing("?token=t", with: "")
            }
        }
        let engine = engine {
            $0.transport = StubTransport(headers: [.cacheControl: "max-age=3600"])
            $0.interceptors = [SignedOut()]
        }
        var request = Request(place == "header" ? "http://h/feed" : "http://h/feed?token=t")
        request.identity = "user-42"
        if place == "header" { request.headers[.authorization] = "Bearer t" }
        for _ in 0..<2 { #expect(try await engine.send(request).source == .network) }
        await engine.close()
    }

    @Test(arguments: ["/path/?appid=s3cret", "http://other/path?a=1&appid=s3cret"], [nil, "anna"])
    func `an engine stores no byte of a secret parameter that a redirect repeats, and nothing without an identity`(
        location: String, identity: String?
    ) async throws {
        let redirecting = StubTransport { request throws(TransportError) in
            request.url.contains("/path")
                ? .stub(headers: [.cacheControl: "max-age=3600"])
                : .stub(status: 301, headers: [.location: location, .cacheControl: "max-age=3600"])
        }
        let engine = engine {
            $0.transport = redirecting
            $0.credentials = KnownSecrets(["weather": "s3cret"], identity: identity)
        }
        let urls = Guarded<[String]>([])
        let observation = engine.activity.observe { event in urls.withLock { $0.append("\(event)") } }
        var request = Request("http://h/now")
        request.credentials = [.parameter("appid", .secret("weather"))]
        for _ in 0..<2 {
            let source = try await engine.send(request).source
            #expect(source == .network || identity != nil)
        }
        await engine.cache?.flush()
        #expect(try temporary.bytes().firstRange(of: Data("s3cret".utf8)) == nil)
        #expect(urls.withLock { $0.allSatisfy { !$0.contains("s3cret") } && !$0.isEmpty })
        // With an identity, the target of the redirect is stored.
        #expect(try engine.cache?.count(.all) == (identity == nil ? 0 : 1))
        withExtendedLifetime(observation) {}
        await engine.close()
    }

    @Test func `an engine does not treat a parameter as secret only because of its name`() async throws {
        let engine = engine()
        for key in ["42", "43"] {
            var request = Request("http://h/me?key=\(key)")
            request.identity = "user-42"
            request.credentials = [.parameter("key", .unnamed("s3cret")), .header(Self.name, .unnamed("s3cret"))]
            #expect(try await engine.send(request).source == .network)
            #expect(try await engine.send(request).source == .cache)
        }
        #expect(transport.requests.map(\.url) == ["http://h/me?key=42&key=s3cret", "http://h/me?key=43&key=s3cret"])
        await engine.close()
    }

    @Test func `an engine keeps a secret without a name out of the store on every hop`() async throws {
        let redirecting = StubTransport { request throws(TransportError) in
            request.url == "http://h/a"
                ? .stub(status: 301, headers: [.location: "/b"]) : .stub(headers: [.cacheControl: "max-age=3600"])
        }
        let engine = engine { $0.transport = redirecting }
        var request = Request("http://h/a")
        request.credentials = [.header(Self.name, .unnamed("s3cret"))]
        _ = try await engine.send(request)
        #expect(redirecting.requests.map { $0.headers[Self.name] } == ["s3cret", "s3cret"])
        await engine.close()
        #expect(try temporary.bytes().firstRange(of: Data("s3cret".utf8)) == nil)
    }

    @Test func `an engine forgets the entries of an identity, and only those`() async throws {
        let engine = engine()
        var (own, other) = (Request("http://h/me"), Request("http://h/me"))
        (own.identity, other.identity) = ("user-42", "user-43")
        for request in [own, other, Request("http://h/me")] { _ = try await engine.send(request) }
        #expect(try await engine.forget(identity: "user-42") == 1)
        #expect(try await engine.send(other).source == .cache)
        #expect(try await engine.send(Request("http://h/me")).source == .cache)
        #expect(try await engine.send(own).source == .network)
        await engine.close()
    }

    @Test func `an engine does not store a response of an identity that was forgotten meanwhile`() async throws {
        let checkpoint = Checkpoint()
        let slow = StubTransport { _ throws(TransportError) in
            await checkpoint.pass()
            return .stub(headers: [.cacheControl: "max-age=3600"])
        }
        let engine = engine { $0.transport = slow }
        var request = Request("http://h/me")
        request.identity = "user-42"
        let task = Task { [request] in try await engine.send(request) }
        await checkpoint.reached()
        try await engine.forget(identity: "user-42")
        checkpoint.open()
        #expect(try await task.value.source == .network)
        #expect(try await engine.send(request).source == .network)
        // After a new request, it is stored again.
        #expect(try await engine.send(request).source == .cache)
        await engine.close()
    }

    @Test(arguments: [nil, KnownSecrets()] as [KnownSecrets?])
    func `an engine names an unknown secret, and sends nothing`(provider: KnownSecrets?) async throws {
        let engine = engine { $0.credentials = provider }
        var request = Request("http://h/me")
        request.credentials = [.bearer(.secret("github-token"))]
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(request) }
        #expect(error?.code == .noCredential)
        #expect(error?.message.contains("'github-token'") == true)
        #expect(transport.requests.isEmpty)
        await engine.close()
    }

    @Test(arguments: [("http://h/b", "Bearer s3cret"), ("http://other/b", nil), ("https://h/b", nil)])
    func `an engine sends a secret to its own origin only`(target: String, expected: String?) async throws {
        let redirecting = StubTransport { request throws(TransportError) in
            request.url == "http://h/a" ? .stub(status: 302, headers: [.location: target]) : .stub()
        }
        let engine = engine {
            $0.transport = redirecting
            $0.credentials = KnownSecrets(["token": "s3cret"], identity: "me")
        }
        var request = Request("http://h/a", headers: [Self.name: "s3cret"])
        request.credentials = [.bearer(.secret("token"))]
        request.rules.secrets = ["X-Whatever"]
        _ = try await engine.send(request)
        #expect(redirecting.requests.count == 2)
        #expect(redirecting.requests.last?.headers[.authorization] == expected)
        #expect(redirecting.requests.last?.headers[Self.name] == (expected == nil ? nil : "s3cret"))
        await engine.close()
    }
}
