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

@Suite("A transport over the app's HTTPClient", .limit(minutes: 5)) struct HTTPClientTransportTests {
    private static func run(
        redirects: HTTPClient.Configuration.RedirectConfiguration = .disallow,
        decompression: HTTPClient.Decompression = .disabled,
        _ body: (HTTPClient, SampleServer) async throws -> Void
    ) async throws {
        let configuration = HTTPClient.Configuration(redirectConfiguration: redirects, decompression: decompression)
        let client = HTTPClient(configuration: configuration)
        do {
            try await body(client, try await SampleServer.shared)
        } catch {
            try? await client.shutdown().get()
            throw error
        }
        try await client.shutdown().get()
    }

    @Test(.enabled(if: TLSServer.executable != nil))
    func `reports an untrusted certificate`() async throws {
        let server = try await TLSServer(TLSServer.Identity())
        try await Self.run { client, _ in
            let transport = HTTPClientTransport(client)
            let error = await #expect(throws: TransportError.self) { _ = try await transport.get(server.url) }
            #expect(error?.code == .certificateRejected && error?.serverMayHaveActed == false)
            await transport.close()
        }
    }

    @Test func `does not shut the client down when it is closed`() async throws {
        try await Self.run { client, server in
            for _ in 0..<2 {
                let transport = HTTPClientTransport(client)
                let head = try await transport.get(server.url("wire/status/204")).head
                #expect(head.status == .noContent)
                await transport.close()
            }
        }
    }

    @Test func `asks for no coding if the client decodes nothing`() async throws {
        try await Self.run { client, server in
            let transport = HTTPClientTransport(client)
            let echo = try Echo(try await transport.get(server.url("wire/echo")).body)
            #expect(echo.fields == [])
            let request = TransportRequest(url: server.url("wire/gzip"), headers: [.acceptEncoding: "gzip"])
            let (head, body) = try await transport.exchange(request)
            #expect(head.headers[.contentEncoding] == "gzip")
            #expect(body.starts(with: [0x1f, 0x8b]))
        }
    }

    @Test(arguments: [[:], [.acceptEncoding: "gzip"]] as [HTTPFields])
    func `removes the coding fields of a decoded body`(headers: HTTPFields)
        async throws
    {
        try await Self.run(decompression: .enabled(limit: .none)) { client, server in
            let transport = HTTPClientTransport(client, decompresses: true)
            let request = TransportRequest(url: server.url("wire/gzip"), headers: headers)
            let (head, body) = try await transport.exchange(request)
            #expect(head.headers[.contentEncoding] == nil)
            #expect(head.headers[.contentLength] == nil)
            #expect(body.starts(with: Data(#"{"words":"#.utf8)))
        }
    }

    /// A short and a long body of the redirect: async-http-client reads a short body before it follows the redirect.
    @Test(arguments: [0, 10_000])
    func `requires a client that follows no redirects`(length: Int) async throws {
        let isFollowed = Guarded(false)
        let target = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            isFollowed.withLock { $0 = true }
        }
        let head = "HTTP/1.1 302 Found\r\nLocation: \(target.base)\r\nContent-Length: \(length)\r\n\r\n"
        let server = try RawServer(answering: head + String(repeating: "a", count: length))
        try await Self.run(redirects: .follow(max: 5, allowCycles: false)) { client, _ in
            let error = await HTTPClientTransport(client).failure(of: TransportRequest(url: server.base))
            #expect(error?.code == .other)
            #expect(error?.message.contains(".disallow") == true)
            #expect(error?.serverMayHaveActed == true)
        }
        #expect(isFollowed.withLock { $0 } == false)
    }

    @Test func `reports that the client was shut down`() async throws {
        let client = HTTPClient()
        try await client.shutdown().get()
        let error = await HTTPClientTransport(client).failure(of: TransportRequest(url: "http://127.0.0.1/"))
        #expect(error?.code == .closed)
        #expect(error?.serverMayHaveActed == false)
    }

    @Test func `obeys the timeouts`() async throws {
        let server = try RawServer { connection in _ = connection.readRest() }
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.read = .milliseconds(50)
        let client = HTTPClient(configuration: configuration)
        let error = await HTTPClientTransport(client).failure(of: TransportRequest(url: server.base))
        #expect(error?.code == .timedOut)
        #expect(error?.serverMayHaveActed == true)
        try await client.shutdown().get()
    }
}
#endif
