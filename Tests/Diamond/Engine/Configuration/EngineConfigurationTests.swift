import Diamond
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@Suite("The configuration of an engine", .limit(minutes: 5)) struct EngineConfigurationTests {
    private let temporary = TemporaryStore()
    private let transport = StubTransport(headers: [.cacheControl: "max-age=3600"])

    private func engine(_ change: (inout Engine.Configuration) -> Void) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        change(&configuration)
        return Engine(configuration)
    }

    @Test(arguments: [
        ("cities", "http://h/v1/cities"), ("/cities", "http://h/cities"), ("?a=1", "http://h/v1/?a=1"),
        ("../x", nil), ("//other/x", nil), ("cities/%2e%2e/x", nil), ("cities\\..\\x", nil),
        ("https://o/x", "https://o/x"), ("", "http://h/v1/"),
        ("a:b", nil), ("./a:b", "http://h/v1/a:b"),
    ]) func `an engine resolves URLs against its base`(url: String, resolved: String?) async throws {
        let engine = engine { $0.baseURL = "HTTP://h:80/v1/" }
        if let resolved {
            _ = try await engine.send(Request(url))
            #expect(transport.requests.map(\.url) == [resolved])
            #expect(try await engine.send(Request(resolved)).source == .cache)
        } else {
            let error = await #expect(throws: ConnectionError.self) { try await engine.send(Request(url)) }
            #expect(error?.code == .badRequest)
            #expect(error?.message.contains("'\(url)'") == true, "\(error?.message ?? "")")
            #expect(transport.requests.isEmpty)
        }
        await engine.close()
    }

    @Test func `an engine applies its own rules together with those of each request`() async throws {
        let engine = engine { $0.rules = IdentityRules(ignoring: ["utm_*", "_"], nonSelecting: ["X-Trace"]) }
        let trace = try #require(HTTPField.Name("X-Trace"))
        var request = Request("http://h/?utm_source=a&_=1&a=1", headers: [trace: "1"])
        #expect(try await engine.send(request).source == .network)
        request = Request("http://h/?utm_medium=b&a=1", parameters: ["_": 2], headers: [trace: "2"])
        #expect(try await engine.send(request).source == .cache)
        request = Request("http://h/?a=1&t=5")
        #expect(try await engine.send(request).source == .network)
        request.parameters["t2"] = 7
        request.rules.ignoring = ["t*"]
        #expect(try await engine.send(request).source == .cache)
        // The header is sent all the same.
        #expect(transport.requests.map(\.url) == ["http://h/?utm_source=a&_=1&a=1", "http://h/?a=1&t=5"])
        await engine.close()
    }

    /// Two URLs with one key. The entry is stored under the first, and found under the second.
    enum Alias: CaseIterable {
        case ignoring, cacheKey, identity

        var requests: (stored: Request, finding: Request) {
            var (stored, finding) = (Request("http://h/x?a=1"), Request("http://h/x?a=2"))
            switch self {
            case .ignoring:
                stored.rules.ignoring = ["a"]
                finding.rules.ignoring = ["a"]
            case .cacheKey: (stored.cacheKey, finding.cacheKey) = ("k", "k")
            case .identity:
                finding = Request("http://h/x")
                (stored.identity, finding.identity) = ("anna", "anna")
                (stored.rules.secrets, finding.rules.secrets) = (["a"], ["a"])
            }
            return (stored, finding)
        }

        var url: String {
            switch self {
            case .ignoring, .cacheKey: "http://h/x?a=1"
            case .identity: "http://h/x?a=•••"
            }
        }
    }

    @Test(arguments: Alias.allCases)
    func `an engine purges an entry by its URL even if another URL has read it into memory`(alias: Alias) async throws {
        let requests = alias.requests
        let first = engine { _ in }
        _ = try await first.send(requests.stored)
        await first.close()
        let second = engine { _ in }
        #expect(try await second.send(requests.finding).source == .cache)
        #expect(try await second.cache?.purge(.url(alias.url)) == 1)
        #expect(try await second.send(requests.finding).source == .network)
        await second.close()
    }

    @Test func `an engine selects by Vary even with a header that is not in the key`() async throws {
        let trace = try #require(HTTPField.Name("X-Trace"))
        let varying = StubTransport(headers: [.cacheControl: "max-age=3600", .vary: "x-trace"])
        let engine = engine {
            $0.transport = varying
            $0.rules.nonSelecting = ["X-Trace"]
        }
        for (value, source) in [("1", .network), ("2", .network), ("1", .cache)] as [(String, Response.Source)] {
            #expect(try await engine.send(Request("http://h/", headers: [trace: value])).source == source)
        }
        await engine.close()
    }

    /// The identity and the app's key of a request, the `Vary` field of the response, and whether another cookie
    /// selects the same response.
    private static let variants: [(identity: String?, cacheKey: String?, vary: String, isForAllCookies: Bool)] = [
        (nil, nil, "Cookie, Accept, Authorization", false), ("anna", nil, "Cookie", false),
        ("anna", nil, "Accept, Authorization", true), (nil, "k", "Accept, X-Not-Sent", false),
        (nil, "k", "Cookie, Authorization", false), ("anna", "k", "Authorization", true),
        ("anna", "k", "Cookie", false), (nil, "k", "Accept-Encoding", false),
    ]

    @Test(arguments: variants.indices)
    func `an engine obeys Vary even if an identity or the app's key replaces headers`(index: Int) async throws {
        let (identity, cacheKey, vary, isForAllCookies) = Self.variants[index]
        let engine = engine {
            $0.transport = StubTransport(headers: [.cacheControl: "max-age=3600", .vary: vary])
        }
        var request = Request("http://h/", headers: [.cookie: "lang=de", .accept: "a", .authorization: "Bearer a"])
        (request.identity, request.cacheKey) = (identity, cacheKey)
        _ = try await engine.send(request)
        #expect(try await engine.send(request).source == .cache)
        request.headers[.cookie] = "lang=fr"
        #expect(try await engine.send(request).source == (isForAllCookies ? .cache : .network))
        await engine.close()
    }

    @Test func `an engine uses the app's own key in place of the request, except for its credentials`() async throws {
        let engine = engine { _ in }
        var (one, other) = (Request("http://a/x?t=1"), Request("https://b/y", headers: [.acceptLanguage: "de"]))
        (one.cacheKey, other.cacheKey) = ("cities", "cities")
        #expect(try await engine.send(one).source == .network)
        #expect(try await engine.send(other).source == .cache)
        other.headers[.authorization] = "Bearer a"
        #expect(try await engine.send(other).source == .network)
        other.cacheKey = "towns"
        #expect(try await engine.send(other).source == .network)
        await engine.close()
    }
}
