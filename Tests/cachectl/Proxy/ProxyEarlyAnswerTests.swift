import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

#if os(Linux)
/// Only the transport over libcurl waits for a 100, and ends an upload that the server has refused.
@Suite("cachectl proxy passes an answer on before the end of the request's body", .limit(minutes: 5))
struct ProxyEarlyAnswerTests {
    private static let chunked = "Transfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n0\r\n\r\n"

    /// An origin that answers at once, and keeps its connection open.
    private static func origin(_ answer: String) throws -> RawServer {
        try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(answer)
            _ = connection.readRest()
        }
    }

    @Test(
        arguments: ["413 Content Too Large", "401 Unauthorized", "302 Found", "500 Internal Server Error"],
        ["Content-Length: 5\r\n\r\nearly", chunked])
    func `whose rest does not come`(status: String, rest: String) async throws {
        let origin = try Self.origin("HTTP/1.1 \(status)\r\n\(rest)")
        let proxy = try await RunningProxy(origin.base, "--client-timeout", "200s", "--timeout", "200s")
        for framing in ["Content-Length: 5000000\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"] {
            let client = try proxy.client(sending: "POST /a HTTP/1.1\r\nHost: x\r\n\(framing)")
            let text = String(decoding: await client.read(), as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 \(status.prefix(3))") && text.contains("early"), "\(text)")
            #expect(RawAnswer(Array(text.utf8)).values("Connection") == ["close"])
        }
    }

    @Test(arguments: [
        "200 OK\r\nContent-Length: 5\r\n\r\nearly", "200 OK\r\nContent-Length: 0\r\n\r\n", "204 None\r\n\r\n",
    ])
    func `that is a success, and takes the rest of the body afterwards`(answer: String) async throws {
        let bodies = Guarded<[[UInt8]]>([])
        let done = Gate()
        let origin = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 \(answer)")
            guard let body = connection.read(5) else { return }
            bodies.withLock { $0.append(body) }
            done.open()
        }
        let proxy = try await RunningProxy(origin.base, "--client-timeout", "200s", "--timeout", "200s")
        let client = try proxy.client(sending: "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
        let end = answer.hasSuffix("early") ? "early" : "\r\n\r\n"
        #expect(await client.read(through: end).hasPrefix("HTTP/1.1 \(answer.prefix(3))"))
        client.write("cde")
        await done.wait()
        #expect(bodies.withLock { $0 } == [Array("abcde".utf8)])
    }

    @Test func `to a client that reads only after it has sent everything`() async throws {
        let origin = try Self.origin("HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nearly")
        let proxy = try await RunningProxy(origin.base)
        let client = try proxy.client(sending: "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n")
        for _ in 0..<20 { client.write([UInt8](repeating: 0x78, count: 1_000_000)) }
        #expect(RawAnswer(await client.read()).body == "early")
    }

    /// The head of a request whose client waits for a 100.
    private static let expecting =
        "POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"

    @Test func `to a client that waits for 100 Continue`() async throws {
        let origin = try Self.origin("HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nuser")
        let proxy = try await RunningProxy(origin.base)
        let answer = try await proxy.answer(to: Self.expecting)
        #expect(answer.status == 401 && answer.body == "user")
    }

    /// An origin that answers `Expect` by a function, and counts the requests with and without it.
    private static func origin(
        _ heads: Guarded<[String]>, answer: @escaping @Sendable (RawConnection) -> Bool
    ) throws -> RawServer {
        try RawServer { connection in
            while let head = connection.readHead() {
                heads.withLock { $0.append(head) }
                if RawAnswer(Array(head.utf8)).values("Expect") == ["100-continue"] {
                    guard answer(connection) else { return }
                }
                guard let body = connection.read(5) else { return }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
                connection.write(body)
            }
        }
    }

    @Test(arguments: [true, false])
    func `or the origin's 100, for which it waits a second`(isSent: Bool) async throws {
        let heads = Guarded<[String]>([])
        let origin = try Self.origin(heads) { connection in
            if isSent { connection.write("HTTP/1.1 100 Continue\r\n\r\n") }
            return true
        }
        let proxy = try await RunningProxy(origin.base)
        let client = try proxy.client(sending: Self.expecting)
        #expect(await client.read(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        // The origin has the head, and nothing of the body, before the client sends it.
        #expect(heads.withLock { $0.map { $0.contains("Expect: 100-continue\r\n") } } == [true])
        client.write("hello")
        #expect(RawAnswer(await client.read()).body == "hello")
    }

    @Test func `such as 417, after which Expect is not forwarded to the same path`() async throws {
        let heads = Guarded<[String]>([])
        let origin = try Self.origin(heads) { connection in
            connection.write("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno")
            return false
        }
        let proxy = try await RunningProxy(origin.base)
        #expect(try await proxy.answer(to: Self.expecting).status == 417)
        for _ in 1...2 {
            let client = try proxy.client(sending: Self.expecting)
            #expect(await client.read(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            client.write("hello")
            #expect(RawAnswer(await client.read()).body == "hello")
        }
        let other = Self.expecting.replacing("/a", with: "/b")
        #expect(other != Self.expecting)
        #expect(try await proxy.answer(to: other).status == 417)
        #expect(heads.withLock { $0.map { $0.contains("Expect:") } } == [true, false, false, true])
    }
}
#endif
