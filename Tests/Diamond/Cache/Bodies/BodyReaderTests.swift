import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("Reading a body in pieces") struct BodyReaderTests {
    private let store = BodyStore()
    private let body = Data.noise(1_000_000)

    @Test func `a body is read chunk by chunk, from any offset`() async throws {
        let cache = try store.open(memory: 32 << 20)
        let entry = try CacheEntry.stub("a", body: body)
        for state in ["in memory", "waiting", "on disk"] {
            let cache = state == "in memory" ? cache : try store.open()
            if state != "on disk" { cache.store(entry) }
            var reader = try #require(try cache.bodyReader(entry.key, request: entry.request))
            #expect(try reader.next()?.count == CacheTable.chunkSize, "\(state)")
            #expect(try reader.rest().count == 1_000_000 - CacheTable.chunkSize, "\(state)")
            while try reader.next() != nil {}
            #expect(try reader.rest().isEmpty)
            #expect(reader.stored == entry.stored.withoutBody)
            #expect(try cache.read(entry) == body)
            await cache.flush()
        }
    }

    @Test(arguments: [(0, false), (32 << 20, false), (0, true)])
    func `a body and its parts are read in pieces of any size, and on by chunks`(memory: Int, isSealed: Bool)
        async throws
    {
        let store = BodyStore(isSealed: isSealed)
        let cache = try store.open(memory: memory)
        let entry = try CacheEntry.stub("a", body: body)
        cache.store(entry)
        await cache.flush()
        let whole = try #require(try cache.bodyReader(entry.key, request: entry.request))
        for limit in [50_000, 64 << 10, CacheTable.chunkSize, 200_000] {
            for part in [0..<body.count, 100_000..<700_000, 131_072..<131_073] {
                var reader = part.count == body.count ? whole : whole.reading(part)
                #expect(try reader.pieces(upTo: limit) == body[part], "\(limit), \(part)")
                #expect(try reader.next() == nil)
            }
            var reader = whole
            let beginning = try reader.pieces(upTo: limit, count: 2)
            #expect(try beginning + reader.rest() == body, "\(limit)")
        }
    }

    @Test func `a piece ends with its chunk, so that the next one is a whole chunk`() async throws {
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: body)
        cache.store(entry)
        await cache.flush()
        var reader = try #require(try cache.bodyReader(entry.key, request: entry.request))
        let limits = [64 << 10, CacheTable.chunkSize, CacheTable.chunkSize]
        let counts = try limits.map { limit in try reader.read(upTo: limit) { _ in } }
        #expect(counts == [64 << 10, 64 << 10, CacheTable.chunkSize])
    }

    @Test(arguments: [false, true])
    func `a piece of a damaged chunk is not read, and the entry is deleted`(isSealed: Bool) async throws {
        let store = BodyStore(isSealed: isSealed)
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: body)
        cache.store(entry)
        await cache.flush()
        try store.temporary.execute(
            "UPDATE body SET bytes = zeroblob(length(bytes)) WHERE id = (SELECT id << 20 | 1 FROM entry)")
        var reader = try #require(try cache.bodyReader(entry.key, request: entry.request))
        #expect(try reader.pieces(upTo: 64 << 10, count: 2).count == CacheTable.chunkSize)
        var bytes = Data()
        #expect(throws: CacheError.self) { try reader.read(upTo: 64 << 10) { bytes += $0 } }
        #expect(bytes.isEmpty && store.events.dropped.count == 1)
        await cache.flush()
        #expect(throws: CacheError.entryGone) { try reader.read(upTo: 64 << 10) { bytes += $0 } }
    }

    @Test func `a body is not found where nothing is stored, or for another request`() async throws {
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: body)
        #expect(try cache.bodyReader(entry.key, request: entry.request) == nil)
        cache.store(entry)
        await cache.flush()
        #expect(try cache.bodyReader(entry.key, request: Array("diamond 1\n".utf8)) == nil)
    }

    @Test(arguments: ["replaced", "replaced in pieces", "evicted", "replaced by a like number"])
    func `a read of a body that was deleted meanwhile fails, and never continues with other bytes`(
        event: String
    ) async throws {
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: body)
        let other = entry.with(.noise(2_000_000, seed: 2))
        cache.store(entry)
        await cache.flush()
        var reader = try #require(try cache.bodyReader(entry.key, request: entry.request))
        #expect(try reader.next() == body.prefix(CacheTable.chunkSize))
        switch event {
        case "replaced": cache.store(other)
        case "replaced in pieces": try await cache.stream(other)
        case "evicted": try await cache.purge()
        default:
            try await cache.purge()
            cache.store(try .stub("b", body: other.stored.body))
        }
        await cache.flush()
        #expect(throws: CacheError.entryGone) { try reader.next() }
        #expect(store.events.dropped.isEmpty)
    }

    @Test func `a read of a body continues when the same bytes are stored again meanwhile`() async throws {
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: body)
        cache.store(entry)
        await cache.flush()
        let reader = try #require(try cache.bodyReader(entry.key, request: entry.request))
        cache.store(entry)
        await cache.flush()
        #expect(try reader.rest() == body)
    }

    @Test(arguments: [false, true])
    func `a read of a body ends at a damaged chunk, and the entry is deleted`(isSealed: Bool) async throws {
        let store = BodyStore(isSealed: isSealed)
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: body)
        cache.store(entry)
        await cache.flush()
        try store.temporary.execute(
            "UPDATE body SET bytes = zeroblob(length(bytes)) WHERE id = (SELECT id << 20 | 3 FROM entry)")
        var reader = try #require(try cache.bodyReader(entry.key, request: entry.request))
        for _ in 0..<3 { #expect(try reader.next() != nil) }
        #expect(throws: CacheError.self) { try reader.next() }
        #expect(store.events.dropped.count == 1)
        await cache.flush()
        #expect(try store.temporary.rows("entry") == 0)
    }

    @Test(arguments: ["in memory", "waiting", "on disk"], [false, true])
    func `a body stays in place when its entry is confirmed without a read of it`(state: String, isSealed: Bool)
        async throws
    {
        let store = BodyStore(isSealed: isSealed)
        // Nothing is written before the test flushes.
        let cache = try Cache(
            store.temporary.store, seal: isSealed ? AESGCMSeal.first : nil,
            memoryCapacity: state == "in memory" ? 64 << 20 : 0,
            timing: CacheTiming(uptime: { .min }, writeDelay: .seconds(600)))
        let entry = try CacheEntry.stub("a", body: body)
        cache.store(entry)
        if state == "on disk" { await cache.flush() }
        let head = try #require(try cache.bodyReader(entry.key, request: entry.request)).stored
        var (confirmed, whole) = (entry, entry.stored)
        (confirmed.stored, whole.storedAt) = (head, 5)
        confirmed.stored.storedAt = 5
        cache.confirm(confirmed, replacing: head)
        for isWritten in [false, true] {
            if isWritten { await cache.flush() }
            let reader = try #require(try cache.bodyReader(entry.key, request: entry.request))
            #expect(reader.stored == confirmed.stored, "\(isWritten)")
            #expect(cache.find(entry.key, request: entry.request) == whole, "\(isWritten)")
            #expect(try cache.read(entry) == body, "\(isWritten)")
        }
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == whole)
    }

    @Test func `a read of a body counts as use`() async throws {
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: body)
        cache.store(entry)
        await cache.flush()
        _ = try cache.read(entry)
        await cache.flush()
        #expect(try store.temporary.rows("entry WHERE is_visited = 1") == 1)
    }
}

extension BodyReader {
    /// Returns the bytes of pieces: of `count` of them, or up to the end.
    fileprivate mutating func pieces(upTo limit: Int, count: Int = .max) throws -> Data {
        var (bytes, number) = (Data(), 0)
        while number < count, try read(upTo: limit, { bytes += $0 }) > 0 { number += 1 }
        return bytes
    }
}
