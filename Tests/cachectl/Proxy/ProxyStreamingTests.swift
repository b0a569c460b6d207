import DiamondTestSupport
import Foundation
import Testing

@Suite("cachectl proxy streams", .limit(minutes: 10)) struct ProxyStreamingTests {
    @Test func `the pieces of a body as they arrive`() async throws {
        let next = DispatchSemaphore(value: 0)
        let origin = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            next.wait()
            connection.write("4\r\nlast\r\n0\r\n\r\n")
        }
        let proxy = try await RunningProxy(origin.base)
        let client = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(await client.read(through: "first").hasSuffix("5\r\nfirst"))
        next.signal()
        #expect(String(decoding: await client.read(), as: UTF8.self).hasSuffix("4\r\nlast\r\n0\r\n\r\n"))
    }

    @Test func `a body without chunks to a client of HTTP 1.0`() async throws {
        let origin = try RawServer(
            answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
        let proxy = try await RunningProxy(origin.base)
        let answer = try await proxy.answer(to: "GET /a HTTP/1.0\r\n\r\n")
        #expect(answer.body == "hi" && answer.values("Transfer-Encoding").isEmpty)
    }

    #if os(Linux)
    private static let size = 256 << 20

    /// An origin that sends a large body, and reads one.
    private static func origin() throws -> RawServer {
        try RawServer { connection in
            let piece = [UInt8](repeating: 0x78, count: 1 << 20)
            while let head = connection.readHead() {
                if head.hasPrefix("PUT") {
                    for _ in 0..<(size >> 20) { guard connection.read(1 << 20) != nil else { return } }
                    connection.write("HTTP/1.1 204 No Content\r\n\r\n")
                } else {
                    connection.write("HTTP/1.1 200 OK\r\nCache-Control: max-age=900\r\nContent-Length: \(size)\r\n\r\n")
                    for _ in 0..<(size >> 20) { guard connection.write(piece) else { return } }
                }
            }
        }
    }

    @Test(arguments: [false, true])
    func `a large response at flat memory, stored or not`(isStored: Bool) async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base, "--capacity", isStored ? "2GiB" : "64MiB")
        for _ in 1...2 {
            let client = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let head = await client.read(through: "\r\n\r\n")
            #expect(await client.count() == Self.size, "\(head)")
        }
        #expect(proxy.greatestMemory < 160 << 20)
        proxy.signal(SIGTERM)
        let sources = await proxy.ended().log.map { $0.split(separator: " ")[6] }
        #expect(sources == ["network", isStored ? "cache" : "network"])
    }

    /// Together, the clients request 6 GB.
    @Test func `a large hit to many clients that do not read it, at bounded memory`() async throws {
        let body = String(repeating: "0123456789", count: 2_000_000)
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response("200 OK", "Cache-Control: max-age=3600", body: body)
        }
        // On a busy machine, the first client begins to read after more than the usual 30 seconds.
        let proxy = try await RunningProxy(origin.base, "--client-timeout", "10m")
        #expect(try await proxy.send("GET /a").body.utf8.count == body.utf8.count)
        let request = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        let clients = try (0..<300).map { _ in try proxy.client(sending: request) }
        // Another client, and then one of these, get all of it.
        let other = try await proxy.send("GET /a")
        #expect(other.isHit && other.body == body)
        #expect(RawAnswer(await clients[0].read()).body == body)
        #expect(proxy.greatestMemory < 220 << 20)
        withExtendedLifetime(clients) {}
    }

    @Test func `a large request at flat memory`() async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        let client = try proxy.client(
            sending: "PUT /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: \(Self.size)\r\n\r\n")
        let piece = [UInt8](repeating: 0x78, count: 1 << 20)
        Thread.detachNewThread { for _ in 0..<(Self.size >> 20) { client.write(piece) } }
        #expect(RawAnswer(await client.read()).status == 204)
        #expect(proxy.greatestMemory < 160 << 20)
    }
    #endif
}
