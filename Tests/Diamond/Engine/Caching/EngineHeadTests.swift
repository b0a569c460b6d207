import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("HEAD requests of an engine", .limit(minutes: 5)) struct EngineHeadTests {
    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    private static let get = Request("http://h/a")
    private static let head = Request("http://h/a", method: .head, cache: .reload)

    /// An engine with a server that answers GET and HEAD with these fields, and a GET with `If-None-Match` with 304.
    private func engine(_ get: HTTPFields, _ head: HTTPFields, status: Int = 200) -> (Engine, StubTransport) {
        let transport = StubTransport { request throws(TransportError) in
            if request.method == .head { return .stub(status: status, headers: head, body: "") }
            guard request.headers[.ifNoneMatch] == nil else { return .stub(status: 304, headers: get, body: "") }
            return .stub(headers: get)
        }
        return (temporary.engine(transport, clock: clock), transport)
    }

    @Test(
        arguments: [
            ([.eTag: "\"2\""], .revalidated), ([.contentLength: "5"], .revalidated),
            ([.lastModified: "Mon, 07 Nov 1994 08:49:37 GMT"], .revalidated), ([.eTag: "\"1\""], .cache), ([:], .cache),
        ] as [(HTTPFields, Response.Source)])
    func `a HEAD with other fields causes the stored GET to be requested again`(
        head: HTTPFields, source: Response.Source
    ) async throws {
        let (engine, transport) = engine([.eTag: "\"1\"", .contentLength: "4", .cacheControl: "max-age=60"], head)
        _ = try await engine.send(Self.get)
        #expect(try await engine.send(Self.head).source == .network)
        // Before and after a restart.
        let response = try await engine.send(Self.get)
        #expect(response.source == source && response.text == "body")
        _ = try await engine.send(Self.head)
        await engine.close()
        let next = temporary.engine(transport, clock: clock)
        #expect(try await next.send(Self.get).source == source)
        await next.close()
    }

    @Test(arguments: [404, 500, 301]) func `a refused HEAD leaves the stored GET`(status: Int) async throws {
        let (engine, _) = engine([.eTag: "\"1\"", .cacheControl: "max-age=60"], [.eTag: "\"2\""], status: status)
        _ = try await engine.send(Self.get)
        #expect(try await engine.send(Self.head).status.code == status)
        #expect(try await engine.send(Self.get).source == .cache)
        await engine.close()
    }

    @Test func `a HEAD with equal validators updates the fields of the stored GET`() async throws {
        var fields: HTTPFields = [.eTag: "\"1\"", .cacheControl: "max-age=600", .contentLanguage: "de"]
        let (engine, _) = engine([.eTag: "\"1\"", .cacheControl: "max-age=60", .contentType: "text/plain"], fields)
        _ = try await engine.send(Self.get)
        clock.advance(by: 50)
        _ = try await engine.send(Self.head)
        clock.advance(by: 500)
        let response = try await engine.send(Self.get)
        fields[.age] = "500"
        fields[.contentType] = "text/plain"
        #expect(response.source == .cache && response.text == "body" && Set(response.headers) == Set(fields))
        await engine.close()
    }

    @Test func `a HEAD without a validator does not refresh an invalidated GET`() async throws {
        let (engine, _) = engine([.eTag: "\"1\"", .cacheControl: "max-age=60"], [.cacheControl: "max-age=60"])
        _ = try await engine.send(Self.get)
        _ = try await engine.cache?.invalidate(.all)
        _ = try await engine.send(Self.head)
        #expect(try await engine.send(Self.get).source == .revalidated)
        await engine.close()
    }

    @Test func `a streamed HEAD updates the stored GET as well`() async throws {
        let (engine, _) = engine([.eTag: "\"1\"", .cacheControl: "max-age=60"], [.eTag: "\"2\""])
        _ = try await engine.send(Self.get)
        for try await _ in try await engine.stream(Self.head).bytes {}
        #expect(try await engine.send(Self.get).source == .revalidated)
        await engine.close()
    }
}
