#if AsyncHTTPClient
import AsyncHTTPClient
import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTPCompression
import Testing

@testable import Diamond

@Suite("A transport over its own HTTPClient", .limit(minutes: 5)) struct OwnHTTPClientTests {
    @Test(arguments: [(HTTPRequest.Method.head, "200 OK"), (.head, "304 Not Modified"), (.get, "304 Not Modified")])
    func `accepts a coding field of a response without a body`(
        method: HTTPRequest.Method, status: String
    ) async throws {
        let server = try RawServer(
            answering: "HTTP/1.1 \(status)\r\nContent-Encoding: gzip\r\nContent-Length: 100\r\n\r\n")
        let transport = HTTPClientTransport()
        let (head, body) = try await transport.exchange(TransportRequest(method: method, url: server.base))
        #expect(head.headers[.contentEncoding] == nil)
        #expect(body.isEmpty)
        await transport.close()
    }

    @Test func `reports a TLS failure as unsent`() async throws {
        let server = try RawServer { connection in connection.write("HTTP/1.1 400 Bad Request\r\n\r\n") }
        let transport = HTTPClientTransport()
        let url = server.base.replacing("http://", with: "https://")
        let error = await transport.failure(of: TransportRequest(url: url))
        #expect(error?.code == .tlsFailed)
        #expect(error?.serverMayHaveActed == false)
        await transport.close()
    }

    @Test func `repeats a request at most once`() async throws {
        let count = Guarded(0)
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            count.withLock { $0 += 1 }
        }
        let transport = HTTPClientTransport()
        let error = await transport.failure(of: TransportRequest(url: server.base))
        #expect(error?.code == .connectionLost)
        #expect(count.withLock { $0 } == 2)
        await transport.close()
    }

    @Test(arguments: [true, false])
    func `closes its connections when it ends`(isClosed: Bool) async throws {
        let hasEnded = Gate()
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            _ = connection.readRest()
            hasEnded.open()
        }
        var transport: HTTPClientTransport? = HTTPClientTransport()
        _ = try await transport?.get(server.base)
        if isClosed { await transport?.close() }
        transport = nil
        await hasEnded.wait()
    }

    #if os(Linux)
    @Test(arguments: [true, false])
    func `stops its thread when it ends`(isClosed: Bool) async throws {
        var transport: HTTPClientTransport? = HTTPClientTransport()
        let loop = try #require(transport?.owner.loop())
        let name = try #require(try await loop.submit { ProcessUsage.threadName }.get())
        #expect(ProcessUsage.threads(named: name).count == 1)
        if isClosed { await transport?.close() }
        transport = nil
        await untilTrue { ProcessUsage.threads(named: name).isEmpty }
    }
    #endif
}
#endif
