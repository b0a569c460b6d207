import Diamond
import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("A connection with bytes that no request has asked for", .limit(minutes: 5)) struct TransportSurplusTests {
    /// A response, and the bytes that follow it.
    struct Surplus: Sendable, CustomTestStringConvertible {
        var method = HTTPRequest.Method.get
        let answer: String
        var bytes = SurplusServer.second

        var testDescription: String {
            "\(method) \(answer.prefix(30).debugDescription) \(bytes.prefix(8).debugDescription)"
        }
    }

    private static let surpluses = [
        Surplus(answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"),
        Surplus(answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        Surplus(answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"),
        Surplus(answer: "HTTP/1.1 204 No Content\r\n\r\n"),
        Surplus(answer: "HTTP/1.1 304 Not Modified\r\n\r\n"),
        Surplus(answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", bytes: "body"),
        Surplus(method: .head, answer: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"),
        Surplus(method: .head, answer: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", bytes: "body"),
        Surplus(method: .post, answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"),
    ]

    /// The transports whose connections are checked.
    private static let kinds = TransportKind.allCases.filter { $0 != .urlSession }

    @Test(arguments: kinds, surpluses)
    func `a connection with surplus bytes is not used again, and the next request gets its own response`(
        kind: TransportKind, surplus: Surplus
    ) async throws {
        for isLate in [false, true] {
            let server = try SurplusServer(surplus.answer, then: surplus.bytes, isLate: isLate)
            try await kind.run { transport, _ in
                let first = TransportRequest(method: surplus.method, url: "\(server.base)/first")
                _ = try await transport.exchange(first)
                if isLate {
                    await server.sendSurplus()
                    if kind.closesOnSurplus { await server.waitForEnd() }
                }
                try await expectOwnResponses(transport, server.base, kind)
                #expect(kind.mayHaveReplacedOne(server.connections), "late: \(isLate)")
            }
        }
    }

    // A request that cannot be repeated is sent on another connection, too: nothing of it was sent before.
    private func expectOwnResponses(_ transport: any Transport, _ base: String, _ kind: TransportKind) async throws {
        for method in [HTTPRequest.Method.post, .get] {
            let body = try await kind.body(of: TransportRequest(method: method, url: "\(base)/next"), over: transport)
            #expect(String(decoding: body, as: UTF8.self) == "own")
        }
    }

    #if os(Linux)
    @Test func `URLSession on Linux gives late surplus bytes to the next request`() async throws {
        let server = try SurplusServer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", isLate: true)
        try await TransportKind.urlSession.run { transport, _ in
            _ = try await transport.get("\(server.base)/first")
            await server.sendSurplus()
            let body = try await transport.get("\(server.base)/next").body
            TransportKind.urlSession.withShortcoming(.unaskedBytes) {
                #expect(String(decoding: body, as: UTF8.self) == "own")
            }
        }
    }
    #endif

    @Test(arguments: kinds) func `a connection that the server has closed is not used, whatever the method`(
        kind: TransportKind
    ) async throws {
        let (answered, closed) = (Gate(), Gate())
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown")
            guard !answered.isOpen else { return }
            answered.open()
            connection.shutOutput()
            closed.open()
            _ = connection.readRest()
        }
        try await kind.run { transport, _ in
            _ = try await transport.get(server.base)
            await closed.wait()
            let next = TransportRequest(method: .post, url: server.base)
            let body = try await kind.body(of: next, over: transport)
            #expect(String(decoding: body, as: UTF8.self) == "own")
        }
    }

    /// Several idle connections of a server that then closes each without a response.
    @Test(arguments: TransportKind.allCases)
    func `a connection that ends without a response is followed by one other at most`(kind: TransportKind) async throws
    {
        let (heads, waiting) = (Guarded(0), DispatchSemaphore(value: 0))
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            guard
                heads.withLock({
                    $0 += 1; return $0
                }) <= Self.pooled
            else { return }
            if heads.withLock({ $0 }) == Self.pooled { (0..<Self.pooled).forEach { _ in waiting.signal() } }
            waiting.wait()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            guard connection.readHead() != nil else { return }
            heads.withLock { $0 += 1 }
        }
        try await kind.run { transport, _ in
            try await withThrowingTaskGroup { group in
                for _ in 0..<Self.pooled { group.addTask { _ = try await transport.get(server.base) } }
                try await group.waitForAll()
            }
            let error = await transport.failure(of: TransportRequest(url: server.base))
            #expect(error?.code == .connectionLost && error?.serverMayHaveActed == true)
            kind.withShortcoming(.repeatedOften) { #expect(heads.withLock { $0 } - Self.pooled <= 2) }
        }
    }

    private static let pooled = 7
}

extension TransportKind {
    /// Whether the transport closes an idle connection when bytes arrive, and does not look for them before it sends.
    var closesOnSurplus: Bool {
        #if AsyncHTTPClient
        self == .httpClient
        #else
        false
        #endif
    }

    /// Whether a number of connections is that of one connection and its replacement. async-http-client may open another
    /// replacement for a request that met the connection while it was being closed.
    func mayHaveReplacedOne(_ connections: Int) -> Bool { closesOnSurplus ? connections >= 2 : connections == 2 }

    /// Returns the body of a response. async-http-client may take a connection that is being closed. The request then
    /// fails unsent, and an engine sends it again.
    func body(of request: TransportRequest, over transport: any Transport) async throws -> Data {
        do { return try await transport.exchange(request).body } catch let error as TransportError {
            guard closesOnSurplus, !error.serverMayHaveActed else { throw error }
            return try await transport.exchange(request).body
        }
    }
}
