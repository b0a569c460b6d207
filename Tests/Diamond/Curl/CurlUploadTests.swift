#if Curl && os(Linux)
import Diamond
import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("An upload over libcurl that the server refuses", .limit(minutes: 5)) struct CurlUploadTests {
    /// A stream that ends only when it is canceled, after a first piece.
    private static func endlessStream(onRead: @escaping @Sendable () -> Void = {}) -> TransportBody {
        .stream(length: 5_000_000) {
            let isFirst = Guarded(true)
            return AsyncThrowingStream<Data, any Error> {
                onRead()
                let isPiece = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                guard !isPiece else { return Data("piece".utf8) }
                try await Task.sleep(for: .seconds(1_000_000))
                return nil
            }
        }
    }

    /// A server that answers at once, and then waits until the client closes the connection.
    private static func server(_ answer: String, onHead: @escaping @Sendable (String) -> Void = { _ in }) throws
        -> RawServer
    {
        try RawServer { connection in
            guard let head = connection.readHead() else { return }
            onHead(head)
            connection.write(answer)
            _ = connection.readRest()
        }
    }

    @Test(
        arguments: ["413 Content Too Large", "401 Unauthorized", "303 See Other", "500 Internal Server Error"],
        ["Content-Length: 5\r\n\r\nearly", "Transfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n0\r\n\r\n"])
    func `ends with the whole response, although the stream brings no more`(status: String, rest: String) async throws {
        let server = try Self.server("HTTP/1.1 \(status)\r\n\(rest)")
        try await TransportKind.curl.run { transport, _ in
            let request = TransportRequest(method: .post, url: server.base, body: Self.endlessStream())
            let (head, body) = try await transport.exchange(request)
            #expect(status.hasPrefix("\(head.status.code)") && String(decoding: body, as: UTF8.self) == "early")
        }
    }

    @Test func `is not read if it waits for 100 Continue`() async throws {
        let server = try Self.server("HTTP/1.1 401 Unauthorized\r\nContent-Length: 5\r\n\r\nearly")
        let reads = Guarded(0)
        try await TransportKind.curl.run { transport, _ in
            let stream = Self.endlessStream { reads.withLock { $0 += 1 } }
            let request = TransportRequest(
                method: .post, url: server.base, headers: [.expect: "100-continue"], body: stream)
            let (head, body) = try await transport.exchange(request)
            #expect(head.status.code == 401 && String(decoding: body, as: UTF8.self) == "early")
        }
        #expect(reads.withLock { $0 } == 0)
    }

    @Test func `is not repeated after 417`() async throws {
        let heads = Guarded<[String]>([])
        let server = try Self.server("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno") { head in
            heads.withLock { $0.append(head) }
        }
        try await TransportKind.curl.run { transport, _ in
            let request = TransportRequest(
                method: .put, url: server.base, headers: [.expect: "100-continue"], body: .bytes(Data("body".utf8)))
            let (head, body) = try await transport.exchange(request)
            #expect(head.status.code == 417 && head.headers[.contentLength] == "0" && body.isEmpty)
        }
        #expect(heads.withLock { $0.count } == 1)
    }
}
#endif
