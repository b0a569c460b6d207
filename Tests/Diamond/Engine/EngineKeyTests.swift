import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A cached key of a request", .limit(minutes: 5)) struct EngineKeyTests {
    private let temporary = TemporaryStore()

    private func engine(_ configuration: Engine.Configuration? = nil) -> Engine {
        var plain = Engine.Configuration(store: temporary.store)
        plain.headers = [:]
        var configuration = configuration ?? plain
        configuration.transport = StubTransport(headers: [.cacheControl: "max-age=3600"])
        return Engine(configuration)
    }

    /// Each property of a request, changed.
    private static let changes: [(name: String, change: @Sendable (inout Request) -> Void)] = [
        ("method", { $0.method = .query }), ("url", { $0.url = "http://h/b" }),
        ("parameters", { $0.parameters["a"] = 2 }), ("destination", { $0.destination = .json }),
        ("encoding", { $0.encoding.arrays = .comma }), ("headers", { $0.headers[.accept] = "b" }),
        ("body", { $0.body = .json(1) }), ("credentials", { $0.credentials = [.bearer(.unnamed("t"))] }),
        ("identity", { $0.identity = "me" }), ("cacheKey", { $0.cacheKey = "k" }),
        ("rules", { $0.rules.ignoring = ["a"] }), ("cache", { $0.cache = .noStore }), ("timeout", { $0.timeout = nil }),
        ("tags", { $0.tags = ["a"] }),
    ]

    @Test(arguments: changes.indices) func `a cached key is discarded with a change of any property`(index: Int)
        async throws
    {
        let engine = engine()
        var request = Request("http://h/a", parameters: ["a": [1, 2]], headers: [.accept: "a"])
        let before = try await engine.key(of: request)
        Self.changes[index].change(&request)
        let after = try await engine.key(of: request)
        let fresh = try CanonicalForm(of: request, rules: try #require(engine.cache).rules).key
        #expect(after == fresh, "\(Self.changes[index].name)")
        #expect((after == before) == ["cache", "timeout", "tags"].contains(Self.changes[index].name))
    }

    @Test func `a cached key is not used for another engine or user`() async throws {
        var other = Engine.Configuration(store: nil)
        other.headers = [.accept: "b"]
        let request = Request("http://h/a")
        let (one, two) = (engine(), engine(other))
        #expect(try await one.key(of: request) != two.key(of: request))
        #expect(try await one.key(of: request) == one.key(of: Request("http://h/a")))
        let provider = KnownSecrets(identity: "a")
        var asking = Engine.Configuration(store: temporary.store)
        asking.credentials = provider
        let engine = engine(asking)
        let first = try await engine.key(of: request)
        provider.signIn("b")
        #expect(try await engine.key(of: request) != first)
    }

    /// Returns the identity of requests, and counts its calls.
    private struct CountingIdentityProvider: CredentialProvider {
        let name: String?
        let questions = Guarded(0)

        func identity(for request: Request) async throws -> String? {
            questions.withLock { $0 += 1 }
            return name
        }
        func secret(_ name: String, for identity: String?) async throws -> String? { nil }
    }

    /// Kinds of requests. Only the response to the first kind may be shared with another caller.
    private static let kinds: [(name: String, change: @Sendable (inout Request) -> Void)] = [
        ("plain", { _ in }), ("post", { $0.method = .post }), ("noStore", { $0.cache = .noStore }),
        ("no-store", { $0.headers[.cacheControl] = "no-store" }), ("condition", { $0.headers[.ifNoneMatch] = "\"1\"" }),
        ("secret", { $0.credentials = [.bearer(.secret("token"))] }),
    ]

    @Test(arguments: kinds.indices, [nil, "anna"])
    func `a cached key needs one call for the identity of the request`(index: Int, identity: String?) async throws {
        let registry = CountingIdentityProvider(name: identity)
        var configuration = Engine.Configuration(store: temporary.store)
        (configuration.credentials, configuration.headers) = (registry, [:])
        let engine = engine(configuration)
        var request = Request("http://h/a")
        Self.kinds[index].change(&request)
        let key = try await engine.key(of: request)
        #expect(registry.questions.withLock { $0 } == 1, "\(Self.kinds[index].name)")
        request.identity = identity
        let fresh = try CanonicalForm(of: request, rules: try #require(engine.cache).rules).key
        #expect(key == fresh, "\(Self.kinds[index].name)")
    }

    @Test func `a cached key does not change the equality of requests`() async throws {
        let (one, other) = (Request("http://h/"), Request("http://h/"))
        _ = try await engine().key(of: one)
        #expect(one == other)
        #expect(Set([one, other]).count == 1)
    }
}
