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

#if Curl && os(Linux)
@Suite("The decoder of a coded body") struct BodyDecoderTests {
    private let url = "http://h/"

    private func decoder(_ coding: String) throws -> ContentDecoder {
        try #require(ContentDecoder([.contentEncoding: coding], of: TransportRequest(url: url)))
    }

    /// Decodes bytes in pieces of a size.
    private func decode(_ bytes: some Collection<UInt8>, by size: Int, with decoder: ContentDecoder) throws -> String? {
        let pipe = BodyPipe()
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            _ = try rest.prefix(size).withUnsafeBytes { try decoder.decode($0, into: pipe) }
            rest = rest.dropFirst(size)
        }
        pipe.finish(nil)
        return pipe.arrivedBody(upTo: .max).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: CodedBody.all, [1, 2, 3, 1000])
    func `the decoder detects every truncation, and the end`(coded: CodedBody, size: Int) throws {
        for count in 0...coded.bytes.count {
            let decoder = try decoder(coded.coding)
            let text = try decode(coded.bytes.prefix(count), by: size, with: decoder)
            let isEnd = count == coded.bytes.count || coded.otherEnds.contains(count) || coded.isPadding(count)
            #expect((decoder.endFailure == nil) == isEnd, "\(count) bytes")
            if count == coded.bytes.count { #expect(text == coded.text) }
        }
    }

    @Test(arguments: CodedBody.broken, [1, 1000])
    func `the decoder detects damage`(coded: CodedBody, size: Int) throws {
        let error = #expect(throws: TransportError.self) {
            let decoder = try decoder(coded.coding)
            _ = try decode(coded.bytes, by: size, with: decoder)
            if let failure = decoder.endFailure { throw failure }
        }
        #expect(error?.code == .badResponse && error?.message.hasPrefix("http://h: ") == true)
    }
}

extension CodedBody {
    /// Whether only zeros separate an end of a member from this offset.
    fileprivate func isPadding(_ count: Int) -> Bool {
        guard note == "with padding" else { return false }
        return otherEnds.contains { $0 > 0 && $0 < count && bytes[$0..<count].allSatisfy { $0 == 0 } }
    }
}
#endif
