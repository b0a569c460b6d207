import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Collects what a gateway passes on.
private final class CollectingClient: GatewayClient {
    struct Left: Error {}

    let hasSentBody = true
    private let received = Guarded<(interim: [InterimResponse], heads: [Response], body: Data)>(([], [], Data()))
    private let onPiece: @Sendable (Data) async throws -> Void

    init(onPiece: @escaping @Sendable (Data) async throws -> Void = { _ in }) { self.onPiece = onPiece }

    var interim: [InterimResponse] { received.withLock { $0.interim } }
    var heads: [Response] { received.withLock { $0.heads } }
    var body: String { received.withLock { String(decoding: $0.body, as: UTF8.self) } }

    func receive(_ interim: InterimResponse) async throws {
        received.withLock { received in
            // An interim response must come before the final head.
            if received.heads.isEmpty { received.interim.append(interim) }
        }
    }

    func begin(_ head: Response) async throws { received.withLock { $0.heads.append(head) } }

    func write(_ piece: Data) async throws {
        try await onPiece(piece)
        received.withLock { $0.body += piece }
    }
}

@Suite("The engine of a gateway", .limit(minutes: 5)) struct GatewayTests {
    private static let fresh: HTTPFields = [.cacheControl: "max-age=60"]

    private let temporary = TemporaryStore()
    private let clock = ManualClock()

    private func engine(_ transport: any Transport, keepsCookies: Bool = true) -> Engine {
        temporary.engine(transport, clock: clock) { $0.makeGateway(Gateway(keepsCookies: keepsCookies), width: 8) }
    }

    private func request(_ target: String, _ method: HTTPRequest.Method = .get, _ headers: HTTPFields = [:]) -> Request
    {
        Request(forwarding: method, origin: "http://h", target: target, headers: headers)
    }

    /// Forwards a request, and returns the client that has received the response.
    private func forward(
        _ target: String, _ method: HTTPRequest.Method = .get, _ headers: HTTPFields = [:], over engine: Engine
    ) async throws -> CollectingClient {
        let client = CollectingClient()
        try await engine.forward(request(target, method, headers), target: target, upload: nil, to: client)
        return client
    }

    @Test(
        arguments: [
            ("gzip", nil, true), ("gzip", "br, GZIP;q=0.5", true), ("gzip", "br", false), ("gzip", "identity", false),
            (nil, nil, true),
        ] as [(String?, String?, Bool)])
    func `serves a coded body without Vary only to clients that accept the coding`(
        first: String?, second: String?, isHit: Bool
    ) async throws {
        let transport = StubTransport { request throws(TransportError) in
            // The server codes what it may, except that it codes all for clients that say nothing.
            let isCoded = request.headers[.acceptEncoding]?.lowercased().contains("gzip") ?? true
            var headers = Self.fresh
            headers[.contentEncoding] = isCoded ? "gzip" : nil
            return .stub(headers: headers, body: isCoded ? "coded" : "plain")
        }
        let engine = engine(transport)
        func accept(_ coding: String?) -> HTTPFields { coding.map { [.acceptEncoding: $0] } ?? [:] }
        let stored = try await forward("/a", .get, accept(first), over: engine)
        #expect(stored.body == "coded")
        let client = try await forward("/a", .get, accept(second), over: engine)
        let head = try #require(client.heads.first)
        let isAccepted = second == nil || second?.lowercased().contains("gzip") == true
        #expect(client.body == (isAccepted ? "coded" : "plain"))
        #expect((head.source == .cache) == (isHit && !(first != nil && second == nil)))
        #expect(
            engine.responseInMemory(to: request("/a", .get, [.acceptEncoding: "br"]))?.headers[.contentEncoding] == nil)
    }

    @Test(arguments: [nil, 503]) func `sends its cache status before a body that it serves for an error`(code: Int?)
        async throws
    {
        let isDown = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            guard isDown.withLock({ $0 }) else {
                return .stub(headers: [.cacheControl: "max-age=10, stale-if-error=60"], body: "good")
            }
            guard let code else { throw TransportError(.cannotConnect, "refused") }
            return .stub(status: code)
        }
        let engine = engine(transport)
        _ = try await forward("/a", over: engine)
        isDown.withLock { $0 = true }
        clock.advance(by: 20)
        let head = try #require(try await forward("/a", over: engine).heads.first)
        let status = code.map { "; fwd-status=\($0)" } ?? ""
        #expect(head.cacheStatus?.description == "Diamond; fwd=stale\(status); ttl=-10")
    }

    @Test func `sends its cache status before a body that the server has confirmed`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            .stub(
                status: request.headers[.ifNoneMatch] == nil ? 200 : 304,
                headers: [.cacheControl: "max-age=10", .eTag: "\"a\""])
        }
        let engine = engine(transport)
        _ = try await forward("/a", over: engine)
        clock.advance(by: 20)
        let stale = try #require(try await forward("/a", over: engine).heads.first)
        #expect(stale.cacheStatus?.description == "Diamond; fwd=stale; fwd-status=304; ttl=10")
        let asked = try #require(try await forward("/a", .get, [.cacheControl: "no-cache"], over: engine).heads.first)
        #expect(asked.cacheStatus?.description == "Diamond; fwd=request; fwd-status=304; ttl=10")
    }

    @Test(arguments: [Gateway.Superseding.tooLarge, .unstorable, .gone])
    func `serves no stale response that the server has superseded`(by superseding: Gateway.Superseding) async throws {
        let isNew = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            guard isNew.withLock({ $0 }) else { return .stub(headers: [.cacheControl: "max-age=10"], body: "old") }
            switch superseding {
            case .tooLarge:
                let body = String(repeating: "x", count: 2 << 20)
                return .stub(headers: [.cacheControl: "max-age=10", .contentLength: "\(2 << 20)"], body: body)
            case .unstorable: return .stub(headers: [.cacheControl: "no-store"], body: "new")
            case .gone: return .stub(status: 404, headers: [.cacheControl: "no-store"], body: "gone")
            }
        }
        let engine = temporary.engine(transport, clock: clock) {
            $0.makeGateway(Gateway(), width: 8)
            $0.diskCapacity = 20 << 20
        }
        #expect(try await forward("/a", over: engine).body == "old")
        clock.advance(by: 20)
        isNew.withLock { $0 = true }
        _ = try await forward("/a", over: engine)
        let stale = try await forward("/a", .get, [.cacheControl: "max-stale"], over: engine)
        #expect(stale.body != "old")
    }

    @Test func `adds no field, and sends the target byte for byte`() async throws {
        let transport = StubTransport()
        _ = try await forward("//a/../b?%zz", over: engine(transport))
        let sent = try #require(transport.requests.first)
        #expect(sent.headers.isEmpty && sent.target == "//a/../b?%zz" && sent.passesCoding)
    }

    @Test(arguments: [false, true])
    func `stores a coded body with its coding, and Set-Cookie only if configured`(keepsCookies: Bool) async throws {
        let headers: HTTPFields = [.cacheControl: "max-age=60", .contentEncoding: "gzip", .setCookie: "a=b"]
        let transport = StubTransport(headers: headers, body: "coded")
        let engine = engine(transport, keepsCookies: keepsCookies)
        for source in [Response.Source.network, .cache] {
            let client = try await forward("/a", over: engine)
            let head = try #require(client.heads.first)
            #expect(head.source == source && client.body == "coded" && client.heads.count == 1)
            #expect(head.headers[.contentEncoding] == "gzip")
            #expect((head.headers[.setCookie] == "a=b") == (keepsCookies || source == .network))
        }
    }

    @Test(arguments: [404, 301, 410, 200])
    func `passes on and stores the body of any status`(status: Int) async throws {
        let transport = StubTransport(status: status, headers: Self.fresh, body: "reason")
        let engine = engine(transport)
        for _ in 1...2 { #expect(try await forward("/a", over: engine).body == "reason") }
        #expect(transport.requests.count == 1)
    }

    @Test func `has stored a response before its last bytes are passed on`() async throws {
        let transport = StubTransport { _ in .stub(headers: [.cacheControl: "max-age=60", .contentLength: "4"]) }
        let engine = engine(transport)
        let isStored = Guarded(false)
        let client = CollectingClient { [request = request("/a")] _ in
            // The memory answers nothing when other processes' changes have not been read for a while.
            engine.cache?.applyOtherProcessesChanges(isDue: true)
            isStored.withLock { $0 = engine.responseInMemory(to: request) != nil }
        }
        try await engine.forward(request("/a"), target: "/a", upload: nil, to: client)
        #expect(isStored.withLock { $0 } && client.body == "body")
    }

    @Test func `has a small response in memory after its first hit`() async throws {
        let transport = StubTransport(headers: Self.fresh)
        let first = engine(transport)
        _ = try await forward("/a", over: first)
        await first.close()
        // Another engine has it on disk only.
        let second = engine(transport)
        for isInMemory in [false, true] {
            second.cache?.applyOtherProcessesChanges(isDue: true)
            #expect((second.responseInMemory(to: request("/a")) != nil) == isInMemory)
            #expect(try await forward("/a", over: second).heads.first?.source == .cache)
        }
        await second.close()
    }

    @Test func `stores a response whose client has left, and passes nothing on`() async throws {
        let transport = StubTransport(headers: Self.fresh)
        let engine = engine(transport)
        let leaving = CollectingClient { _ in throw CollectingClient.Left() }
        try await engine.forward(request("/a"), target: "/a", upload: nil, to: leaving)
        #expect(leaving.body.isEmpty)
        #expect(try await forward("/a", over: engine).heads.first?.source == .cache)
    }

    @Test func `ends an exchange whose client has left, if its response is not stored`() async throws {
        let transport = StubTransport(headers: [.cacheControl: "no-store"])
        let engine = engine(transport)
        let leaving = CollectingClient { _ in throw CollectingClient.Left() }
        await #expect(throws: ConnectionError.self) {
            try await engine.forward(request("/a"), target: "/a", upload: nil, to: leaving)
        }
        #expect(try await forward("/a", over: engine).heads.first?.source == .network)
    }

    @Test func `refreshes a response that was served stale, and stores the new one`() async throws {
        let count = Guarded(0)
        let transport = StubTransport { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .stub(headers: [.cacheControl: "max-age=10, stale-while-revalidate=60"], body: "answer \(number)")
        }
        let engine = engine(transport)
        #expect(try await forward("/a", over: engine).body == "answer 1")
        clock.advance(by: 20)
        #expect(try await forward("/a", over: engine).body == "answer 1")
        await engine.waitForRefreshes()
        let client = try await forward("/a", over: engine)
        #expect(client.body == "answer 2" && client.heads.first?.source == .cache)
    }

    @Test func `serves a stored response instead of a server error within stale-if-error`() async throws {
        let count = Guarded(0)
        let transport = StubTransport { _ in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst
                ? .stub(headers: [.cacheControl: "max-age=10, stale-if-error=60"], body: "good")
                : .stub(status: 503, body: "bad")
        }
        let engine = engine(transport)
        #expect(try await forward("/a", over: engine).body == "good")
        clock.advance(by: 20)
        let stale = try await forward("/a", over: engine)
        #expect(stale.body == "good" && stale.heads.map(\.source) == [.stale])
        clock.advance(by: 600)
        let failed = try await forward("/a", over: engine)
        #expect(failed.body == "bad" && failed.heads.map(\.status.code) == [503])
    }

    @Test func `stores fields that look like secrets`() async throws {
        let name = try #require(HTTPField.Name("X-API-Key"))
        let headers: HTTPFields = [.cacheControl: "max-age=60", name: "s3cret", .location: "http://u:p@h/?token=1"]
        let engine = engine(StubTransport(headers: headers))
        for source in [Response.Source.network, .cache] {
            let head = try #require(try await forward("/a", over: engine).heads.first)
            #expect(head.source == source && head.headers[name] == "s3cret")
            #expect(head.headers[.location] == "http://u:p@h/?token=1")
        }
    }

    @Test func `passes on a server error of any size if no stored response replaces it`() async throws {
        let count = Guarded(0)
        let large = String(repeating: "x", count: 2 << 20)
        let transport = StubTransport { _ in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst
                ? .stub(headers: [.cacheControl: "max-age=10, stale-if-error=60", .eTag: "\"a\""], body: "good")
                : .stub(status: 503, body: large)
        }
        let engine = engine(transport)
        #expect(try await forward("/a", over: engine).body == "good")
        clock.advance(by: 20)
        #expect(try await forward("/a", over: engine).body == "good")
        clock.advance(by: 600)
        let failed = try await forward("/a", over: engine)
        #expect(failed.body == large && failed.heads.map(\.status.code) == [503])
        // The error does not replace what is stored.
        #expect(failed.heads.first?.cacheStatus?.isStored == false)
    }

    @Test func `passes interim responses on before the head`() async throws {
        let interim = (1...3).map { InterimResponse(status: .init(code: 103), headers: [.link: "</\($0)>"]) }
        let transport = StubTransport { request in
            for response in interim { request.onInterim?(response) }
            return .stub()
        }
        let client = try await forward("/a", over: engine(transport))
        #expect(client.interim == interim && client.heads.count == 1)
    }

    @Test(arguments: [301, 401, 408, 421, 429, 500, 503])
    func `neither follows redirects nor retries`(status: Int) async throws {
        let transport = StubTransport(status: status, headers: [.location: "/b", .retryAfter: "0"])
        #expect(try await forward("/a", over: engine(transport)).heads.map(\.status.code) == [status])
        #expect(transport.requests.count == 1)
    }
}

extension Gateway {
    /// The ways in which a response supersedes the stored one without being stored.
    enum Superseding { case tooLarge, unstorable, gone }
}
