import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("RFC 9111 section 4.3.1, the validators of several variants", .limit(minutes: 5))
struct EngineVariantValidationTests {
    private let temporary = TemporaryStore()
    private let clock = ManualClock()

    /// A server that has a representation, by its tag, for each value of a header.
    private struct Server: Sendable {
        var vary = HTTPField.Name.kind
        var tags: [String: String] = [:]
        var headers: HTTPFields = [.cacheControl: "max-age=60, public"]
        /// Whether a 304 has its entity tag.
        var namesTag = true

        func answer(_ request: TransportRequest) -> TransportResponse {
            let tag = "\"\(tags[request.headers[vary] ?? ""] ?? request.headers[vary] ?? "none")\""
            var headers = headers + [HTTPField(name: .vary, value: vary.rawName), HTTPField(name: .eTag, value: tag)]
            guard EntityTagList(request.headers)?.matches(tag) != true else {
                if !namesTag { headers[.eTag] = nil }
                return .stub(status: 304, headers: headers, body: "")
            }
            return .stub(headers: headers, body: "body of \(tag)")
        }
    }

    private let server = Guarded(Server())

    private func transport() -> StubTransport {
        StubTransport { [server] request throws(TransportError) in server.withLock { $0 }.answer(request) }
    }

    private func engine(_ transport: StubTransport, _ kind: CacheKind = .private) -> Engine {
        temporary.engine(transport, clock: clock) {
            $0.identityPreset = .http
            $0.cacheKind = kind
        }
    }

    private func get(
        _ value: String?, _ engine: Engine, _ headers: HTTPFields = [:], change: (inout Request) -> Void = { _ in }
    ) async throws -> Response {
        var headers = headers
        headers[server.withLock { $0.vary }] = value
        var request = Request("http://h/", headers: headers)
        change(&request)
        return try await engine.send(request)
    }

    @Test(arguments: CacheKind.allCases)
    func `a 304 selects the variant with its tag, which then also answers the request's headers`(
        kind: CacheKind
    ) async throws {
        server.withLock { $0.tags = ["c": "a"] }
        let transport = transport()
        var engine = engine(transport, kind)
        for value in ["a", "b"] { _ = try await get(value, engine) }
        clock.advance(by: 30)
        let selected = try await get("c", engine)
        #expect(selected.status == .ok && selected.source == .revalidated && selected.text == "body of \"a\"")
        #expect(selected.cacheStatus?.forwardReason == .varyMiss && selected.cacheStatus?.forwardStatus == 304)
        #expect(transport.requests.last?.headers[.ifNoneMatch] == "\"b\", \"a\"")
        await engine.close()
        engine = self.engine(transport, kind)
        // The 304 has updated the variant for both selections.
        clock.advance(by: 40)
        for value in ["c", "a"] {
            let stored = try await get(value, engine)
            #expect(stored.source == .cache && stored.text == "body of \"a\"" && stored.headers[.age] == "40")
        }
        #expect(transport.requests.count == 3)
        await engine.close()
    }

    @Test func `a replaced variant no longer answers headers for which a 304 has selected it`() async throws {
        server.withLock { $0.tags = ["c": "a"] }
        let engine = engine(transport())
        for value in ["a", "c"] { _ = try await get(value, engine) }
        server.withLock { $0.tags = ["a": "new", "c": "a"] }
        #expect(try await get("a", engine) { $0.cache = .reload }.text == "body of \"new\"")
        let other = try await get("c", engine)
        #expect(other.source == .network && other.text == "body of \"a\"")
        #expect(try await get("a", engine).text == "body of \"new\"")
        await engine.close()
    }

    @Test func `a new response takes the place of the variant that a 304 has selected`() async throws {
        server.withLock { $0.tags = ["c": "a"] }
        let engine = engine(transport())
        for value in ["a", "c"] { _ = try await get(value, engine) }
        server.withLock { $0.tags = ["c": "new"] }
        #expect(try await get("c", engine) { $0.cache = .reload }.text == "body of \"new\"")
        for (value, text) in [("c", "body of \"new\""), ("a", "body of \"a\"")] {
            let stored = try await get(value, engine)
            #expect(stored.source == .cache && stored.text == text)
        }
        await engine.close()
    }

    @Test func `a stale variant is validated together with the others`() async throws {
        let transport = transport()
        let engine = engine(transport)
        for value in ["a", "b"] { _ = try await get(value, engine) }
        clock.advance(by: 61)
        #expect(try await get("a", engine).source == .revalidated)
        #expect(transport.requests.last?.headers[.ifNoneMatch] == "\"a\", \"b\"")
        clock.advance(by: 61)
        server.withLock { $0.tags = ["a": "b"] }
        let other = try await get("a", engine)
        #expect(other.source == .revalidated && other.text == "body of \"b\"")
        #expect(try await get("a", engine).text == "body of \"b\"")
        await engine.close()
    }

    @Test func `a 304 that names none of the variants is followed by a request without their tags`() async throws {
        server.withLock { ($0.tags, $0.namesTag) = (["c": "a"], false) }
        let transport = transport()
        let engine = engine(transport)
        for value in ["a", "b"] { _ = try await get(value, engine) }
        let response = try await get("c", engine)
        #expect(response.source == .network && response.text == "body of \"a\"")
        #expect(transport.requests.suffix(2).map { $0.headers[.ifNoneMatch] } == ["\"b\", \"a\"", nil])
        await engine.close()
    }

    @Test func `a 304 for the caller's tag stays a 304, and a 304 for a variant's tag becomes a 200`() async throws {
        server.withLock { $0.tags = ["c": "a", "d": "d"] }
        let transport = transport()
        let engine = engine(transport)
        _ = try await get("a", engine)
        let own = try await get("d", engine, [.ifNoneMatch: "\"d\""])
        #expect(own.status == .notModified && own.source == .network)
        #expect(transport.requests.last?.headers[.ifNoneMatch] == "\"d\", \"a\"")
        #expect(try await get("c", engine, [.ifNoneMatch: "\"x\""]).status == .ok)
        #expect(try await get("c", engine, [.ifNoneMatch: "\"a\""]).status == .notModified)
        _ = try await get("e", engine, [.ifNoneMatch: "*"])
        #expect(transport.requests.last?.headers[.ifNoneMatch] == "*")
        await engine.close()
    }

    @Test func `a range is answered from the variant that a 304 selects`() async throws {
        server.withLock { $0.tags = ["c": "a"] }
        let engine = engine(transport())
        _ = try await get("a", engine)
        let part = try await get("c", engine, [.range: "bytes=0-3"])
        #expect(part.status == .partialContent && part.source == .revalidated && part.text == "body")
        await engine.close()
    }

    @Test func `a stream gets the body of the variant that a 304 selects`() async throws {
        server.withLock { $0.tags = ["c": "a"] }
        let engine = engine(transport())
        _ = try await get("a", engine)
        for source in [Response.Source.revalidated, .cache] {
            let streamed = try await engine.stream(Request("http://h/", headers: [.kind: "c"]))
            var body = Data()
            for try await piece in streamed.bytes { body += piece }
            #expect(streamed.source == source && body == Data("body of \"a\"".utf8))
        }
        await engine.close()
    }

    @Test(arguments: [HTTPField.Name.cookie, .authorization], CacheKind.allCases)
    func `no request sends the tags of another user's variants`(name: HTTPField.Name, kind: CacheKind) async throws {
        server.withLock { ($0.vary, $0.tags) = (name, ["2": "1"]) }
        let transport = transport()
        for identity in [nil, "anna"] {
            let engine = engine(transport, kind)
            for value in ["1", "2", nil] {
                let response = try await get(value, engine) { $0.identity = identity }
                #expect(response.source != .revalidated)
            }
            #expect(transport.requests.allSatisfy { $0.headers[.ifNoneMatch] == nil })
            await engine.close()
        }
    }

    @Test func `at most eight tags are sent, those of the newest variants, and at most a kibibyte`() async throws {
        let transport = transport()
        let engine = engine(transport)
        for number in 1...20 {
            clock.advance(by: 1)
            _ = try await get("\(number)", engine)
        }
        #expect(
            transport.requests.last?.headers[.ifNoneMatch]
                == (12...19).reversed().map { "\"\($0)\"" }.joined(separator: ", "))
        clock.advance(by: 1)
        let long = String(repeating: "x", count: 900)
        server.withLock { $0.tags = ["long": long, "longer": long + "x"] }
        for value in ["long", "longer", "other"] {
            clock.advance(by: 1)
            _ = try await get(value, engine)
        }
        #expect(transport.requests.last?.headers[.ifNoneMatch]?.utf8.count ?? 0 < 1200)
        await engine.close()
    }

    @Test func `a reload sends no variant tags, and neither does a request that validates by date`() async throws {
        let transport = transport()
        let engine = engine(transport)
        _ = try await get("a", engine)
        _ = try await get("b", engine) { $0.cache = .reload }
        #expect(transport.requests.last?.headers[.ifNoneMatch] == nil)
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let dated = StubTransport(headers: [.lastModified: date, .cacheControl: "max-age=1", .vary: "X-Kind"])
        let other = self.engine(dated)
        _ = try await get("c", other)
        clock.advance(by: 2)
        _ = try await get("c", other)
        #expect(dated.requests.last?.headers[.ifNoneMatch] == nil)
        #expect(dated.requests.last?.headers[.ifModifiedSince] == date)
        await other.close()
        await engine.close()
    }

    @Test func `a 304 stores no selection for a request whose response may not be stored`() async throws {
        server.withLock { ($0.tags, $0.headers) = (["c": "a"], [.cacheControl: "max-age=60"]) }
        let transport = transport()
        let engine = engine(transport, .shared)
        _ = try await get("a", engine)
        for _ in 1...2 {
            let response = try await get("c", engine, [.authorization: "x"])
            #expect(response.source == .revalidated && response.text == "body of \"a\"")
        }
        #expect(try await get("a", engine).source == .cache)
        #expect(try await get("c", engine).source == .revalidated)
        await engine.close()
    }
}

extension HTTPField.Name {
    fileprivate static let kind = HTTPField.Name("X-Kind") ?? .cookie
}
