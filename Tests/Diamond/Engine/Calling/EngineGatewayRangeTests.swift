import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Conditions and ranges in a gateway", .limit(minutes: 5)) struct EngineGatewayRangeTests {
    /// A client that keeps what it receives.
    private final class Client: GatewayClient {
        let hasSentBody = true
        private let received = Guarded<Response?>(nil)

        var response: Response? { received.withLock { $0 } }

        func begin(_ head: Response) async throws {
            received.withLock { response in
                response = head
                response?.body = Data()
            }
        }

        func write(_ piece: Data) async throws { received.withLock { $0?.body += piece } }
    }

    private let temporary = TemporaryStore()
    private let clock = ManualClock()

    /// A server that has ten digits, or as many letters for other languages, and answers conditions and ranges by the
    /// rules.
    private let transport = StubTransport { request throws(TransportError) in
        let isGerman = request.headers[.acceptLanguage] == "de"
        let body = Data((isGerman ? "abcdefghij" : "0123456789").utf8)
        var headers: HTTPFields = [
            .cacheControl: "max-age=60", .vary: "Accept-Language", .eTag: isGerman ? "\"de\"" : "\"a\"",
        ]
        let conditions = RequestConditions(request.headers, method: request.method)
        switch conditions?.form(ofStored: 200, headers, length: 10, now: 0) ?? .whole {
        case .notModified: return .stub(status: 304, headers: headers, body: "")
        case .partial(let bytes):
            headers[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/10"
            headers[.contentLength] = "\(bytes.count)"
            return .stub(status: 206, headers: headers, body: body.subdata(in: bytes))
        case .unsatisfiable, .whole:
            headers[.contentLength] = "10"
            return .stub(headers: headers, body: body)
        }
    }

    private func engine() -> Engine {
        temporary.engine(transport, clock: clock) { $0.makeGateway(width: 8) }
    }

    private func get(_ headers: HTTPFields, _ engine: Engine) async throws -> Response {
        let client = Client()
        let request = Request(forwarding: .get, origin: "http://h", target: "/a", headers: headers)
        try await engine.forward(request, target: "/a", upload: nil, to: client)
        return try #require(client.response)
    }

    @Test func `a gateway answers conditions and ranges from what it has streamed`() async throws {
        let engine = engine()
        _ = try await get([:], engine)
        let part = try await get([.range: "bytes=2-4"], engine)
        #expect(part.status == .partialContent && part.source == .cache && part.text == "234")
        let unmodified = try await get([.ifNoneMatch: "\"a\""], engine)
        #expect(unmodified.status == .notModified && unmodified.source == .cache && unmodified.body.isEmpty)
        let unsatisfied = try await get([.range: "bytes=10-"], engine)
        #expect(unsatisfied.status == .rangeNotSatisfiable && unsatisfied.headers[.contentRange] == "bytes */10")
        #expect(transport.requests.count == 1)
        await engine.close()
    }

    @Test func `a gateway validates with the client's tags, and passes its 304 on`() async throws {
        let engine = engine()
        _ = try await get([:], engine)
        clock.advance(by: 61)
        let whole = try await get([.ifNoneMatch: "\"x\""], engine)
        #expect(whole.status == .ok && whole.source == .revalidated && whole.text == "0123456789")
        #expect(transport.requests.last?.headers[.ifNoneMatch] == "\"x\", \"a\"")
        let other = try await get([.ifNoneMatch: "\"de\"", .acceptLanguage: "de"], engine)
        #expect(other.status == .notModified && other.source == .network)
        await engine.close()
    }

    @Test func `a gateway stores a 206 as a part of its variant, and combines it`() async throws {
        let engine = engine()
        let german: HTTPFields = [.acceptLanguage: "de"]
        _ = try await get([.range: "bytes=2-4"], engine)
        _ = try await get(german + [.range: "bytes=2-4"], engine)
        #expect(transport.requests.count == 2)
        for (headers, text) in [([:], "34"), (german, "de")] as [(HTTPFields, String)] {
            let part = try await get(headers + [.range: "bytes=3-4"], engine)
            #expect(part.status == .partialContent && part.source == .cache && part.text == text)
        }
        for range in ["bytes=0-1", "bytes=5-9"] { _ = try await get([.range: range], engine) }
        let whole = try await get([:], engine)
        #expect(whole.status == .ok && whole.source == .cache && whole.text == "0123456789")
        #expect(transport.requests.count == 4)
        let other = try await get(german, engine)
        #expect(other.source == .network && other.text == "abcdefghij")
        await engine.close()
    }

    @Test func `a gateway stores a streamed response under its variant`() async throws {
        let engine = engine()
        let german: HTTPFields = [.acceptLanguage: "de"]
        for (headers, text) in [([:], "0123456789"), (german, "abcdefghij"), ([:], "0123456789")] {
            #expect(try await get(headers, engine).text == text)
        }
        #expect(transport.requests.count == 2)
        await engine.close()
    }

    /// A server of bytes that answers ranges by the rules.
    private func server(_ body: @escaping @Sendable () -> (tag: String, body: Data)) -> StubTransport {
        StubTransport { request throws(TransportError) in
            let (tag, body) = body()
            var headers: HTTPFields = [.cacheControl: "max-age=60", .eTag: tag]
            let conditions = RequestConditions(request.headers, method: request.method)
            guard case .partial(let bytes) = conditions?.form(ofStored: 200, headers, length: body.count, now: 0) else {
                headers[.contentLength] = "\(body.count)"
                return .stub(headers: headers, body: body)
            }
            headers[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(body.count)"
            headers[.contentLength] = "\(bytes.count)"
            return .stub(status: 206, headers: headers, body: body.subdata(in: bytes))
        }
    }

    @Test func `a gateway requests the rest of a response whose beginning is stored`() async throws {
        let transport = server { ("\"a\"", Data("0123456789".utf8)) }
        let engine = temporary.engine(transport, clock: clock) { $0.makeGateway(width: 8) }
        _ = try await get([.range: "bytes=0-4"], engine)
        let whole = try await get([:], engine)
        #expect(whole.status == .ok && whole.text == "0123456789" && whole.headers[.contentLength] == "10")
        #expect(whole.cacheStatus?.forwardReason == .partial && whole.cacheStatus?.forwardStatus == 206)
        #expect(transport.requests.last?.headers[.range] == "bytes=5-")
        #expect(transport.requests.last?.headers[.ifRange] == "\"a\"")
        #expect(try await get([:], engine).source == .cache)
        #expect(transport.requests.count == 2)
        await engine.close()
    }

    @Test func `a gateway requests the rest of a variant for the requests that select it`() async throws {
        let engine = engine()
        let german: HTTPFields = [.acceptLanguage: "de"]
        _ = try await get(german + [.range: "bytes=0-4"], engine)
        #expect(try await get([:], engine).text == "0123456789")
        #expect(transport.requests.last?.headers[.range] == nil)
        #expect(try await get(german, engine).text == "abcdefghij")
        #expect(transport.requests.last?.headers[.range] == "bytes=5-")
        #expect(transport.requests.last?.headers[.ifRange] == "\"de\"")
        #expect(try await get(german, engine).source == .cache)
        await engine.close()
    }

    @Test(arguments: [10, 3 << 20])
    func `a gateway passes on a new representation instead of completing a stored beginning`(size: Int) async throws {
        let current = Guarded(("\"a\"", Data("0123456789".utf8)))
        let transport = server { current.withLock { $0 } }
        let engine = temporary.engine(transport, clock: clock) {
            $0.makeGateway(width: 8)
            $0.bodyLimit = 1 << 20
        }
        _ = try await get([.range: "bytes=0-4"], engine)
        let other = Data(repeating: 7, count: size)
        current.withLock { $0 = ("\"b\"", other) }
        let whole = try await get([:], engine)
        #expect(whole.status == .ok && whole.body == other)
        let stored = try await get([:], engine)
        #expect(stored.source == .cache && stored.body == other)
        await engine.close()
    }
}
