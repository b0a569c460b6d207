import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Stored responses that are served because the server cannot be reached. The clock stands still, so that a request
/// that waits for another attempt does not end.
@Suite("An engine that cannot reach the server", .limit(minutes: 5)) struct OfflineAnswerTests {
    private let fixture = QueryFixture()

    private func engine() -> Engine {
        fixture.engine {
            $0.retry = .default
            $0.draw = { 0.5 }
        }
    }

    private func request(_ page: Int, _ cache: CachePolicy = .networkElseCache) -> Request {
        Request("http://h/cities", parameters: ["page": page], cache: cache)
    }

    @Test func `an engine serves a hundred stored pages without waiting for another attempt`() async throws {
        let engine = engine()
        for page in 0..<100 { #expect(try await engine.send(request(page)).source == .network) }
        fixture.clock.advance(by: .seconds(61))
        fixture.server.isOffline = true
        for page in 0..<100 {
            let response = try await engine.send(request(page))
            #expect(response.source == .stale && response.text == "1")
            #expect(response.attempts.map(\.reason?.code) == [.answeredOffline])
            #expect((response.facts.failure as? ConnectionError)?.isOffline == true)
        }
        #expect(fixture.transport.requests.count == 200)
    }

    @Test func `an engine repeats a request that has no stored response`() async throws {
        let engine = engine()
        fixture.server.isOffline = true
        let response = Task { try await engine.send(request(1)) }
        _ = await fixture.clock.nextSleep()
        fixture.server.isOffline = false
        fixture.clock.advance(by: .seconds(1))
        #expect(try await response.value.attempts.map(\.reason?.code) == [.unprocessed, nil])
    }

    @Test func `a caller without a stored answer gets all attempts while another has one`() async throws {
        let engine = engine()
        _ = try await engine.send(request(1))
        fixture.clock.advance(by: .seconds(61))
        fixture.server.isOffline = true
        let other = Task { try await engine.send(request(1, .revalidate)) }
        _ = await fixture.clock.nextSleep()
        #expect(try await engine.send(request(1)).source == .stale)
        fixture.server.isOffline = false
        fixture.clock.advance(by: .seconds(1))
        #expect(try await other.value.source == .network)
    }

    @Test func `a refresh in the background gets all attempts, also after a 304 for another representation`()
        async throws
    {
        let (server, clock) = (fixture.server, fixture.clock)
        server.headers = [.eTag: "\"1\"", .cacheControl: "max-age=1, stale-while-revalidate=2, stale-if-error=600"]
        let transport = StubTransport { request throws(TransportError) in
            guard request.headers[.ifNoneMatch] != nil else { return try await server.transport.send(request) }
            // From now on a caller gets the stored response only if the server cannot be reached.
            clock.advance(by: .seconds(2))
            server.isOffline = true
            return .stub(status: 304, headers: [.eTag: "\"2\""], body: "")
        }
        let engine = fixture.engine {
            $0.transport = transport
            $0.retry = .default
            $0.draw = { 0.5 }
        }
        #expect(try await engine.send(QueryFixture.cities).source == .network)
        clock.advance(by: .seconds(2))
        #expect(try await engine.send(QueryFixture.cities).source == .stale)
        _ = await clock.nextSleep()
        #expect(engine.activity.counts.refreshing == 1 && engine.activity.counts.requests == 0)
        server.version = 2
        server.isOffline = false
        clock.advance(by: .seconds(1))
        await engine.waitForRefreshes()
        await engine.activity.idle()
        #expect(engine.activity.counts == ActivityCounts())
        #expect(transport.requests.map { $0.headers[.ifNoneMatch] } == [nil, "\"1\"", nil, nil])
        #expect(try await engine.send(Request("http://h/cities", cache: .cacheOnly)).text == "2")
    }
}
