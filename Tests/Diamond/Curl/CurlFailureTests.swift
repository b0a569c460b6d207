#if Curl && os(Linux)
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `A failure of libcurl` {
    /// `printf hello | gzip -n | base64`.
    private static let hello = "H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA=="

    /// libcurl calls them a write error, as it does what a callback refuses.
    @Test func `over bytes behind a coded body is the server's, and no cancellation`() async throws {
        let body = [UInt8](try #require(Data(base64Encoded: Self.hello))) + [UInt8](repeating: 0x58, count: 20)
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n"
            connection.write(Array(head.utf8) + body)
        }
        let transport = CurlTransport()
        let error = await transport.failure(of: TransportRequest(url: server.base))
        #expect(error?.code == .badResponse && error?.requestMayHaveBeenSent == true)
        await transport.close()
    }
}
#endif
