#if Curl && os(Linux)
import Diamond
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

/// One after another and without other tests, because they measure the whole process.
@Suite(
    "The transfer of a body of 100 MiB", .serialized,
    .enabled(if: Effort.isAlone, "measures the process: scripts/test runs it alone"),
    .limit(minutes: 5)) struct TransportLargeBodyTests
{
    private static let count = 100 << 20

    @Test(arguments: TransportKind.allCases, ["", "?chunked=1"])
    func `a large body is received at flat memory, however slowly it is read`(kind: TransportKind, query: String)
        async throws
    {
        try await kind.run { transport, server in
            let url = server.url("wire/bytes/\(Self.count)\(query)")
            let response = try await transport.send(TransportRequest(url: url))
            var (received, growth, isExact) = (0, Growth(), true)
            for try await piece in response.body {
                if received == 0 { try await Self.dawdle(server) }
                if piece != Pattern.bytes(from: received, count: piece.count) { isExact = false }
                received += piece.count
                growth.look()
            }
            #expect(received == Self.count)
            #expect(isExact)
            kind.withShortcoming(.slowReading) {
                #expect(growth.bytes < 40 << 20, "grew by \(growth.bytes >> 20) MiB")
            }
        }
    }

    @Test(arguments: TransportKind.allCases, [Int64(count), nil])
    func `a large body is sent at flat memory`(kind: TransportKind, length: Int64?) async throws {
        let growth = SharedGrowth()
        try await kind.run { transport, server in
            let body = TransportBody.stream(length: length) {
                PatternStream(count: Self.count) { growth.look() }
            }
            let request = TransportRequest(method: .put, url: server.url("wire/upload"), body: body)
            let receipt = try Receipt(try await transport.exchange(request).body)
            #expect(receipt.bytes == Self.count)
            #expect(receipt.checksum == Pattern.checksum(count: Self.count))
            kind.withShortcoming(.streamedUpload) {
                #expect(growth.bytes < 40 << 20, "grew by \(growth.bytes >> 20) MiB")
            }
        }
    }

    /// A pause longer than the server needs for the whole body.
    private static func dawdle(_ server: SampleServer) async throws {
        let transport = CurlTransport()
        for _ in 0..<1000 { _ = try await transport.get(server.url("wire/status/204")) }
        await transport.close()
    }
}
#endif
