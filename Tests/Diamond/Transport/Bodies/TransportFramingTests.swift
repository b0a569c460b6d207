import Diamond
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("The fields of a response that a transport mends", .limit(minutes: 5)) struct TransportFramingTests {
    @Test(
        arguments: TransportKind.allCases,
        [
            "Content-Length: 50\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 50",
            "transfer-encoding: Chunked\r\nCONTENT-LENGTH: 1", "Content-Length: 2\r\nTransfer-Encoding: chunked",
            "Content-Length: 50\r\nContent-Length: 2\r\nTransfer-Encoding: chunked",
            "Content-Length: 50\r\nTransfer-Encoding:\r\nTransfer-Encoding: chunked",
        ])
    func `a length next to chunks is removed, because they override it`(
        kind: TransportKind, fields: String
    ) async throws {
        let rest = "200 OK\r\n\(fields)\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"
        let servers = try ["1.1", "1.0"].map { try RawServer(answering: "HTTP/\($0) \(rest)") }
        try await kind.run { transport, _ in
            for server in servers {
                try await kind.withShortcoming(.lengthWithChunks) {
                    let (head, body) = try await transport.get(server.base)
                    #expect(String(decoding: body, as: UTF8.self) == "hi")
                    #expect(!head.headers.contains(.contentLength))
                }
            }
        }
    }

    @Test(
        arguments: TransportKind.allCases,
        [
            ("204 No Content", .get, nil), ("304 Not Modified", .get, "50"), ("200 OK", .head, "50"),
        ] as [(String, HTTPRequest.Method, String?)])
    func `a length without a body is kept where it describes the representation`(
        kind: TransportKind, response: (status: String, method: HTTPRequest.Method, length: String?)
    ) async throws {
        let server = try RawServer(answering: "HTTP/1.1 \(response.status)\r\nContent-Length: 50\r\n\r\n")
        try await kind.run { transport, _ in
            let request = TransportRequest(method: response.method, url: server.base)
            let (head, body) = try await transport.exchange(request)
            #expect(body.isEmpty && head.headers[.contentLength] == response.length)
        }
    }

    @Test(
        arguments: TransportKind.allCases,
        [
            "Cache-Control : no-store", "Cache-Control\t: no-store", "Cache-Control \t : no-store",
            "cache-control  :no-store",
        ])
    func `a blank before the colon is removed, and the field counts`(kind: TransportKind, field: String) async throws {
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\n\(field)\r\nContent-Length: 2\r\n\r\nhi")
        try await kind.run { transport, _ in
            try await kind.withShortcoming(.blankBeforeColon) {
                let (head, body) = try await transport.get(server.base)
                #expect(head.headers[.cacheControl] == "no-store")
                #expect(head.headers[.cacheControl].map { _ in head.headers.map(\.name.rawName.count).max() } == 14)
                #expect(String(decoding: body, as: UTF8.self) == "hi")
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a value on a folded line alone is the value`(kind: TransportKind) async throws {
        let server = try RawServer(
            answering: "HTTP/1.1 200 OK\r\nCache-Control:\r\n no-store\r\nContent-Length: 0\r\n\r\n")
        try await kind.run { transport, _ in
            try await kind.withShortcoming(.foldedLines) {
                let head = try await transport.get(server.base).head
                #expect(head.headers[.cacheControl] == "no-store")
            }
        }
    }

    @Test(
        arguments: TransportKind.allCases,
        [
            "Cache Control: no-store", "Cache-Control(: no-store", ": no-store", "no-store", "Cache-Contröl: no-store",
            "A: b\r\nHTTP/1.1 200 OK", "Cache-Control/: no-store", " Cache-Control: no-store",
        ])
    func `a line that is no field is an error, and is not dropped`(kind: TransportKind, line: String) async throws {
        let head = "HTTP/1.1 200 OK\r\n\(line)\r\nCache-Control: max-age=600\r\nContent-Length: 2\r\n\r\nhi"
        let server = try RawServer(answering: head)
        try await kind.run { transport, _ in
            let error = await transport.failure(of: TransportRequest(url: server.base))
            #expect(error != nil)
            kind.withShortcoming(.unseenLines) { #expect(error?.code == .badResponse) }
        }
    }

    @Test(arguments: TransportKind.allCases) func `chunks may have extensions`(kind: TransportKind) async throws {
        let chunks = (0..<1000).map { _ in "1;name=\"a longer value\"\r\na\r\n" }.joined()
        let fields = "Transfer-Encoding: chunked"
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n\(chunks)0\r\n\r\n")
        try await kind.run { transport, _ in
            let body = try await transport.get(server.base).body
            #expect(body.count == 1000)
        }
    }

    @Test(
        arguments: TransportKind.allCases,
        [("1;", String(repeating: "x", count: 65_536)), ("", "1;\(String(repeating: "x", count: 1000))\r\na\r\n")])
    func `chunks with endless extensions are an error`(
        kind: TransportKind, chunks: (beginning: String, rest: String)
    ) async throws {
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks.beginning)")
            while connection.write(chunks.rest) {}
        }
        try await kind.run { transport, _ in
            await kind.withShortcoming(.endlessExtensions, isHanging: true) {
                let error = await transport.failure(of: TransportRequest(url: server.base))
                #expect(error?.code == .badResponse && error?.serverMayHaveActed == true)
                #expect(error?.message.contains("extensions") == true)
            }
        }
    }
}
