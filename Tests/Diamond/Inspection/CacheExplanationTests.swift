import DiamondInspection
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `The explanation of a request` {
    private let temporary = TemporaryStore()
    private let now = Guarded<Int64>(1_000_000_000_000)

    private func engine(_ headers: HTTPFields, _ preset: IdentityPreset = .selectingHeaders) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = StubTransport(headers: headers)
        configuration.identityPreset = preset
        configuration.now = { [now] in Date(milliseconds: now.withLock { $0 }) }
        return Engine(configuration)
    }

    private func explanation(of request: Request, by engine: Engine) async throws -> CacheExplanation {
        await engine.cache?.flush()
        return try await CacheExplanation(of: request, by: engine, in: engine.cache, at: now.withLock { $0 })
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let response: HTTPFields
        var request: HTTPFields = [:]
        var policy = CachePolicy.automatic
        var seconds: Int64 = 10
        let clause: String
        let next: String

        var testDescription: String { "\(clause) \(response) \(request)" }
    }

    private static let rows: [Row] = [
        Row(
            response: [.cacheControl: "max-age=60"], clause: "RFC 9111 section 4.2", next: "is answered from the cache"),
        Row(
            response: [.cacheControl: "max-age=5"], clause: "RFC 9111 section 4.2.4",
            next: "sends the request to the server"),
        Row(
            response: [.cacheControl: "max-age=5", .eTag: "\"1\""], clause: "RFC 9111 section 4.2.4",
            next: "asks the server whether the stored response is still valid"),
        Row(
            response: [.cacheControl: "max-age=5, must-revalidate"], clause: "RFC 9111 section 5.2.2.2",
            next: "sends the request to the server"),
        Row(
            response: [.cacheControl: "no-cache, max-age=60"], clause: "RFC 9111 section 5.2.2.4",
            next: "sends the request to the server"),
        Row(
            response: [.cacheControl: "max-age=60"], request: [.cacheControl: "no-cache"],
            clause: "RFC 9111 section 5.2.1.4", next: "sends the request to the server"),
        Row(
            response: [.cacheControl: "max-age=60"], request: [.cacheControl: "max-age=5"],
            clause: "RFC 9111 section 5.2.1.1", next: "sends the request to the server"),
        Row(
            response: [.cacheControl: "max-age=60"], request: [.cacheControl: "min-fresh=55"],
            clause: "RFC 9111 section 5.2.1.3", next: "sends the request to the server"),
        Row(
            response: [.cacheControl: "max-age=5"], request: [.cacheControl: "max-stale=60"],
            clause: "RFC 9111 section 5.2.1.2", next: "is answered from the cache, stale"),
        Row(
            response: [.cacheControl: "max-age=5"], request: [.cacheControl: "only-if-cached"],
            clause: "RFC 9111 section 5.2.1.7", next: "fails with 504: only the cache may answer"),
        Row(
            response: [.cacheControl: "max-age=5, stale-while-revalidate=60"], clause: "RFC 5861 section 3",
            next: "is answered from the cache, stale, and refreshes it in the background"),
        Row(
            response: [.cacheControl: "max-age=60"], seconds: -120, clause: "RFC 9111 section 4.2.3",
            next: "sends the request to the server"),
        Row(
            response: [.cacheControl: "no-store"], clause: "RFC 9111 section 4", next: "sends the request to the server"
        ),
        Row(
            response: [.cacheControl: "max-age=60"], policy: .reload, clause: "policy",
            next: "sends the request to the server"),
        Row(
            response: [.cacheControl: "max-age=60"], request: [.cacheControl: "no-store"],
            clause: "RFC 9111 section 5.2.1.5", next: "sends the request to the server"),
    ]

    @Test(arguments: rows) func `names the deciding clause, and the effect of the next send`(row: Row) async throws {
        let engine = engine(row.response)
        _ = try await engine.send(Request("http://h/"))
        now.withLock { $0 += row.seconds * 1000 }
        let request = Request("http://h/", headers: row.request, cache: row.policy)
        let explanation = try await explanation(of: request, by: engine)
        #expect(explanation.clause == row.clause)
        #expect(explanation.next == row.next)
        await engine.close()
    }

    @Test(
        arguments: [
            ([.cacheControl: "max-age=60"], "max-age", 60), ([.cacheControl: "s-maxage=5"], "none", nil),
            ([.expires: "Sun, 09 Sep 2001 01:47:40 GMT", .date: "Sun, 09 Sep 2001 01:46:40 GMT"], "Expires", 60),
            ([.lastModified: "Sun, 09 Sep 2001 01:45:00 GMT"], "a tenth of the time since Last-Modified", 10),
        ] as [(HTTPFields, String, Int64?)])
    func `names the source of the lifetime`(headers: HTTPFields, source: String, lifetime: Int64?) async throws {
        let engine = engine(headers)
        _ = try await engine.send(Request("http://h/"))
        let entry = try #require(try await explanation(of: Request("http://h/"), by: engine).stored.first)
        #expect(entry.lifetimeSource == source)
        #expect(entry.lifetime == lifetime)
        await engine.close()
    }

    @Test func `lists every variant, and marks the selected one`() async throws {
        let engine = engine([.cacheControl: "max-age=60", .vary: "Accept-Language"], .http)
        for language in ["de", "en"] {
            _ = try await engine.send(Request("http://h/", headers: [.acceptLanguage: language]))
        }
        let request = Request("http://h/", headers: [.acceptLanguage: "en"])
        let explanation = try await explanation(of: request, by: engine)
        #expect(explanation.stored.count == 2)
        #expect(explanation.stored.filter(\.isSelected).map(\.vary) == [["accept-language en"]])
        await engine.close()
    }

    @Test func `lists a part with its bytes, and selects it for a range within it`() async throws {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = StubTransport(
            status: 206,
            headers: [
                .cacheControl: "max-age=60", .eTag: "\"a\"", .contentRange: "bytes 2-5/10", .contentLength: "4",
            ], body: "2345")
        configuration.now = { [now] in Date(milliseconds: now.withLock { $0 }) }
        let engine = Engine(configuration)
        _ = try await engine.send(Request("http://h/", headers: [.range: "bytes=2-5"]))
        for (range, isSelected) in [("bytes=3-4", true), ("bytes=3-6", false), (nil, false)] as [(String?, Bool)] {
            let request = Request("http://h/", headers: range.map { [.range: $0] } ?? [:])
            let explanation = try await explanation(of: request, by: engine)
            #expect(explanation.stored.map(\.part) == ["bytes 2-5/10"])
            #expect(explanation.stored.map(\.isSelected) == [isSelected])
            #expect((explanation.next == "is answered from the cache") == isSelected)
        }
        await engine.close()
    }
}
