import Diamond
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("The body of a request", .limit(minutes: 5)) struct TransportUploadTests {
    private static let count = 3_000_001

    private static func put(_ url: String, _ body: TransportBody) -> TransportRequest {
        TransportRequest(method: .put, url: url, body: body)
    }

    @Test(arguments: TransportKind.allCases)
    func `a request body in memory is sent unchanged`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let body = TransportBody.bytes(Pattern.bytes(count: Self.count))
            let receipt = try Receipt(try await transport.exchange(Self.put(server.url("wire/upload"), body)).body)
            #expect(receipt.bytes == Self.count)
            #expect(receipt.contentLength == Self.count)
            #expect(receipt.checksum == Pattern.checksum(count: Self.count))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a request body may be a slice of other bytes`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let slice = Pattern.bytes(count: 600_000).dropFirst(256).prefix(500_000)
            for body in [
                TransportBody.bytes(slice),
                .stream(length: nil) { PieceSequence([slice.prefix(7), slice.dropFirst(7)]) },
            ] {
                let receipt = try Receipt(try await transport.exchange(Self.put(server.url("wire/upload"), body)).body)
                #expect(receipt.checksum == Pattern.checksum(count: 500_000))
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a streamed request body is sent unchanged, with its length where that is known`(kind: TransportKind)
        async throws
    {
        try await kind.run { transport, server in
            let body = TransportBody.stream(length: Int64(Self.count)) { PatternStream(count: Self.count) }
            let receipt = try Receipt(try await transport.exchange(Self.put(server.url("wire/upload"), body)).body)
            #expect(receipt.contentLength == Self.count)
            #expect(receipt.checksum == Pattern.checksum(count: Self.count))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a request body is sent in chunks where its length is not known`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let body = TransportBody.stream(length: nil) { PatternStream(count: Self.count) }
            let receipt = try Receipt(try await transport.exchange(Self.put(server.url("wire/upload"), body)).body)
            #expect(receipt.checksum == Pattern.checksum(count: Self.count))
            kind.withShortcoming(.streamedUpload) { #expect(receipt.contentLength == nil) }
        }
    }

    @Test(arguments: TransportKind.allCases, [Int64(0), nil])
    func `a request body may be an empty stream`(kind: TransportKind, length: Int64?) async throws {
        try await kind.run { transport, server in
            let body = TransportBody.stream(length: length) { PieceSequence([]) }
            let receipt = try Receipt(try await transport.exchange(Self.put(server.url("wire/upload"), body)).body)
            #expect(receipt.bytes == 0)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a request body may have pieces without bytes and with one byte`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let body = TransportBody.stream(length: nil) {
                PieceSequence((0..<1000).flatMap { [Data(), Pattern.bytes(from: $0, count: 1)] })
            }
            let receipt = try Receipt(try await transport.exchange(Self.put(server.url("wire/upload"), body)).body)
            #expect(receipt.checksum == Pattern.checksum(count: 1000))
        }
    }

    @Test(arguments: TransportKind.allCases, [Int64(5), nil])
    func `a request body whose stream throws ends the exchange with that error`(kind: TransportKind, length: Int64?)
        async throws
    {
        try await kind.run { transport, server in
            let body = TransportBody.stream(length: length) { PieceSequence([Data("ab".utf8)], failure: Failure()) }
            let error = await transport.failure(of: Self.put(server.url("wire/upload"), body))
            #expect(error?.code == .badRequestBody)
            #expect(error?.cause is Failure)
        }
    }

    @Test(arguments: TransportKind.allCases, [["ab"], ["ab", "cdef"], ["abcdef"]])
    func `a request body is refused when it is not as long as announced`(kind: TransportKind, pieces: [String])
        async throws
    {
        try await kind.run { transport, server in
            let body = TransportBody.stream(length: 5) { PieceSequence(pieces.map { Data($0.utf8) }) }
            let error = await transport.failure(of: Self.put(server.url("wire/upload"), body))
            #expect(error?.code == .badRequestBody)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a request body is refused for HEAD`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let request = TransportRequest(method: .head, url: server.url("wire/echo"), body: .bytes(Data("a".utf8)))
            #expect(await transport.failure(of: request)?.code == .badRequestBody)
        }
    }

    /// The wire sends the present pieces, waits for more, and goes on.
    @Test(arguments: TransportKind.allCases)
    func `a request body may arrive with pauses between its pieces`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
            let request = Self.put(server.url("wire/upload"), .stream(length: nil) { stream })
            async let receipt = try Receipt(try await transport.exchange(request).body)
            for index in 0..<5 {
                // A whole other exchange happens between two pieces.
                _ = try await transport.get(server.url("wire/status/204"))
                continuation.yield(Pattern.bytes(from: index * 100, count: 100))
            }
            continuation.finish()
            #expect(try await receipt.checksum == Pattern.checksum(count: 500))
        }
    }

    private struct Failure: Error {}
}
