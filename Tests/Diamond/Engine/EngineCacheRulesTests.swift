import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `An engine with a shared cache` {
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
    func `stores what it may give to others`(control: String, isAuthorized: Bool, source: Response.Source) async throws
    {
        let engine = engine(StubTransport(headers: [.cacheControl: control]))
        let headers: HTTPFields = isAuthorized ? [.authorization: "Basic YTpi"] : [:]
        _ = try await engine.send(Request("http://h/", headers: headers))
        clock.advance(by: 10)
        #expect(try await engine.send(Request("http://h/", headers: headers)).source == source)
        await engine.close()
    }

    @Test func `stores no answer to a credential that is filled in`() async throws {
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

    @Test(arguments: [(CacheKind.private, CacheKind.shared), (.shared, .private)])
    func `has no part in what the other kind has stored`(first: CacheKind, second: CacheKind) async throws {
        let transport = StubTransport(headers: [.cacheControl: "max-age=60", .eTag: "\"1\""])
        for kind in [first, second] {
            let engine = engine(transport, kind)
            #expect(try await engine.send(request).source == .network)
            #expect(try await engine.send(request).source == .cache)
            await engine.close()
        }
        #expect(transport.requests.allSatisfy { $0.headers[.ifNoneMatch] == nil })
        // The later one has taken the place.
        let engine = engine(transport, second)
        #expect(try await engine.send(request).source == .cache)
        await engine.close()
    }

    @Test(
        arguments: [
            (.shared, "max-age=60", 1), (.shared, "max-age=60, private", 3), (.shared, "no-store", 3),
            (.shared, "no-cache", 3), (.shared, "", 3), (.private, "max-age=60, private", 1), (.private, "no-store", 1),
        ] as [(CacheKind, String, Int)])
    func `hands one answer to all who wait where it may`(kind: CacheKind, control: String, count: Int) async throws {
        let server = ManualServer()
        server.headers = [.cacheControl: control]
        let transport = server.transport
        let engine = engine(transport, kind)
        let misses = Guarded(0)
        let observation = engine.activity.observe { event in
            if case .miss = event { misses.withLock { $0 += 1 } }
        }
        let tasks = (0..<3).map { _ in Task { try await engine.send(request) } }
        await untilTrue { misses.withLock { $0 } == 3 }
        await untilTrue { server.flying.count == 1 }
        server.land("http://h/")
        if count > 1 {
            await untilTrue { server.flying.count == 2 }
            server.landAll()
        }
        for task in tasks { #expect(try await task.value.text == "http://h/") }
        #expect(transport.requests.count == count)
        await engine.close()
        _ = observation
    }

    @Test func `serves nothing stale that s-maxage or proxy-revalidate forbid`() async throws {
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
}
