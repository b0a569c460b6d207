import DiamondInspection
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The explanation of a request", .limit(minutes: 5)) struct CacheExplanationTests {
    private let temporary = TemporaryStore()
    private let now = Guarded<WallTime>(1_000_000_000_000)

    private func engine(
        _ headers: HTTPFields, _ preset: IdentityPreset = .selectingHeaders, kind: CacheKind = .private,
        status: Int = 200
    ) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = StubTransport(status: status, headers: headers)
        configuration.identityPreset = preset
        configuration.cacheKind = kind
        configuration.headers = [:]
        configuration.retry = .never
        configuration.now = { [now] in now.withLock { $0 }.date }
        return Engine(configuration)
    }

    private func explanation(
        of request: Request, by engine: Engine, after response: Response? = nil
    ) async throws -> CacheExplanation {
        await engine.cache?.flush()
        return try await CacheExplanation(
            of: request, by: engine, in: engine.cache,
            after: response.map { SentResponse(head: $0, bodySize: $0.body.count) }, at: now.withLock { $0 })
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let response: HTTPFields
        var request: HTTPFields = [:]
        var policy = CachePolicy.automatic
        var seconds: Int64 = 10
        let clause: String
        let next: String
        /// The field that decides.
        var field: String?

        var testDescription: String { "\(clause) \(response) \(request)" }
    }

    private static let rows: [Row] = [
        Row(
            response: [.cacheControl: "max-age=60"], clause: "RFC 9111 section 4.2", next: "is answered from the cache",
            field: "response Cache-Control: max-age=60"),
        Row(
            response: [.cacheControl: "max-age=5"], clause: "RFC 9111 section 4.2.4",
            next: "sends the request to the server",
            field: "response Cache-Control: max-age=5"),
        Row(
            response: [.cacheControl: "max-age=5", .eTag: "\"1\""], clause: "RFC 9111 section 4.2.4",
            next: "asks the server whether the stored response is still valid",
            field: "response Cache-Control: max-age=5"),
        Row(
            response: [.cacheControl: "max-age=5, must-revalidate"], clause: "RFC 9111 section 5.2.2.2",
            next: "sends the request to the server",
            field: "response Cache-Control: max-age=5, must-revalidate"),
        Row(
            response: [.cacheControl: "no-cache, max-age=60"], clause: "RFC 9111 section 5.2.2.4",
            next: "sends the request to the server",
            field: "response Cache-Control: no-cache, max-age=60"),
        Row(
            response: [.cacheControl: "max-age=60"], request: [.cacheControl: "no-cache"],
            clause: "RFC 9111 section 5.2.1.4", next: "sends the request to the server",
            field: "request Cache-Control: no-cache"),
        Row(
            response: [.cacheControl: "max-age=60"], request: [.cacheControl: "max-age=5"],
            clause: "RFC 9111 section 5.2.1.1", next: "sends the request to the server",
            field: "request Cache-Control: max-age=5"),
        Row(
            response: [.cacheControl: "max-age=60"], request: [.cacheControl: "min-fresh=55"],
            clause: "RFC 9111 section 5.2.1.3", next: "sends the request to the server",
            field: "request Cache-Control: min-fresh=55"),
        Row(
            response: [.cacheControl: "max-age=5"], request: [.cacheControl: "max-stale=60"],
            clause: "RFC 9111 section 5.2.1.2", next: "is answered from the cache, stale",
            field: "request Cache-Control: max-stale=60"),
        Row(
            response: [.cacheControl: "max-age=5"], request: [.cacheControl: "only-if-cached"],
            clause: "RFC 9111 section 5.2.1.7", next: "fails with 504: only the cache may answer",
            field: "request Cache-Control: only-if-cached"),
        Row(
            response: [.cacheControl: "max-age=5, stale-while-revalidate=60"], clause: "RFC 5861 section 3",
            next: "is answered from the cache, stale, and refreshes it in the background",
            field: "response Cache-Control: max-age=5, stale-while-revalidate=60"),
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
            clause: "RFC 9111 section 5.2.1.5", next: "sends the request to the server",
            field: "request Cache-Control: no-store"),
    ]

    @Test(arguments: rows) func `names the deciding clause, and the effect of the next send`(row: Row) async throws {
        let engine = engine(row.response)
        _ = try await engine.send(Request("http://h/"))
        now.withLock { $0 += row.seconds * 1000 }
        let request = Request("http://h/", headers: row.request, cache: row.policy)
        let explanation = try await explanation(of: request, by: engine)
        #expect(explanation.clause == row.clause)
        #expect(explanation.next == row.next)
        #expect(explanation.field == row.field)
        await engine.close()
    }

    @Test(arguments: [CachePolicy.automatic, .cacheElseNetwork])
    func `names the directive by which a response to one user of a shared cache is validated`(
        policy: CachePolicy
    ) async throws {
        let engine = engine([.cacheControl: "max-age=0, must-revalidate"], .http, kind: .shared)
        let request = Request("http://h/", headers: [.cookie: "a=b"], cache: policy)
        _ = try await engine.send(request)
        let explanation = try await explanation(of: request, by: engine)
        #expect(explanation.stored.count == 1 && explanation.clause == "RFC 9111 section 5.2.2.2")
        #expect(explanation.field == "response Cache-Control: max-age=0, must-revalidate")
        await engine.close()
    }

    @Test(
        arguments: [
            ([.cacheControl: "max-age=60"], "max-age", 60), ([.cacheControl: "s-maxage=5"], "none", nil),
            ([.expires: "Sun, 09 Sep 2001 01:47:40 GMT", .date: "Sun, 09 Sep 2001 01:46:40 GMT"], "Expires", 60),
            ([.lastModified: "Sun, 09 Sep 2001 01:45:00 GMT"], "a tenth of the time since Last-Modified", 10),
            (
                [.lastModified: "Sat, 09 Sep 2000 01:45:00 GMT"],
                "a tenth of the time since Last-Modified, at most a day", 86_400
            ),
            ([.expires: "0"], "Expires, which is no date: expired", 0),
            ([.expires: "in a week"], "Expires, which is no date: expired", 0),
            ([.cacheControl: "max-age=1h"], "max-age, which is no number of seconds: expired", 0),
            ([.cacheControl: "max-age"], "max-age, which is no number of seconds: expired", 0),
            ([.cacheControl: "max-age=0"], "max-age", 0), ([.cacheControl: #"public, max-age="0""#], "max-age", 0),
        ] as [(HTTPFields, String, Int64?)])
    func `names the source of the lifetime`(headers: HTTPFields, source: String, lifetime: Int64?) async throws {
        let engine = engine(headers)
        _ = try await engine.send(Request("http://h/"))
        let entry = try #require(try await explanation(of: Request("http://h/"), by: engine).stored.first)
        #expect(entry.lifetimeSource == source)
        #expect(entry.lifetime == lifetime)
        await engine.close()
    }

    @Test(
        arguments: [
            ([.cacheControl: "max-age=5, s-maxage=60"], "s-maxage", "response Cache-Control: max-age=5, s-maxage=60"),
            ([.cacheControl: "max-age=60"], "max-age", "response Cache-Control: max-age=60"),
            (
                [.cacheControl: "s-maxage=x"], "s-maxage, which is no number of seconds: expired",
                "response Cache-Control: s-maxage=x"
            ),
            (
                [.cacheControl: "max-age=5", .init("CDN-Cache-Control") ?? .te: "max-age=60"],
                "max-age of a targeted field", "response CDN-Cache-Control: max-age=60"
            ),
        ] as [(HTTPFields, String, String)])
    func `names the source of the lifetime in a shared cache, also to a private one`(
        headers: HTTPFields, source: String, field: String
    ) async throws {
        let shared = engine(headers, .http, kind: .shared)
        _ = try await shared.send(Request("http://h/"))
        let entry = try #require(try await explanation(of: Request("http://h/"), by: shared).stored.first)
        #expect(entry.isShared && entry.lifetimeSource == source && entry.lifetimeField == field)
        await shared.close()
        let own = engine(headers, .http)
        let explanation = try await explanation(of: Request("http://h/"), by: own)
        #expect(explanation.stored.first?.isShared == true && explanation.clause == "kind")
        #expect(explanation.reason == "what is stored belongs to a shared cache")
        if !headers.contains(.init("CDN-Cache-Control") ?? .te) {
            #expect(explanation.stored.first?.lifetimeSource == source)
        }
        await own.close()
    }

    /// A response that is not stored.
    struct Refused: Sendable, CustomTestStringConvertible {
        var response: HTTPFields = [:]
        var status = 200
        var request = Request("http://h/")
        var kind = CacheKind.private
        let clause: String
        var field: String?

        var testDescription: String { "\(clause) \(status) \(response)" }
    }

    private static let lastModified = "Sun, 09 Sep 2001 01:45:00 GMT"

    private static let refused: [Refused] = [
        Refused(
            response: [.cacheControl: "max-age=5, no-store"], clause: "RFC 9111 section 5.2.2.5",
            field: "response Cache-Control: max-age=5, no-store"),
        Refused(
            response: [.cacheControl: "private"], kind: .shared, clause: "RFC 9111 section 5.2.2.7",
            field: "response Cache-Control: private"),
        Refused(
            response: [.cacheControl: "max-age=5"], request: Request("http://h/", headers: [.authorization: "s3cret"]),
            kind: .shared, clause: "RFC 9111 section 3.5", field: "response Cache-Control: max-age=5"),
        Refused(
            request: Request("http://h/", headers: [.authorization: "s3cret"]), kind: .shared,
            clause: "RFC 9111 section 3.5", field: "request Authorization"),
        Refused(
            response: [.vary: "Accept, *"], clause: "RFC 9111 section 4.1", field: "response Vary: Accept, *"),
        Refused(
            response: [.setCookie: "a=s3cret", .lastModified: lastModified], kind: .shared,
            clause: "RFC 9111 section 7.3", field: "response Set-Cookie: a=•••"),
        Refused(
            response: [.cacheControl: "must-understand, no-store, max-age=5"], status: 299,
            clause: "RFC 9111 section 5.2.2.3", field: "response Cache-Control: must-understand, no-store, max-age=5"),
        Refused(
            response: [.contentEncoding: "unknown"], clause: "coding", field: "response Content-Encoding: unknown"),
        Refused(
            response: [.location: "http://h/?token=s3cret", .cacheControl: "max-age=5"], clause: "secret",
            field: "response Location: http://h/?token=•••"),
        Refused(status: 500, clause: "RFC 9111 section 3"), Refused(status: 302, clause: "RFC 9111 section 3"),
        Refused(
            response: [.cacheControl: "max-age=5"], status: 429, clause: "RFC 6585"),
        Refused(
            response: [.cacheControl: "max-age=5"], request: Request("http://h/", method: .put),
            clause: "RFC 9111 section 3"),
        Refused(
            response: [.cacheControl: "max-age=5"],
            request: Request("http://h/", headers: [.cacheControl: "no-store"]), clause: "RFC 9111 section 5.2.1.5",
            field: "request Cache-Control: no-store"),
        Refused(
            response: [.cacheControl: "max-age=5"], request: Request("http://h/", cache: .noStore), clause: "policy"),
    ]

    @Test(arguments: refused) func `says why the response of an exchange is not stored`(row: Refused) async throws {
        let engine = engine(row.response, kind: row.kind, status: row.status)
        let response = try await engine.send(row.request)
        let explanation = try await explanation(of: row.request, by: engine, after: response)
        let exchange = try #require(explanation.exchange)
        #expect(exchange.isStored == false && exchange.status == row.status && exchange.source == "network")
        #expect(exchange.clause == row.clause)
        #expect(exchange.field == row.field)
        #expect(!String(decoding: try JSONEncoder().encode(explanation), as: UTF8.self).contains("s3cret"))
        #expect(explanation.stored.isEmpty)
        await engine.close()
    }

    @Test func `says that a response was stored, or came from the cache`() async throws {
        let engine = engine([.cacheControl: "max-age=60"])
        for isStored in [true, nil] {
            let response = try await engine.send(Request("http://h/"))
            let explanation = try await explanation(of: Request("http://h/"), by: engine, after: response)
            #expect(explanation.exchange?.isStored == isStored && explanation.exchange?.clause == nil)
            #expect(explanation.stored.count == 1)
        }
        let large = Response(status: .ok)
        #expect(try await engine.storeRefusal(of: large, bodySize: 1 << 40, to: Request("http://h/")) == .tooLarge)
        let failed = Response(status: .serviceUnavailable, headers: [.cacheControl: "max-age=60"])
        #expect(try await engine.storeRefusal(of: failed, bodySize: 0, to: Request("http://h/")) == .serverError)
        await engine.close()
    }

    @Test func `names the fields by which a request differs from all variants`() async throws {
        let engine = engine([.cacheControl: "max-age=60", .vary: "Accept-Language, Cookie, DNT"], .http)
        for language in ["de", "en"] {
            _ = try await engine.send(Request("http://h/", headers: [.acceptLanguage: language]))
        }
        let request = Request("http://h/", headers: [.acceptLanguage: "fr"])
        let explanation = try await explanation(of: request, by: engine)
        #expect(explanation.clause == "RFC 9111 section 4.1")
        #expect(explanation.field == "request accept-language fr (stored: de, en)")
        await engine.close()
    }

    @Test func `lists the entries of the URL under other keys, with the lines that differ`() async throws {
        let engine = engine([.cacheControl: "max-age=60"])
        for headers in [[.accept: "text/csv"], [.accept: "text/html", .authorization: "s3cret"]] as [HTTPFields] {
            _ = try await engine.send(Request("http://h/?b=2&a=1", headers: headers))
        }
        _ = try await engine.send(Request("http://h/other"))
        let request = Request("http://h/?a=1&b=2", headers: [.accept: "text/html"])
        let explanation = try await explanation(of: request, by: engine)
        #expect(explanation.stored.isEmpty && explanation.others.count == 2)
        let csv = try #require(explanation.others.first { !$0.missing.isEmpty })
        #expect(csv.missing == ["header accept text/html"] && csv.additional == ["header accept text/csv"])
        let signedIn = try #require(explanation.others.first { $0.missing.isEmpty })
        #expect(signedIn.additional.count == 1)
        #expect(signedIn.additional.first?.hasPrefix("secret-header authorization ") == true)
        await engine.close()
    }

    @Test(arguments: [CacheKind.private, .shared])
    func `is given for an entry, by the rules of its cache`(kind: CacheKind) async throws {
        let engine = engine([.cacheControl: "max-age=5, s-maxage=60"], .http, kind: kind)
        _ = try await engine.send(Request("http://h/"))
        now.withLock { $0 += 10_000 }
        let cache = try #require(engine.cache)
        await cache.flush()
        let listing = try #require(try cache.list(limit: 1).first)
        let explanation = try #require(
            try CacheExplanation(of: listing, in: cache, targets: [], at: now.withLock { $0 }))
        #expect(explanation.key == listing.key.description && explanation.url == "http://h/")
        let next = kind == .shared ? "is answered from the cache" : "sends the request to the server"
        #expect(explanation.next == next)
        #expect(explanation.stored.map(\.isSelected) == [true])
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
        configuration.now = { [now] in now.withLock { $0 }.date }
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
