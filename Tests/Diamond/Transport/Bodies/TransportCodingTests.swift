import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A coded body", .limit(minutes: 5)) struct TransportCodingTests {
    @Test(arguments: TransportKind.allCases, CodedBody.all)
    func `is decoded in every framing`(kind: TransportKind, coded: CodedBody) async throws {
        for framing in CodedBody.Framing.allCases {
            let server = try coded.server(framing)
            try await kind.run { transport, _ in
                try await kind.withShortcoming(.refusedCoding) {
                    let (head, body) = try await transport.get(server.base)
                    #expect(String(decoding: body, as: UTF8.self) == coded.text)
                    #expect(head.headers[.contentEncoding] == nil && head.headers[.contentLength] == nil)
                }
            }
        }
    }

    #if os(Linux)
    @Test(arguments: TransportKind.allCases)
    func `is requested only where its end can be detected`(kind: TransportKind) async throws {
        let asked = Guarded<String?>(nil)
        let server = try RawServer { connection in
            guard let head = connection.readHead() else { return }
            asked.withLock { $0 = head.lowercased() }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        try await kind.run { transport, _ in _ = try await transport.get(server.base) }
        let lines = asked.withLock { $0 ?? "" }.split(whereSeparator: \.isNewline).map(String.init)
        let codings = kind == .urlSession ? "identity" : "gzip, deflate"
        #expect(lines.filter { $0.hasPrefix("accept-encoding:") } == ["accept-encoding: \(codings)"])
    }
    #endif

    @Test(arguments: TransportKind.allCases, CodedBody.all)
    func `a truncated coded body is an error in every framing`(kind: TransportKind, coded: CodedBody) async throws {
        for framing in CodedBody.Framing.allCases {
            for count in [1, coded.bytes.count / 3] where !coded.otherEnds.contains(count) {
                let server = try coded.server(framing, first: count)
                try await kind.run { transport, _ in
                    let error = await transport.failure(of: TransportRequest(url: server.base))
                    #expect(error?.serverMayHaveActed == true)
                    kind.withShortcoming(.refusedCoding) {
                        #expect(error?.code == .truncatedBody && error?.message.contains(coded.coding) == true)
                    }
                }
            }
        }
    }

    @Test(arguments: TransportKind.allCases, CodedBody.broken)
    func `a damaged coded body is an error`(kind: TransportKind, coded: CodedBody) async throws {
        for framing in CodedBody.Framing.allCases {
            let server = try coded.server(framing)
            try await kind.run { transport, _ in
                let error = await transport.failure(of: TransportRequest(url: server.base))
                #expect(error?.code == .badResponse && error?.serverMayHaveActed == true)
                #expect(error?.message.contains(coded.coding) == true)
            }
        }
    }

    @Test(
        arguments: TransportKind.allCases,
        ["utf-8", "none", "binary", "", "identity", "gzip, utf-8", "br", "gzip,gzip,gzip,gzip,gzip,gzip"])
    func `a body with an unknown coding is delivered unchanged`(kind: TransportKind, coding: String) async throws {
        let fields = "Content-Encoding: \(coding)\r\nContent-Length: 2"
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n{}")
        try await kind.run { transport, _ in
            let isPlain = ["", "none", "identity"].contains(coding)
            try await kind.withShortcoming(.refusedCoding, if: !isPlain) {
                let (head, body) = try await transport.get(server.base)
                #expect(String(decoding: body, as: UTF8.self) == "{}")
                #expect(head.headers[.contentEncoding] == coding && head.headers[.contentLength] == "2")
            }
        }
    }

    @Test(
        arguments: TransportKind.allCases,
        [(.get, "200 OK", "0"), (.head, "200 OK", "9"), (.get, "304 Not Modified", "9"), (.get, "204 No Content", "")]
            as [(HTTPRequest.Method, String, String)])
    func `may be empty`(
        kind: TransportKind, answer: (method: HTTPRequest.Method, status: String, length: String)
    )
        async throws
    {
        let length = answer.length.isEmpty ? "" : "Content-Length: \(answer.length)\r\n"
        let server = try RawServer(
            answering: "HTTP/1.1 \(answer.status)\r\nContent-Encoding: gzip\r\n\(length)\r\n")
        try await kind.run { transport, _ in
            let request = TransportRequest(method: answer.method, url: server.base)
            let (head, body) = try await transport.exchange(request)
            #expect(answer.status.hasPrefix("\(head.status.code)") && body.isEmpty)
            #expect(head.headers[.contentEncoding] == nil)
        }
    }

    @Test(arguments: TransportKind.allCases, ["gzip, chunked", "gzip", "br, chunked"])
    func `a body with an unrequested transfer coding is refused`(
        kind: TransportKind, coding: String
    ) async throws {
        let body = coding.hasSuffix("chunked") ? "2\r\n{}\r\n0\r\n\r\n" : "{}"
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n\(body)")
        try await kind.run { transport, _ in
            let error = await transport.failure(of: TransportRequest(url: server.base))
            #expect(error?.code == .badResponse && error?.serverMayHaveActed == true)
        }
    }
}
