import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `A remembered key` {
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

    @Test(arguments: changes.indices) func `is forgotten with a change of any property`(index: Int) async throws {
        let engine = engine()
        var request = Request("http://h/a", parameters: ["a": [1, 2]], headers: [.accept: "a"])
        let before = try await engine.key(of: request)
        Self.changes[index].change(&request)
        let after = try await engine.key(of: request)
        let fresh = try CanonicalForm(of: request, rules: try #require(engine.cache).rules).key
        #expect(after == fresh, "\(Self.changes[index].name)")
        #expect((after == before) == ["cache", "timeout", "tags"].contains(Self.changes[index].name))
    }

    @Test func `is not another engine's, nor another user's`() async throws {
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

    @Test func `leaves requests as equal as they were`() async throws {
        let (one, other) = (Request("http://h/"), Request("http://h/"))
        _ = try await engine().key(of: one)
        #expect(one == other)
        #expect(Set([one, other]).count == 1)
    }
}
