import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An engine that leaves caching to server and request", .limit(minutes: 5)) struct EngineCacheRulesTests {
    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    private let request = Request("http://h/")

    private func request(_ control: String) -> Request {
        Request("http://h/", headers: [.cacheControl: control])
    }

    /// The bodies of its responses are numbers, counted from 1.
    private func engine(_ control: String) -> Engine {
        let count = Guarded(0)
        let transport = StubTransport { _ throws(TransportError) in
            .stub(headers: [.cacheControl: control], body: "\(count.withLock { $0 += 1; return $0 })")
        }
        return temporary.engine(transport, clock: clock)
    }

    @Test func `serves a stale response within stale-while-revalidate, and refreshes it once`() async throws {
        let engine = engine("max-age=10, stale-while-revalidate=60")
        _ = try await engine.send(request)
        clock.advance(by: 20)
        let stale = try await engine.send(request)
        #expect(stale.source == .stale && stale.text == "1" && stale.headers[.age] == "20")
        await engine.waitForRefreshes()
        let fresh = try await engine.send(request)
        #expect(fresh.source == .cache && fresh.text == "2")
        clock.advance(by: 71)
        #expect(try await engine.send(request).text == "3")
        await engine.close()
    }

    @Test(
        arguments: [
            (500, "stale-if-error=60", .stale), (502, "stale-if-error=60", .stale), (503, "stale-if-error=60", .stale),
            (504, "stale-if-error=60", .stale), (nil, "stale-if-error=60", .stale),
            (501, "stale-if-error=60", .network), (404, "stale-if-error=60", .network),
            (503, "stale-if-error=9", .network), (nil, "stale-if-error=9", nil),
            (503, "stale-if-error=60, must-revalidate", .network), (nil, "stale-if-error=60, must-revalidate", nil),
            (503, "public", .network), (nil, "public", nil),
        ] as [(Int?, String, Response.Source?)])
    func `serves a stale response within stale-if-error if the server fails`(
        status: Int?, control: String, source: Response.Source?
    ) async throws {
        let isDown = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            guard isDown.withLock({ $0 }) else { return .stub(headers: [.cacheControl: "max-age=10, \(control)"]) }
            guard let status else { throw TransportError(.connectionLost, "reset") }
            return .stub(status: status, body: "error")
        }
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(request)
        isDown.withLock { $0 = true }
        clock.advance(by: 20)
        let response = try? await engine.send(request)
        #expect(response?.source == source && response?.text == source.map { $0 == .stale ? "body" : "error" })
        await engine.close()
    }

    @Test func `obeys stale-if-error of the request`() async throws {
        let statuses = Guarded([200, 503, 503])
        let transport = StubTransport { _ throws(TransportError) in
            .stub(status: statuses.withLock { $0.removeFirst() }, headers: [.cacheControl: "max-age=10"])
        }
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(request)
        clock.advance(by: 20)
        #expect(try await engine.send(request("stale-if-error=10")).source == .stale)
        #expect(try await engine.send(request("stale-if-error=9")).status.code == 503)
        await engine.close()
    }

    @Test(arguments: ["max-age=10", "max-age=60, must-revalidate, no-cache", "max-age=10, must-revalidate"])
    func `answers 504 to only-if-cached if no stored response may be served`(control: String) async throws {
        let engine = engine(control)
        _ = try await engine.send(request)
        clock.advance(by: 20)
        let response = try await engine.send(request("only-if-cached"))
        #expect(response.status == .gatewayTimeout && response.source == .generated)
        #expect(try await engine.send(Request("http://h/", cache: .cacheOnly)).source == .stale)
        await engine.close()
    }

    @Test func `obeys max-age, min-fresh and max-stale of the request`() async throws {
        let engine = engine("max-age=60")
        _ = try await engine.send(request)
        clock.advance(by: 30)
        #expect(try await engine.send(request("max-age=30, min-fresh=30")).source == .cache)
        #expect(try await engine.send(request("min-fresh=31")).text == "2")
        clock.advance(by: 30)
        #expect(try await engine.send(request("max-age=29")).text == "3")
        clock.advance(by: 61)
        #expect(try await engine.send(request("max-stale=1")).source == .stale)
        #expect(try await engine.send(request("max-stale=0")).text == "4")
        await engine.close()
    }

    @Test func `uses a heuristic lifetime of a tenth of the time since Last-Modified`() async throws {
        let modified = HTTPDate.text(of: clock.wallTime - 1_000_000)
        let date = HTTPDate.text(of: clock.wallTime)
        let transport = StubTransport(headers: [.lastModified: modified, .date: date])
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(request)
        clock.advance(by: 99)
        #expect(try await engine.send(request).source == .cache)
        #expect(try await engine.send(Request("http://h/", cache: .automatic(maxAge: .seconds(9)))).source == .network)
        await engine.close()
    }
}
