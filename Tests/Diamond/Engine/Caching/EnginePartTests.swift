import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("Parts of responses in the cache", .limit(minutes: 5)) struct EnginePartTests {
    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    private static let url = "http://h/a"

    /// The state of a server that has ten digits, and answers conditions and ranges by the rules.
    private struct Server: Sendable {
        var tag = "\"a\""
        var body = Data("0123456789".utf8)
        var headers: HTTPFields = [.cacheControl: "max-age=60"]
    }

    /// A call whose output cannot be decoded from the digits.
    private struct Names: Endpoint {
        typealias Output = [String]

        var request: Request { Request(url, headers: [.range: "bytes=2-5"]) }
    }

    private let server = Guarded(Server())

    private func transport() -> StubTransport {
        StubTransport { [server] request throws(TransportError) in
            let server = server.withLock { $0 }
            var headers = server.headers
            headers[.eTag] = server.tag
            let conditions = RequestConditions(request.headers, method: request.method)
            switch conditions?.form(ofStored: 200, headers, length: server.body.count, now: 0) ?? .whole {
            case .notModified: return .stub(status: 304, headers: headers, body: "")
            case .partial(let bytes):
                headers[.contentRange] =
                    "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(server.body.count)"
                headers[.contentLength] = "\(bytes.count)"
                return .stub(status: 206, headers: headers, body: server.body.subdata(in: bytes))
            case .unsatisfiable, .whole:
                headers[.contentLength] = "\(server.body.count)"
                return .stub(headers: headers, body: server.body)
            }
        }
    }

    private func get(_ range: String?, _ engine: Engine, _ headers: HTTPFields = [:]) async throws -> Response {
        var headers = headers
        headers[.range] = range.map { "bytes=\($0)" }
        return try await engine.send(Request(Self.url, headers: headers))
    }

    @Test func `a stored part answers ranges within it, and nothing else`() async throws {
        let transport = transport()
        let engine = temporary.engine(transport, clock: clock)
        #expect(try await get("2-5", engine).source == .network)
        clock.advance(by: 10)
        let within = try await get("3-4", engine)
        #expect(within.status == .partialContent && within.source == .cache && within.text == "34")
        #expect(within.headers[.contentRange] == "bytes 3-4/10" && within.headers[.contentLength] == "2")
        #expect(within.headers[.age] == "10")
        #expect(try await get("2-5", engine, [.ifRange: "\"a\""]).source == .cache)
        #expect(transport.requests.count == 1)
        // Also after a restart, and into a stream.
        await engine.close()
        let next = temporary.engine(transport, clock: clock)
        let streamed = try await next.stream(Request(Self.url, headers: [.range: "bytes=4-5"]))
        var body = Data()
        for try await piece in streamed.bytes { body += piece }
        #expect(streamed.status == .partialContent && streamed.source == .cache && body == Data("45".utf8))
        #expect(transport.requests.count == 1)
        for range in ["2-6", "1-2", "-1", nil] { #expect(try await get(range, next).source == .network) }
        await next.close()
    }

    @Test func `a request that a stored part does not answer is forwarded with the reason partial`() async throws {
        server.withLock { $0.headers = [.cacheControl: "max-age=60", .vary: "User-Agent"] }
        let engine = temporary.engine(transport(), clock: clock)
        #expect(try await get("2-5", engine).cacheStatus?.forwardReason == .miss)
        for range in ["2-6", nil] {
            let response = try await get(range, engine, [.userAgent: "Diamond"])
            #expect(response.cacheStatus?.forwardReason == .partial)
        }
        #expect(try await get("2-5", engine, [.userAgent: "other"]).cacheStatus?.forwardReason == .miss)
        await engine.close()
    }

    @Test func `totals count neither parts nor indexes of variants as responses`() async throws {
        server.withLock { $0.headers = [.cacheControl: "max-age=60", .vary: "User-Agent"] }
        let engine = temporary.engine(transport(), clock: clock)
        for (agent, range) in [("one", nil), ("two", nil), ("three", "2-5")] as [(String, String?)] {
            server.withLock { $0.tag = "\"\(agent)\"" }
            _ = try await get(range, engine, [.userAgent: agent])
        }
        await engine.cache?.flush()
        let totals = try #require(try engine.cache?.totals())
        #expect(totals.entries == 2 && totals.partials == 1)
        await engine.close()
    }

    @Test(arguments: [true, false])
    func `a part that goes into a stream or a file is stored, and answers ranges there`(isFile: Bool) async throws {
        let transport = transport()
        let engine = temporary.engine(transport, clock: clock)
        func receive(_ range: String?) async throws -> String {
            let request = Request(Self.url, headers: range.map { [.range: "bytes=\($0)"] } ?? [:])
            guard isFile else {
                var body = Data()
                for try await piece in try await engine.stream(request).bytes { body += piece }
                return String(decoding: body, as: UTF8.self)
            }
            let file = temporary.directory.appending(path: "part")
            _ = try await engine.download(request, to: file)
            return try String(contentsOf: file, encoding: .utf8)
        }
        #expect(try await receive("2-5") == "2345")
        #expect(try await receive("3-4") == "34")
        #expect(try await get("3-5", engine).source == .cache)
        #expect(transport.requests.count == 1)
        for range in ["0-1", "6-9"] { _ = try await receive(range) }
        #expect(try await receive("0-9") == "0123456789")
        #expect(try await get(nil, engine).source == .cache)
        #expect(transport.requests.count == 3)
        await engine.close()
    }

    @Test func `a part is not stored where an interceptor would have to validate it`() async throws {
        struct Acceptance: Interceptor {}
        let engine = temporary.engine(transport(), clock: clock) { $0.interceptors = [Acceptance()] }
        for try await _ in try await engine.stream(Request(Self.url, headers: [.range: "bytes=2-5"])).bytes {}
        #expect(try await get("2-5", engine).source == .network)
        await engine.close()
    }

    @Test func `a stored part with another validator than If-Range is not used`() async throws {
        let engine = temporary.engine(transport(), clock: clock)
        _ = try await get("2-5", engine)
        let response = try await get("2-5", engine, [.ifRange: "\"b\""])
        #expect(response.status == .ok && response.source == .network)
        await engine.close()
    }

    @Test func `parts that touch are combined, and the last one makes a whole response`() async throws {
        let transport = transport()
        let engine = temporary.engine(transport, clock: clock)
        for range in ["2-3", "4-6"] { _ = try await get(range, engine) }
        #expect(try await get("3-5", engine).source == .cache)
        for range in ["0-1", "7-9"] { #expect(try await get(range, engine).source == .network) }
        let whole = try await get(nil, engine)
        #expect(whole.status == .ok && whole.source == .cache && whole.text == "0123456789")
        #expect(whole.headers[.contentRange] == nil && whole.headers[.contentLength] == "10")
        #expect(transport.requests.count == 4)
        await engine.close()
        #expect(try temporary.rows("entry") == 1 && temporary.rows("entry WHERE is_partial = 0") == 1)
        #expect(try CacheInspection(of: temporary.store).findings.isEmpty)
    }

    @Test func `a part of another representation replaces the stored part`() async throws {
        let engine = temporary.engine(transport(), clock: clock)
        _ = try await get("0-4", engine)
        server.withLock { ($0.tag, $0.body) = ("\"b\"", Data("abcdefghij".utf8)) }
        #expect(try await get("5-9", engine).text == "fghij")
        #expect(try await get("6-7", engine).source == .cache)
        let other = try await get("0-4", engine)
        #expect(other.source == .network && other.text == "abcde")
        #expect(try await get(nil, engine).text == "abcdefghij")
        await engine.close()
    }

    @Test func `a request for the whole completes a stored beginning with a range request`() async throws {
        let transport = transport()
        let engine = temporary.engine(transport, clock: clock)
        _ = try await get("0-5", engine)
        let whole = try await get(nil, engine)
        #expect(whole.status == .ok && whole.text == "0123456789")
        #expect(transport.requests.last?.headers[.range] == "bytes=6-")
        #expect(transport.requests.last?.headers[.ifRange] == "\"a\"")
        #expect(try await get(nil, engine).source == .cache)
        await engine.close()
    }

    @Test func `a stale part is validated before it is served, even within stale-while-revalidate`() async throws {
        server.withLock { $0.headers = [.cacheControl: "max-age=60, stale-while-revalidate=60"] }
        let transport = transport()
        let engine = temporary.engine(transport, clock: clock)
        _ = try await get("2-5", engine)
        clock.advance(by: 61)
        #expect(try await get("2-5", engine).source == .revalidated)
        #expect(transport.requests.last?.headers[.range] == "bytes=2-5")
        await engine.close()
    }

    @Test func `a part is not stored if the typed call cannot decode it`() async throws {
        let engine = temporary.engine(transport(), clock: clock)
        await #expect(throws: ConnectionError.self) { _ = try await engine.send(Names()) }
        #expect(try await get("2-5", engine).source == .network)
        await engine.close()
    }

    @Test func `a stale part is served instead of an error within stale-if-error`() async throws {
        server.withLock { $0.headers = [.cacheControl: "max-age=60, stale-if-error=60"] }
        let isDown = Guarded(false)
        let (up, clock) = (transport(), clock)
        let transport = StubTransport { request throws(TransportError) in
            guard !isDown.withLock({ $0 }) else { return .stub(status: 503) }
            return try await up.send(request)
        }
        let engine = temporary.engine(transport, clock: clock)
        _ = try await get("2-5", engine)
        clock.advance(by: 61)
        isDown.withLock { $0 = true }
        let response = try await get("3-4", engine)
        #expect(response.status == .partialContent && response.source == .stale && response.text == "34")
        #expect(try await get("3-6", engine).status == .serviceUnavailable)
        await engine.close()
    }

    @Test func `a stale part is validated if it has the range, and is fresh again`() async throws {
        let transport = transport()
        let engine = temporary.engine(transport, clock: clock)
        _ = try await get("2-5", engine)
        clock.advance(by: 61)
        _ = try await get("8-9", engine)
        #expect(transport.requests.last?.headers[.ifNoneMatch] == nil)
        let validated = try await get("3-4", engine)
        #expect(validated.status == .partialContent && validated.source == .revalidated && validated.text == "34")
        #expect(transport.requests.last?.headers[.ifNoneMatch] == "\"a\"")
        clock.advance(by: 50)
        #expect(try await get("2-2", engine).source == .cache)
        #expect(transport.requests.count == 3)
        await engine.close()
    }

    @Test(
        arguments: [
            [.cacheControl: "no-store"], [.cacheControl: "max-age=60", .vary: "*"],
            [.cacheControl: "max-age=60", .contentEncoding: "gzip"],
        ] as [HTTPFields])
    func `a part that may not be stored is not stored`(headers: HTTPFields) async throws {
        server.withLock { $0.headers = headers }
        let engine = temporary.engine(transport(), clock: clock)
        _ = try await get("2-5", engine)
        #expect(try await get("2-5", engine).source == .network)
        await engine.close()
        #expect(try temporary.rows("entry") == 0)
    }

    @Test func `a part with a weak validator is not stored`() async throws {
        server.withLock { $0.tag = "W/\"a\"" }
        let engine = temporary.engine(transport(), clock: clock)
        _ = try await get("2-5", engine)
        #expect(try await get("2-5", engine).source == .network)
        await engine.close()
    }

    @Test func `a part is invalidated and erased like a whole response`() async throws {
        let engine = temporary.engine(transport(), clock: clock)
        _ = try await get("2-5", engine)
        #expect(try await engine.invalidate(Request(Self.url)))
        #expect(try await get("2-5", engine).source == .revalidated)
        #expect(try await get("2-5", engine).source == .cache)
        _ = try await engine.send(Request(Self.url, method: .post))
        #expect(try await get("2-5", engine).source == .revalidated)
        _ = try await engine.cache?.purge(.all)
        #expect(try await get("2-5", engine).source == .network)
        await engine.close()
    }

    @Test func `a part updates the whole response that it belongs to, or erases an outdated response`() async throws {
        let engine = temporary.engine(transport(), clock: clock)
        _ = try await get(nil, engine)
        clock.advance(by: 50)
        let reload = Request(Self.url, headers: [.range: "bytes=0-1"], cache: .reload)
        #expect(try await engine.send(reload).source == .network)
        clock.advance(by: 50)
        let whole = try await get(nil, engine)
        #expect(whole.source == .cache && whole.text == "0123456789" && whole.headers[.contentLength] == "10")
        server.withLock { ($0.tag, $0.body) = ("\"b\"", Data("abcdefghij".utf8)) }
        _ = try await engine.send(reload)
        #expect(try await get(nil, engine).text == "abcdefghij")
        await engine.close()
    }

    @Test func `the beginning of a transfer that broke answers ranges within it`() async throws {
        let server = RangeServer { $0.flows = [.broken(2 << 20)] }
        let engine = temporary.engine(server.transport, clock: clock)
        _ = try? await engine.send(Request(Self.url))
        let response = try await get("1000-1999", engine)
        #expect(response.status == .partialContent && response.source == .cache)
        #expect(response.body == server.body.subdata(in: 1000..<2000) && server.transport.requests.count == 1)
        await engine.close()
    }
}
