#if AsyncHTTPClient
import AsyncHTTPClient
import Diamond
import DiamondTestSupport
import Foundation
import NIOSSL

extension TransportKind {
    /// The transports that can be configured to trust a test's certificate.
    static let overHTTP2 = allCases.filter { $0 != .urlSession }

    /// The bytes that a server may send on a stream before any are read.
    var window: Int { self == .httpClient ? 8 << 20 : 32 << 20 }

    /// Runs `body` with a transport of its own and a server of its own, and closes the transport.
    func runOverHTTP2(
        _ script: @escaping HTTP2Server.Script,
        _ body: (any Transport, HTTP2Server) async throws -> Void
    ) async throws {
        let identity = try await TLSServer.Identity()
        // Its file is read with the first connection.
        defer { withExtendedLifetime(identity) {} }
        let server = try await HTTP2Server(identity, script)
        let (transport, client) = try make(trusting: identity)
        let result = await Result { try await body(transport, server) }
        await transport.close()
        try await client?.shutdown()
        try result.get()
    }

    func make(trusting identity: TLSServer.Identity) throws -> (any Transport, HTTPClient?) {
        #if Curl && os(Linux)
        if self == .curl {
            var settings = TransportSettings()
            settings.tls.roots = .only(identity.certificate)
            return (try CurlTransport(settings), nil)
        }
        #endif
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(identity.certificate.path)
        let client = HTTPClient(configuration: .init(tlsConfiguration: tls, redirectConfiguration: .disallow))
        return (HTTPClientTransport(client), client)
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
#endif
