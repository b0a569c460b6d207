import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

private let modified = "Thu, 01 Jan 2015 00:00:00 GMT"
private let earlier = "Wed, 01 Jan 2014 00:00:00 GMT"

@Suite("Conditions and ranges of requests, answered from the cache", .limit(minutes: 5))
struct EngineConditionsTests {
    /// The source and the destination of the stored body.
    enum Way: CaseIterable { case memory, disk, memoryToSink, diskToSink }

    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    private static let url = "http://h/a"
    /// Three chunks and some bytes.
    private static let body = Data.noise(3 * 131_072 + 1000)
    private static let headers: HTTPFields = [
        .cacheControl: "max-age=60", .eTag: "\"a\"", .lastModified: modified, .date: "Thu, 01 Jan 2026 00:00:00 GMT",
        .contentType: "text/plain", .contentLength: "\(body.count)", .vary: "accept",
        .expires: "Fri, 02 Jan 2026 00:00:00 GMT", .contentLocation: "/b",
    ]

    private func engine(_ transport: StubTransport) -> Engine { temporary.engine(transport, clock: clock) }

    private func response(
        _ headers: HTTPFields, method: HTTPRequest.Method = .get, _ way: Way = .memory, of engine: Engine
    ) async throws -> Response {
        let request = Request(Self.url, method: method, headers: headers)
        guard way == .memoryToSink || way == .diskToSink else { return try await engine.send(request) }
        let streamed = try await engine.stream(request)
        var response = Response(
            status: streamed.status, headers: streamed.headers, source: streamed.source, url: Self.url)
        for try await piece in streamed.bytes { response.body += piece }
        return response
    }

    /// An engine that has the response, and its transport.
    private func stored(_ way: Way = .memory) async throws -> (Engine, StubTransport) {
        let transport = StubTransport { _ throws(TransportError) in .stub(headers: Self.headers, body: Self.body) }
        let engine = engine(transport)
        _ = try await engine.send(Request(Self.url))
        if way == .disk || way == .diskToSink {
            await engine.cache?.flush()
            engine.cache?.memoryCapacity = 0
        }
        return (engine, transport)
    }

    @Test(arguments: Way.allCases)
    func `a fresh response answers the caller's condition with 304`(way: Way) async throws {
        let (engine, transport) = try await stored(way)
        clock.advance(by: 10)
        let response = try await response([.ifNoneMatch: "\"x\", W/\"a\""], way, of: engine)
        #expect(response.status == .notModified && response.source == .cache && response.body.isEmpty)
        var fields = Self.headers
        for name in [.contentType, .contentLength, .lastModified] as [HTTPField.Name] { fields[name] = nil }
        fields[.age] = "10"
        #expect(Set(response.headers) == Set(fields))
        #expect(transport.requests.count == 1)
        await engine.close()
    }

    @Test(
        arguments: Way.allCases,
        [
            ("bytes=0-9", 0..<10), ("bytes=131071-131072", 131_071..<131_073),
            ("bytes=200000-", 200_000..<394_216), ("bytes=-1001", 393_215..<394_216),
            ("bytes=262144-999999999", 262_144..<394_216),
        ] as [(String, Range<Int>)])
    func `a fresh response answers a range with 206`(way: Way, range: (String, Range<Int>)) async throws {
        let (engine, transport) = try await stored(way)
        let response = try await response([.range: range.0, .ifRange: "\"a\""], way, of: engine)
        #expect(response.status == .partialContent && response.source == .cache)
        #expect(response.body == Self.body.subdata(in: range.1))
        #expect(
            response.headers[.contentRange] == "bytes \(range.1.lowerBound)-\(range.1.upperBound - 1)/394216")
        #expect(response.headers[.contentLength] == "\(range.1.count)" && response.headers[.eTag] == "\"a\"")
        #expect(transport.requests.count == 1)
        await engine.close()
    }

    @Test(arguments: Way.allCases)
    func `a fresh response answers a range that it does not have with 416`(way: Way) async throws {
        let (engine, transport) = try await stored(way)
        let response = try await response([.range: "bytes=394216-"], way, of: engine)
        #expect(response.status == .rangeNotSatisfiable && response.body.isEmpty)
        #expect(response.headers[.contentRange] == "bytes */394216" && response.headers[.contentLength] == "0")
        #expect(transport.requests.count == 1)
        await engine.close()
    }

    @Test(
        arguments: Way.allCases,
        [
            [.range: "bytes=0-1,5-6"], [.range: "bytes=0-1", .ifRange: "\"b\""], [.range: "lines=0-1"],
            [.range: "bytes=2-1"], [.ifNoneMatch: "\"b\""], [.ifModifiedSince: earlier],
        ] as [HTTPFields])
    func `a fresh response is served whole if neither 304 nor 206 applies`(way: Way, headers: HTTPFields) async throws {
        let (engine, transport) = try await stored(way)
        let response = try await response(headers, way, of: engine)
        #expect(response.status == .ok && response.source == .cache && response.body == Self.body)
        #expect(response.headers[.contentRange] == nil && transport.requests.count == 1)
        await engine.close()
    }

    @Test func `a HEAD evaluates conditions and ignores a range`() async throws {
        let (engine, transport) = try await stored()
        let whole = try await response([.range: "bytes=0-1"], method: .head, of: engine)
        #expect(whole.status == .ok && whole.headers[.contentLength] == "\(Self.body.count)" && whole.body.isEmpty)
        let unmodified = try await response([.ifModifiedSince: modified], method: .head, of: engine)
        #expect(unmodified.status == .notModified && unmodified.source == .cache && transport.requests.count == 1)
        await engine.close()
    }

    @Test(arguments: [[.ifMatch: "\"a\""], [.ifUnmodifiedSince: modified]] as [HTTPFields])
    func `a request with If-Match or If-Unmodified-Since is forwarded`(headers: HTTPFields) async throws {
        let (engine, transport) = try await stored()
        #expect(try await response(headers, of: engine).source == .network)
        #expect(transport.requests.count == 2)
        await engine.close()
    }

    @Test func `only the requested range is read and counted`() async throws {
        let (engine, _) = try await stored(.diskToSink)
        // The chunks before and after the range are damaged, but never read.
        try temporary.execute("UPDATE body SET bytes = zeroblob(length(bytes)) WHERE id & 1048575 <> 1")
        let response = try await response([.range: "bytes=131080-131089"], .diskToSink, of: engine)
        #expect(response.body == Self.body.subdata(in: 131_080..<131_090))
        await engine.cache?.flush()
        #expect(try temporary.rows("hour WHERE bytes_served = 10") == 1)
        await engine.close()
    }

    // MARK: Validation

    /// A server that has a tag, answers conditions and ranges by the rules, and counts.
    private func server(_ tag: String, _ current: @escaping @Sendable () -> String) -> StubTransport {
        StubTransport { request throws(TransportError) in
            let tag = current()
            let headers: HTTPFields = [.cacheControl: "max-age=60", .eTag: tag]
            let conditions = RequestConditions(request.headers, method: request.method)
            var all = headers
            switch conditions?.form(ofStored: 200, headers, length: 10, now: 0) ?? .whole {
            case .notModified: return .stub(status: 304, headers: headers, body: "")
            case .partial(let bytes):
                all[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/10"
                return .stub(
                    status: 206, headers: all,
                    body: String("0123456789".dropFirst(bytes.lowerBound).prefix(bytes.count)))
            case .unsatisfiable, .whole: return .stub(headers: headers, body: "0123456789")
            }
        }
    }

    private func stale(_ tag: Guarded<String> = Guarded("\"a\"")) async throws -> (Engine, StubTransport) {
        let transport = server("\"a\"") { tag.withLock { $0 } }
        let engine = engine(transport)
        _ = try await engine.send(Request(Self.url))
        clock.advance(by: 61)
        return (engine, transport)
    }

    @Test func `a 304 for the stored tag becomes a 200 for a caller with another tag`() async throws {
        let (engine, transport) = try await stale()
        let response = try await response([.ifNoneMatch: "\"b\""], of: engine)
        #expect(response.status == .ok && response.source == .revalidated && response.text == "0123456789")
        #expect(transport.requests.last?.headers[.ifNoneMatch] == "\"b\", \"a\"")
        #expect(try await engine.send(Request(Self.url)).source == .cache)
        await engine.close()
    }

    @Test func `a 304 for the stored tag stays a 304 for a caller with the same tag`() async throws {
        let (engine, transport) = try await stale()
        let response = try await response([.ifNoneMatch: "\"a\""], of: engine)
        #expect(response.status == .notModified && response.source == .revalidated)
        #expect(transport.requests.last?.headers[.ifNoneMatch] == "\"a\"")
        #expect(try await engine.send(Request(Self.url)).source == .cache)
        await engine.close()
    }

    @Test func `a 304 for the caller's tag is passed on, and leaves the stored response unchanged`() async throws {
        let tag = Guarded("\"a\"")
        let (engine, transport) = try await stale(tag)
        tag.withLock { $0 = "\"b\"" }
        let response = try await response([.ifNoneMatch: "\"b\""], of: engine)
        #expect(response.status == .notModified && response.source == .network && response.headers[.eTag] == "\"b\"")
        let next = try await engine.send(Request(Self.url))
        #expect(next.source == .network && next.headers[.eTag] == "\"b\"")
        #expect(transport.requests.last?.headers[.ifNoneMatch] == "\"a\"")
        await engine.close()
    }

    @Test func `a validated response answers a range, and a 206 of a new representation is passed on`() async throws {
        let tag = Guarded("\"a\"")
        let (engine, transport) = try await stale(tag)
        let part = try await response([.range: "bytes=2-3"], of: engine)
        #expect(part.status == .partialContent && part.source == .revalidated && part.text == "23")
        clock.advance(by: 61)
        tag.withLock { $0 = "\"b\"" }
        let new = try await response([.range: "bytes=4-"], of: engine)
        #expect(new.status == .partialContent && new.source == .network && new.text == "456789")
        #expect(transport.requests.last?.headers[.range] == "bytes=4-")
        #expect(try await engine.send(Request(Self.url)).headers[.eTag] == "\"b\"")
        await engine.close()
    }

    @Test func `the caller's date is evaluated on the validated response`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            request.headers[.ifModifiedSince] == modified
                ? .stub(status: 304, headers: [.lastModified: modified], body: "")
                : .stub(headers: [.lastModified: modified, .cacheControl: "max-age=60"])
        }
        let engine = engine(transport)
        _ = try await engine.send(Request(Self.url))
        clock.advance(by: 61)
        #expect(try await response([.ifModifiedSince: earlier], of: engine).text == "body")
        clock.advance(by: 61)
        #expect(try await response([.ifModifiedSince: modified], of: engine).status == .notModified)
        #expect(transport.requests.compactMap { $0.headers[.ifModifiedSince] } == [modified, modified])
        await engine.close()
    }

    @Test func `a 304 without a tag is followed by a request with the caller's conditions alone`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            let isAsked = request.headers.contains(.ifNoneMatch)
            return .stub(status: isAsked ? 304 : 200, headers: isAsked ? [:] : [.eTag: "\"a\""])
        }
        let engine = engine(transport)
        _ = try await engine.send(Request(Self.url))
        #expect(try await response([.ifNoneMatch: "\"b\""], of: engine).status == .notModified)
        #expect(transport.requests.map { $0.headers[.ifNoneMatch] } == [nil, "\"b\", \"a\"", "\"b\""])
        await engine.close()
    }

    // MARK: Nothing stored

    @Test func `without a stored response the caller's conditions are sent, and a 200 is stored`() async throws {
        let transport = server("\"a\"") { "\"a\"" }
        let engine = engine(transport)
        #expect(try await response([.ifNoneMatch: "\"a\""], of: engine).status == .notModified)
        #expect(try await response([.ifNoneMatch: "\"b\""], of: engine).source == .network)
        #expect(transport.requests.map { $0.headers[.ifNoneMatch] } == ["\"a\"", "\"b\""])
        #expect(try await engine.send(Request(Self.url)).source == .cache)
        #expect(try await response([.ifNoneMatch: "\"a\""], of: engine).source == .cache)
        await engine.close()
    }

    @Test(arguments: [412, 416]) func `a 412 or a 416 is not stored`(status: Int) async throws {
        let transport = StubTransport(status: status, headers: [.cacheControl: "max-age=60"])
        let engine = engine(transport)
        _ = try await response([.range: "bytes=5-"], of: engine)
        #expect(try await engine.send(Request(Self.url)).source == .network)
        await engine.close()
    }

    @Test func `a 304 to a reload is passed on, and updates the stored response with its tag`() async throws {
        let (engine, transport) = try await stale()
        let request = Request(Self.url, headers: [.ifNoneMatch: "\"a\""], cache: .reload)
        #expect(try await engine.send(request).status == .notModified)
        #expect(transport.requests.last?.headers[.ifNoneMatch] == "\"a\"")
        #expect(try await engine.send(Request(Self.url)).source == .cache)
        await engine.close()
    }

    @Test func `a background refresh does not send the caller's conditions`() async throws {
        let (engine, transport) = try await stale()
        var request = Request(Self.url, headers: [.ifNoneMatch: "\"a\"", .range: "bytes=0-1"])
        request.cache = .staleWhileRevalidate
        let response = try await engine.send(request)
        #expect(response.status == .notModified && response.source == .stale)
        await engine.waitForRefreshes()
        await engine.close()
        let sent = try #require(transport.requests.last?.headers)
        #expect(transport.requests.count == 2 && sent[.ifNoneMatch] == "\"a\"" && sent[.range] == nil)
    }

    @Test func `a stale response that is served instead of an error obeys the conditions`() async throws {
        let isDown = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            .stub(status: isDown.withLock { $0 } ? 503 : 200, headers: [.eTag: "\"a\""], body: "0123456789")
        }
        let engine = engine(transport)
        _ = try await engine.send(Request(Self.url))
        isDown.withLock { $0 = true }
        var request = Request(Self.url, headers: [.range: "bytes=-2"])
        request.cache = .networkElseCache
        let response = try await engine.send(request)
        #expect(response.status == .partialContent && response.source == .stale && response.text == "89")
        await engine.close()
    }
}
