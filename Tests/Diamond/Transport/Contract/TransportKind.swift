import Diamond
import DiamondTestSupport
import Testing

/// The transports that fulfill one contract, each with the same tests.
enum TransportKind: String, CaseIterable, CustomTestStringConvertible {
    #if Curl && os(Linux)
    case curl
    #endif
    #if AsyncHTTPClient
    case httpClient
    #endif
    case urlSession

    var testDescription: String { rawValue }

    func make() -> any Transport {
        switch self {
        #if Curl && os(Linux)
        case .curl: CurlTransport()
        #endif
        #if AsyncHTTPClient
        case .httpClient: HTTPClientTransport()
        #endif
        case .urlSession: URLSessionTransport()
        }
    }

    /// Runs `body` with a transport of its own and the sample API, and closes the transport.
    func run(_ body: (any Transport, SampleServer) async throws -> Void) async throws {
        let server = try await SampleServer.shared
        let transport = make()
        do {
            try await body(transport, server)
        } catch {
            await transport.close()
            throw error
        }
        await transport.close()
    }
}
