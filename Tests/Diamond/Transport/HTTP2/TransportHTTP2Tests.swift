#if AsyncHTTPClient
import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An exchange over HTTP/2", .limit(minutes: 5), .enabled(if: TLSServer.executable != nil))
struct TransportHTTP2Tests {
    @Test(arguments: TransportKind.overHTTP2)
    func `an HTTP/2 exchange shares its connection with many others`(kind: TransportKind) async throws {
        let waiting = Guarded<[HTTP2Exchange]>([])
        try await kind.runOverHTTP2 { exchange in
            guard exchange.path != "/first" else { return exchange.answer("first") }
            // No request is answered before all are there, and the last is answered first.
            let all = waiting.withLock { waiting in
                waiting.append(exchange)
                return waiting.count == 50 ? waiting : []
            }
            for exchange in all.reversed() { exchange.answer(exchange.path) }
        } _: { transport, server in
            // async-http-client learns from the first one which protocols the server supports.
            _ = try await transport.get("\(server.base)/first")
            try await withThrowingTaskGroup { group in
                for index in 0..<50 {
                    group.addTask {
                        let body = try await transport.get("\(server.base)/\(index)").body
                        #expect(String(decoding: body, as: UTF8.self) == "/\(index)")
                    }
                }
                try await group.waitForAll()
            }
            #expect(server.connections == 1)
        }
    }

    @Test(arguments: TransportKind.overHTTP2)
    func `an HTTP/2 exchange has the head of the final response only`(kind: TransportKind) async throws {
        try await kind.runOverHTTP2 { exchange in
            exchange.head(103, [("link", "</a>")])
            exchange.head(200, [("x-name", "a"), ("x-repeat", "1"), ("x-repeat", "2")])
            exchange.body("hi")
            exchange.head(nil, [("x-empty", "trailer")])
        } _: { transport, server in
            let (head, body) = try await transport.get(server.base)
            #expect(head.status == .ok && head.status.reasonPhrase.isEmpty && head.version == "HTTP/2")
            #expect(head.headers.map(\.name.rawName) == ["x-name", "x-repeat", "x-repeat"])
            #expect(head.headers.map(\.value) == ["a", "1", "2"])
            #expect(String(decoding: body, as: UTF8.self) == "hi")
        }
    }

    /// Only over libcurl: the other transport uses a client of the program here, whose bodies it does not decode.
    @Test func `an HTTP/2 exchange decodes a complete coded body, and fails for a truncated one`() async throws {
        let coded = CodedBody.all[0]
        try await TransportKind.curl.runOverHTTP2 { exchange in
            exchange.head(200, [("content-encoding", coded.coding)])
            exchange.body(exchange.path == "/cut" ? Array(coded.bytes.dropLast(9)) : coded.bytes, isLast: true)
        } _: { transport, server in
            let body = try await transport.get("\(server.base)/whole").body
            #expect(String(decoding: body, as: UTF8.self) == coded.text)
            let error = await transport.failure(of: TransportRequest(url: "\(server.base)/cut"))
            #expect(error?.code == .truncatedBody)
        }
    }

    @Test(arguments: TransportKind.overHTTP2)
    func `an HTTP/2 exchange fails where its status is invalid`(kind: TransportKind) async throws {
        try await kind.runOverHTTP2 { exchange in
            exchange.head(2000, [])
        } _: { transport, server in
            let error = await #expect(throws: TransportError.self) { _ = try await transport.get(server.base) }
            // libcurl resets the stream itself, and reports that.
            #expect(error?.code == (kind == .curl ? .connectionLost : .badResponse))
        }
    }

    /// The server sends to all streams by turns: without a limit the paused one would receive as much as the others.
    @Test(arguments: TransportKind.overHTTP2)
    func `a paused HTTP/2 exchange receives a bounded number of bytes, and does not block other exchanges`(
        kind: TransportKind
    )
        async throws
    {
        let (window, paused) = (kind.window, Guarded<HTTP2Exchange?>(nil))
        let (size, otherSize) = (window * 7 / 2, window * 3 / 2)
        try await kind.runOverHTTP2 { exchange in
            if exchange.path == "/paused" { paused.withLock { $0 = exchange } }
            exchange.head(200)
            exchange.stream(exchange.path == "/paused" ? size : otherSize)
        } _: { transport, server in
            let response = try await transport.send(TransportRequest(url: "\(server.base)/paused"))
            #expect(try await transport.get("\(server.base)/other").body.count == otherSize)
            // A mebibyte is read ahead of the reader.
            #expect(try #require(paused.withLock { $0?.sent }) < window + (4 << 20))
            // A slow reader, which is paused again.
            var pieces = response.body.makeAsyncIterator()
            var received = 0
            for _ in 0..<2 {
                received += try await pieces.next()?.count ?? 0
                #expect(try await transport.get("\(server.base)/other").body.count == otherSize)
            }
            while let piece = try await pieces.next() { received += piece.count }
            #expect(received == size && server.connections == 1)
        }
    }

    @Test(arguments: TransportKind.overHTTP2, ["/head", "/body"])
    func `a canceled HTTP/2 exchange resets its stream and leaves the connection open`(
        kind: TransportKind, path: String
    ) async throws {
        let (hasCome, canceled) = (Gate(), Guarded<HTTP2Exchange?>(nil))
        try await kind.runOverHTTP2 { exchange in
            guard exchange.path == path else { return exchange.answer("other") }
            if path == "/body" {
                exchange.head(200)
                exchange.body("hello")
            }
            canceled.withLock { $0 = exchange }
            hasCome.open()
        } _: { transport, server in
            let task = Task { await transport.failure(of: TransportRequest(url: server.base + path)) }
            await hasCome.wait()
            task.cancel()
            #expect(await task.value?.code == .cancelled)
            let isReset = try #require(canceled.withLock { $0 }).isReset
            await kind.withShortcoming(.lateReset, isHanging: true) { await isReset.wait() }
            let (_, body) = try await transport.get("\(server.base)/other")
            #expect(String(decoding: body, as: UTF8.self) == "other" && server.connections == 1)
            await isReset.wait()
        }
    }

    /// How a server ends an exchange.
    enum End: CaseIterable {
        case error, cancel, refusal, quiet, close
    }

    private static func end(_ exchange: HTTP2Exchange, by end: End) {
        switch end {
        case .error: exchange.reset(.internalError)
        case .cancel: exchange.reset(.cancel)
        case .refusal: exchange.reset(.refused)
        case .quiet: exchange.reset(.noError)
        case .close: exchange.close()
        }
    }

    @Test(arguments: TransportKind.overHTTP2.flatMap { kind in End.allCases.map { (kind, $0) } }, [nil, 10])
    func `an HTTP/2 exchange that ends in the body delivers the received bytes, then an error`(
        kindAndEnd: (TransportKind, End), length: Int?
    ) async throws {
        let (kind, end) = kindAndEnd
        let begun = Guarded<HTTP2Exchange?>(nil)
        try await kind.runOverHTTP2 { exchange in
            begun.withLock { $0 = exchange }
            exchange.head(200, length.map { [("content-length", "\($0)")] } ?? [])
            exchange.body("hello")
        } _: { transport, server in
            let body = try await transport.send(TransportRequest(url: server.base)).body
            var pieces = body.makeAsyncIterator()
            #expect(try await pieces.next() == Data("hello".utf8))
            Self.end(try #require(begun.withLock { $0 }), by: end)
            await kind.withShortcoming(.quietReset, if: end == .quiet && length == nil) {
                let error = await #expect(throws: TransportError.self) { _ = try await pieces.next() }
                #expect([.connectionLost, .truncatedBody].contains(error?.code))
                #expect(error?.serverMayHaveActed == true)
            }
        }
    }

    @Test(arguments: TransportKind.overHTTP2, [End.error, .cancel, .close])
    func `an HTTP/2 exchange that ends before its head fails with an error that says the request may have been sent`(
        kind: TransportKind, end: End
    ) async throws {
        try await kind.runOverHTTP2 { exchange in
            Self.end(exchange, by: end)
        } _: { transport, server in
            let error = await transport.failure(of: TransportRequest(method: .post, url: server.base))
            #expect(error?.code == .connectionLost && error?.serverMayHaveActed == true)
        }
    }
}
#endif
