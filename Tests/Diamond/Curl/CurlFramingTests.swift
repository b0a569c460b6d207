#if Curl && os(Linux)
import Diamond
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("The framing of a body from libcurl", .limit(minutes: 5)) struct CurlFramingTests {
    private func transport(_ body: (any Transport) async throws -> Void) async throws {
        try await TransportKind.curl.run { transport, _ in try await body(transport) }
    }

    @Test(arguments: [
        "Content-Length: 10\r\nContent-Length: 3", "Content-Length: 3, 10", "Content-Length: 99999999999999999999",
        "Transfer-Encoding: identity\r\nContent-Length: 3", "Content-Length : 3", "Transfer-Encoding : chunked",
        "Transfer-Encoding:\r\n chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    ]) func `the framing is invalid if the head contradicts itself`(fields: String) async throws {
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nabc")
        try await transport { transport in
            let error = await transport.failure(of: TransportRequest(url: server.base))
            #expect(error?.code == .badResponse && error?.serverMayHaveActed == true)
            #expect(error?.message.contains("contradicts itself") == true)
        }
    }

    @Test(arguments: ["Content-Length: 3, 3", "Content-Length: 3\r\nContent-Length: 3", "A: b"])
    func `the framing is valid if Content-Length is absent or repeated with one value`(fields: String) async throws {
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nabc")
        try await transport { transport in
            let body = try await transport.get(server.base).body
            #expect(String(decoding: body, as: UTF8.self) == "abc")
        }
    }

    @Test func `the framing of a body ignores interim responses`() async throws {
        let interim = String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", count: 20_000)
        let server = try RawServer(answering: "\(interim)HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        try await transport { transport in
            let error = await transport.failure(of: TransportRequest(url: server.base))
            #expect(error?.code == .badResponse && error?.message.contains("256 KiB") == true)
        }
    }

    @Test(arguments: [("200 OK", .head), ("304 Not Modified", .get)] as [(String, HTTPRequest.Method)])
    func `the framing is irrelevant where there is no body`(status: String, method: HTTPRequest.Method) async throws {
        let fields = "Content-Length: 10\r\nContent-Length: 3"
        let server = try RawServer(answering: "HTTP/1.1 \(status)\r\n\(fields)\r\n\r\n")
        try await transport { transport in
            let (head, body) = try await transport.exchange(TransportRequest(method: method, url: server.base))
            #expect(status.hasPrefix("\(head.status.code)") && body.isEmpty)
        }
    }
}
#endif
