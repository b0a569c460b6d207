import Diamond
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("The body of a response", .limit(minutes: 5)) struct TransportBodyTests {
    @Test(arguments: TransportKind.allCases, ["", "?chunked=1"])
    func `a response body has exactly the bytes sent`(kind: TransportKind, query: String) async throws {
        try await kind.run { transport, server in
            for count in [0, 1, 1024, 65_537, 3_000_001] {
                let (head, body) = try await transport.get(server.url("wire/bytes/\(count)\(query)"))
                #expect(body == Pattern.bytes(count: count))
                #expect(head.headers[.contentLength] == (query.isEmpty ? "\(count)" : nil))
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response body is available in pieces before its end`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let response = try await transport.send(TransportRequest(url: server.url("wire/hang-body")))
            var pieces = response.body.makeAsyncIterator()
            #expect(try await pieces.next() == Pattern.bytes(count: 10))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `the body of a 206 response is the requested range`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let request = TransportRequest(url: server.url("wire/bytes/1000"), headers: [.range: "bytes=300-309"])
            let (head, body) = try await transport.exchange(request)
            #expect(head.status == .partialContent)
            #expect(body == Pattern.bytes(from: 300, count: 10))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response to HEAD has no body, whatever its head says`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let request = TransportRequest(method: .head, url: server.url("wire/bytes/1000"))
            let (head, body) = try await transport.exchange(request)
            #expect(head.headers[.contentLength] == "1000")
            #expect(body.isEmpty)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a 304 response has no body, whatever its head says`(kind: TransportKind) async throws {
        let server = try RawServer(answering: "HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n")
        try await kind.run { transport, _ in
            let (head, body) = try await transport.get(server.base)
            #expect(head.status == .notModified)
            #expect(body.isEmpty)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response body is decoded, and its head has neither Content-Encoding nor Content-Length`(kind: TransportKind)
        async throws
    {
        try await kind.run { transport, server in
            let (head, body) = try await transport.get(server.url("wire/gzip"))
            #expect(
                String(decoding: body, as: UTF8.self) == #"{"words":["fair","fair","fair","and","fair","fair","fair"]}"#
            )
            #expect(head.headers[.contentEncoding] == nil)
            kind.withShortcoming(.refusedCoding) { #expect(head.headers[.contentLength] == nil) }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response body stays coded when the request names its codings itself`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let request = TransportRequest(url: server.url("wire/gzip"), headers: [.acceptEncoding: "gzip"])
            try await kind.withShortcoming(.refusedCoding) {
                let (head, body) = try await transport.exchange(request)
                kind.withShortcoming(.codedBody) {
                    #expect(body.starts(with: [0x1f, 0x8b]))
                    #expect(head.headers[.contentEncoding] == "gzip")
                    #expect(head.headers[.contentLength] == "\(body.count)")
                }
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response body that is cut short is an error`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let request = TransportRequest(url: server.url("wire/truncated?send=10&declare=100"))
            let response = try await transport.send(request)
            var received = Data()
            await #expect {
                for try await piece in response.body { received += piece }
            } throws: { ($0 as? TransportError)?.code == .truncatedBody }
            #expect(received == Pattern.bytes(count: 10))
        }
    }

    @Test(
        arguments: TransportKind.allCases,
        [
            ("zz\r\n\r\n", TransportError.Code.badResponse, Shortcoming.unseenChunks),
            ("", .truncatedBody, .truncatedChunks),
        ])
    func `a response body with an invalid chunk, or without its last chunk, is an error`(
        kind: TransportKind, end: (chunks: String, code: TransportError.Code, shortcoming: Shortcoming)
    ) async throws {
        let server = try RawServer(
            answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n" + end.chunks)
        try await kind.run { transport, _ in
            let error = await transport.failure(of: TransportRequest(url: server.base))
            kind.withShortcoming(end.shortcoming) { #expect(error?.code == end.code) }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response body of a reset connection is an error`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let error = await transport.failure(of: TransportRequest(url: server.url("wire/reset?after=10")))
            kind.withShortcoming(.resetBody) { #expect(error?.code == .connectionLost) }
            #expect(error?.serverMayHaveActed == true)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response body that is released unread ends its exchange at the server`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            _ = try await transport.send(TransportRequest(url: server.url("wire/hang-body")))
            while try await transport.openExchanges(server.base) > 0 {}
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response body that is too large is refused, and its exchange ends at the server`(kind: TransportKind)
        async throws
    {
        try await kind.run { transport, server in
            let response = try await transport.send(TransportRequest(url: server.url("wire/hang-body")))
            await #expect {
                try await response.body.collect(limit: 9)
            } throws: { ($0 as? TransportError)?.code == .bodyTooLarge }
            while try await transport.openExchanges(server.base) > 0 {}
        }
    }
}
