#if os(Linux)
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Runs without other tests, because it measures the whole process.
@Suite(
    "A stored body of 100 MiB", .serialized,
    .enabled(if: Effort.isAlone, "measures the process: scripts/test runs it alone"),
    .limit(minutes: 5)) struct BodyMemoryTests
{
    private static let count = 100 << 20

    @Test(arguments: [false, true]) func `a large body is written and read at flat memory`(isSealed: Bool) async throws
    {
        let store = BodyStore(isSealed: isSealed)
        let cache = try store.open(capacity: 1 << 30)
        let entry = try CacheEntry.stub("a", size: 0)
        let piece = Data.noise(1 << 16)
        var growth = Growth()
        let writer = try cache.bodyWriter(for: entry)
        for _ in 0..<Self.count / piece.count {
            try await writer.append(piece)
            growth.look()
        }
        try await writer.finish()
        var (reader, received) = (try #require(try cache.bodyReader(entry.key, request: entry.request)), 0)
        while let chunk = try reader.next() {
            #expect(chunk.prefix(piece.count) == piece)
            received += chunk.count
            growth.look()
        }
        #expect(received == Self.count)
        #expect(store.events.dropped.isEmpty && store.events.failures.isEmpty)
        #expect(growth.bytes < 16 << 20, "grew by \(growth.bytes >> 20) MiB")
    }

    @Test(arguments: [false, true]) func `a large body is streamed and downloaded at flat memory`(isConfirmed: Bool)
        async throws
    {
        let temporary = TemporaryStore()
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.diskCapacity = 1 << 30
        configuration.headers = [:]
        configuration.transport = StubTransport(status: 304, headers: [.eTag: "\"a\""], body: "")
        let engine = Engine(configuration)
        let cache = try #require(engine.cache)
        var entry = try CacheEntry.stub("a", size: 0)
        entry.stored.headerBlock = Data("ETag: \"a\"\n".utf8)
        let piece = Data.noise(1 << 16)
        let writer = try cache.bodyWriter(for: entry)
        for _ in 0..<Self.count / piece.count { try await writer.append(piece) }
        try await writer.finish()
        var (received, growth) = (0, Growth())
        let request = Request(entry.url, cache: isConfirmed ? .revalidate : .cacheOnly)
        let response = try await engine.stream(request)
        #expect(response.source == (isConfirmed ? .revalidated : .stale))
        for try await bytes in response.bytes {
            #expect(bytes.prefix(piece.count) == piece)
            received += bytes.count
            growth.look()
        }
        let file = temporary.directory.appending(path: "download")
        let download = try await engine.download(request, to: file)
        growth.look()
        #expect(received == Self.count && download.size == Self.count)
        #expect(growth.bytes < 40 << 20, "grew by \(growth.bytes >> 20) MiB")
        await engine.close()
    }
}
#endif
