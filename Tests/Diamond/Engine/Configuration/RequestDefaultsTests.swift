import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The defaults of an engine's requests") struct RequestDefaultsTests {
    private let transport = StubTransport()

    private struct Provider: CredentialProvider {
        func identity(for request: Request) -> String? { "user-1" }
        func secret(_ name: String, for identity: String?) -> String? { "\(name)-1" }
    }

    private func engine(_ defaults: RequestDefaults..., baseURL: String? = "http://h/v1") -> Engine {
        var configuration = Engine.Configuration(testing: transport)
        configuration.baseURL = baseURL
        configuration.headers = [.accept: "*/*", .userAgent: "Diamond"]
        configuration.credentials = Provider()
        configuration.defaults = defaults
        return Engine(configuration)
    }

    private static let token = RequestDefaults(under: "", credentials: [.bearer(.secret("access"))])

    @Test(arguments: [
        ("", "me", true), ("", "", true), ("", "/v1", true), ("", "/v1/a/b?c=1", true), ("", "/v2/me", false),
        ("", "/v10", false), ("", "http://i/v1/me", false), ("", "https://h/v1/me", false),
        ("", "http://h:81/v1/me", false), ("", "http://H:80/v1/me", true), ("", "/v1/a", true), ("", "/%761/me", true),
        ("users/", "users/1", true), ("users/", "users", false), ("users", "users", true), ("users", "users?a=1", true),
        ("users", "users-1", false), ("/", "/v2/me", true), ("http://i", "http://i/me", true),
        ("http://i", "me", false),
    ]) func `defaults apply to their URL and to those below it`(prefix: String, url: String, applies: Bool) async throws
    {
        var defaults = Self.token
        defaults.prefix = prefix
        _ = try await engine(defaults).send(Request(url))
        #expect(transport.requests.last?.headers[.authorization] == (applies ? "Bearer access-1" : nil))
    }

    @Test func `the values of a request come before the defaults, and those before the engine's headers`() async throws
    {
        let defaults = RequestDefaults(
            under: "", headers: [.accept: "application/json", .origin: "http://o"],
            credentials: [.bearer(.secret("access")), .parameter("key", .secret("app"))],
            cache: .automatic(maxAge: .seconds(60)), tags: ["api"])
        let engine = engine(defaults)
        var request = Request("me", headers: [.origin: "http://own", .authorization: "Basic x"], cache: .reload)
        request.tags = ["own"]
        let own = try await engine.pipeline.environment.resolve(request)
        #expect(own.headers[.accept] == "application/json" && own.headers[.origin] == "http://own")
        #expect(own.headers[.userAgent] == "Diamond" && own.headers[.authorization] == "Basic x")
        #expect(own.credentials == [.parameter("key", .secret("app"))])
        #expect(own.cache == .reload && own.tags == ["own", "api"])
        request.credentials = [.bearer(.secret("other"))]
        request.cache = .automatic
        let other = try await engine.pipeline.environment.resolve(request)
        #expect(other.credentials == request.credentials && other.cache == .automatic(maxAge: .seconds(60)))
    }

    @Test func `a header with several values is added as a whole`() async throws {
        var headers: HTTPFields = [:]
        for value in ["a", "b"] { headers.append(HTTPField(name: .accept, value: value)) }
        let request = try await engine(RequestDefaults(under: "", headers: headers)).pipeline.environment
            .resolve(Request("me"))
        #expect(request.headers[values: .accept] == ["a", "b"])
    }

    @Test func `the first of several defaults counts, and no credentials are a value, too`() async throws {
        let engine = engine(RequestDefaults(under: "login", credentials: []), Self.token)
        _ = try await engine.send(Request("login"))
        _ = try await engine.send(Request("me"))
        #expect(transport.requests.map { $0.headers[.authorization] } == [nil, "Bearer access-1"])
    }

    @Test func `a redirect to another server loses the default credentials`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            request.url == "http://h/v1/me" ? .stub(status: 302, headers: [.location: "http://i/"]) : .stub()
        }
        var configuration = Engine.Configuration(testing: transport)
        configuration.credentials = Provider()
        configuration.baseURL = "http://h/v1/"
        configuration.defaults = [Self.token]
        _ = try await Engine(configuration).send(Request("me"))
        #expect(transport.requests.map { $0.headers[.authorization] } == ["Bearer access-1", nil])
    }

    @Test(arguments: [("h/v1", "h/v1"), ("http://", "http://"), ("../v2", "leaves")])
    func `a malformed prefix fails every request, and is named`(prefix: String, reason: String) async throws {
        let engine = engine(RequestDefaults(under: prefix), baseURL: prefix.hasPrefix("..") ? "http://h/v1" : nil)
        let error = await #expect(throws: ConnectionError.self) { _ = try await engine.send(Request("http://h/")) }
        #expect(error?.code == .badRequest && error?.message.contains(reason) == true)
        #expect(error?.message.hasPrefix("the engine's defaults: ") == true && transport.requests.isEmpty)
    }
}
