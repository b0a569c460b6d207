import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The tags that a request invalidates", .limit(minutes: 5)) struct InvalidatedTagTests {
    private let fixture = ReplayFixture()

    private static func cities(_ tag: String = "cities") -> Request {
        var request = Request("http://api.test/cities", cache: .automatic(maxAge: .seconds(60)))
        request.tags = [tag]
        return request
    }

    private static func mutation(_ method: HTTPRequest.Method = .post, _ tags: Tags = ["cities"]) -> Request {
        var request = Request("http://api.test/orders", method: method)
        request.invalidates = tags
        return request
    }

    /// Returns whether the stored response is stale after a request that a server answers so.
    private func isStale(
        after request: Request, on engine: Engine, answer: @escaping ReplayFixture.Answer
    ) async throws -> Bool {
        fixture.serve { _ in .stub() }
        _ = try await engine.send(Self.cities())
        #expect(try await engine.send(Self.cities()).source == .cache)
        fixture.serve(answer)
        _ = try? await engine.send(request)
        fixture.serve { _ in .stub() }
        return try await engine.send(Self.cities()).source == .network
    }

    @Test(
        arguments: [
            (.post, 201, true), (.put, 204, true), (.delete, 200, true), (.patch, 200, true), (.post, 303, true),
            (.get, 200, false), (.head, 200, false), (.options, 200, false), (.post, 400, false), (.post, 500, false),
            (.post, 307, false), (.put, 302, false),
        ] as [(HTTPRequest.Method, Int, Bool)])
    func `a request makes its tags stale if it is unsafe and has succeeded`(
        method: HTTPRequest.Method, status: Int, isStale expected: Bool
    ) async throws {
        let stale = try await isStale(after: Self.mutation(method), on: fixture.engine { $0.redirectLimit = 0 }) { _ in
            .stub(status: status, headers: [.location: "/elsewhere"])
        }
        #expect(stale == expected)
    }

    @Test(arguments: [(ReplayFixture.lost, true), (ReplayFixture.refused, false)])
    func `a request whose outcome is unknown makes its tags stale`(
        answer: @escaping ReplayFixture.Answer, expected: Bool
    ) async throws {
        #expect(try await isStale(after: Self.mutation(), on: fixture.engine(), answer: answer) == expected)
    }

    @Test func `a request makes no other tag stale`() async throws {
        #expect(try await !isStale(after: Self.mutation(.post, ["towns"]), on: fixture.engine()) { _ in .stub() })
    }

    @Test func `a request that is redirected with its method makes its tags stale where it succeeds`() async throws {
        let (engine, isRedirected) = (fixture.engine(), Guarded(false))
        let stale = try await isStale(after: Self.mutation(), on: engine) { [fixture] request in
            guard request.url.hasSuffix("/orders") else {
                return .stub(status: fixture.transport.requests.last?.method == .post ? 201 : 500)
            }
            isRedirected.withLock { $0 = true }
            return .stub(status: 307, headers: [.location: "/v2"])
        }
        #expect(stale && isRedirected.withLock { $0 })
    }

    @Test func `a queued request makes its tags stale when it is sent, days later and by another process`() async throws
    {
        var request = Self.mutation()
        request.replay = .durable
        fixture.serve(ReplayFixture.refused)
        _ = try await fixture.queued(request, by: fixture.engine())
        fixture.clock.advance(by: .seconds(3 * 86_400))
        let later = fixture.engine()
        let queue = try later.queue()
        let id = try #require(try queue.jobs().first?.id)
        #expect(try queue.request(of: id)?.invalidates == ["cities"])
        fixture.serve { _ in .stub() }
        _ = try await later.send(Self.cities())
        #expect(try await later.send(Self.cities()).source == .cache)
        #expect(await (try later.replayer()).replay().finished == 1)
        #expect(try await later.send(Self.cities()).source == .network)
    }

    @Test func `are part of a request's encoded form and equality, not of its key`() async throws {
        let (request, plain) = (Self.mutation(.post, ["b", "a"]), Self.mutation(.post, []))
        #expect(try Request(json: request.json()) == request && request != plain)
        #expect(try String(decoding: request.json(), as: UTF8.self).contains(#""invalidates":["a","b"]"#))
        #expect(try !String(decoding: plain.json(), as: UTF8.self).contains("invalidates"))
        let engine = fixture.engine()
        #expect(try await engine.key(of: request) == engine.key(of: plain))
    }
}
