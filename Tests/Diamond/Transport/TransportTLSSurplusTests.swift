#if AsyncHTTPClient
import AsyncHTTPClient
import Diamond
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("A reused connection over TLS", .limit(minutes: 5), .enabled(if: TLSServer.executable != nil))
struct TransportTLSSurplusTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"

    private func run(
        _ kind: TransportKind, _ records: [String], _ body: (any Transport, SurplusTLSServer) async throws -> Void
    ) async throws {
        let identity = try await TLSServer.Identity()
        defer { withExtendedLifetime(identity) {} }
        let server = try await SurplusTLSServer(identity, answering: records)
        let (transport, client) = try kind.make(trusting: identity)
        _ = try await transport.get(server.base)
        do { try await body(transport, server) } catch { Issue.record(error) }
        await transport.close()
        try await client?.shutdown()
    }

    private func expectOwnResponses(_ kind: TransportKind, _ transport: any Transport, _ server: SurplusTLSServer)
        async throws
    {
        for method in [HTTPRequest.Method.post, .get, .get] {
            let body = try await kind.body(of: TransportRequest(method: method, url: server.base), over: transport)
            #expect(String(decoding: body, as: UTF8.self) == "own")
        }
    }

    @Test(
        arguments: TransportKind.overHTTP2,
        [[head + "a" + SurplusServer.second], [head, "a" + SurplusServer.second]])
    func `a TLS connection with a second response is not used again`(kind: TransportKind, records: [String])
        async throws
    {
        try await run(kind, records) { transport, server in
            try await expectOwnResponses(kind, transport, server)
            #expect(kind.mayHaveReplacedOne(server.connections))
        }
    }

    @Test(arguments: TransportKind.overHTTP2)
    func `a TLS connection with bytes that come while it is idle is not used again`(kind: TransportKind) async throws {
        try await run(kind, [Self.head + "a"]) { transport, server in
            try await server.send(SurplusServer.second)
            if kind.closesOnSurplus { try await server.waitForEnd() }
            try await expectOwnResponses(kind, transport, server)
            #expect(kind.mayHaveReplacedOne(server.connections))
        }
    }

    /// Its session tickets are no input.
    @Test(arguments: TransportKind.overHTTP2) func `a TLS connection without surplus bytes is used again`(
        kind: TransportKind
    ) async throws {
        try await run(kind, [Self.head + "a"]) { transport, server in
            try await expectOwnResponses(kind, transport, server)
            #expect(server.connections == 1)
        }
    }
}
#endif
