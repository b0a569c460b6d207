#if Curl && os(Linux)
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

/// One after another and without other tests, because they measure the whole process.
@Suite(
    "A streamed body of 100 MiB", .serialized,
    .enabled(if: Effort.isAlone, "measures the process: scripts/test runs it alone"),
    .limit(minutes: 5)) struct StreamMemoryTests
{
    private static let count = 100 << 20
    private let folder = TemporaryFolder()

    private func engine(_ kind: TransportKind) -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = kind.make()
        return Engine(configuration)
    }

    @Test(arguments: TransportKind.allCases, ["", "?chunked=1"])
    func `a large body streams at flat memory, however slowly it is read`(kind: TransportKind, query: String)
        async throws
    {
        let (server, engine) = (try await SampleServer.shared, engine(kind))
        let response = try await engine.stream(Request(server.url("wire/bytes/\(Self.count)\(query)")))
        var (received, growth, isExact) = (0, Growth(), true)
        for try await piece in response.bytes {
            // Longer than the server needs for all of it.
            if received == 0 { for _ in 0..<1000 { _ = try await engine.send(Request(server.url("wire/status/204"))) } }
            if piece != Pattern.bytes(from: received, count: piece.count) { isExact = false }
            received += piece.count
            growth.look()
        }
        #expect(received == Self.count && isExact)
        kind.withShortcoming(.slowReading) {
            #expect(growth.bytes < 40 << 20, "grew by \(growth.bytes >> 20) MiB")
        }
        await engine.close()
    }

    @Test(arguments: ["", "?chunked=1"]) func `a large body is written to a file at flat memory`(query: String)
        async throws
    {
        let (server, engine) = (try await SampleServer.shared, engine(.curl))
        let file = folder.url.appending(path: "bytes")
        let growth = SharedGrowth()
        let request = Request(server.url("wire/bytes/\(Self.count)\(query)"))
        let download = try await engine.download(request, to: file) { _ in growth.look() }
        #expect(download.size == Self.count)
        #expect(growth.bytes < 40 << 20, "grew by \(growth.bytes >> 20) MiB")
        await engine.close()
    }

    /// A sink that discards its bytes.
    private actor DiscardingSink: DownloadSink {
        private(set) var (received, growth) = (0, Growth())

        func begin(_ head: Response) { received = 0 }
        func write(_ piece: Data) {
            received += piece.count
            growth.look()
        }
    }

    @Test(arguments: ["", "?chunked=1"]) func `a large body is written to a sink at flat memory`(query: String)
        async throws
    {
        let (server, engine, drain) = (try await SampleServer.shared, engine(.curl), DiscardingSink())
        try await engine.download(Request(server.url("wire/bytes/\(Self.count)\(query)")), to: drain)
        let (received, growth) = (await drain.received, await drain.growth)
        #expect(received == Self.count)
        #expect(growth.bytes < 40 << 20, "grew by \(growth.bytes >> 20) MiB")
        await engine.close()
    }
}
#endif
