import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("Copying responses from an archive", .limit(minutes: 5)) struct CacheArchiveTests {
    private let store = BodyStore()
    private let other = BodyStore()

    /// Returns a response of 2 MB with all that a part of it needs, as an archive of the store has it.
    private func archived(_ headers: String) async throws -> ArchivedEntry {
        let cache = try store.open()
        var entry = try CacheEntry.stub("a", body: .noise(2_000_000))
        entry.stored.headerBlock = Data("Content-Length: 2000000\nContent-Type: image/png\n\(headers)".utf8)
        cache.store(entry)
        await cache.flush()
        return try #require(try cache.archived(cache.list(limit: 1)[0])).entry
    }

    @Test(arguments: [
        "ETag: \"1\"\n", "Date: Tue, 02 Jan 2024 00:00:00 GMT\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\n",
    ])
    func `bytes whose checksum is not known are no part of a response`(headers: String) async throws {
        let archived = try await archived(headers)
        let key = RequestKey(of: archived.request)
        let cache = try other.open()
        let place = try #require(try cache.place(for: archived, of: nil))
        let writer = try #require(try cache.bodyWriter(at: place))
        try await writer.append(Data(repeating: 0, count: 1_500_000), in: nil)
        let part = try #require(try cache.partialBody(key, request: archived.request))
        #expect(part.size > 1_000_000 && !part.stored.flags.contains(.hasValidator))
        #expect(try cache.partPreview(of: key, request: archived.request, at: 1_000_000_000) == nil)
        #expect(PartialContent(status: 200, headers: part.stored.headers, now: 1_000_000_000) == nil)
        // As a process leaves them that dies here.
        #expect(try other.open().partPreview(of: key, request: archived.request, at: 1_000_000_000) == nil)
        try await writer.append(Data(repeating: 0, count: 500_000), in: nil)
        #expect(try await cache.finish(writer, at: place))
        let stored = try #require(try cache.findOnDisk(key, request: archived.request))
        #expect(stored.headerBlock == archived.stored.headerBlock && stored.flags == archived.stored.flags)
        #expect(stored.body.count == 2_000_000)
    }
}
