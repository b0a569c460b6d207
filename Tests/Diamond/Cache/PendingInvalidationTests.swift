import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection
@testable import DiamondSQLite

@Suite("A pending invalidation", .limit(minutes: 5)) struct PendingInvalidationTests {
    let temporary = TemporaryStore()

    /// Opens a cache that does not check for other processes' changes by itself, and that writes only when it is
    /// flushed.
    private func open(memory: Int = 0, isSealed: Bool = false) throws -> Cache {
        try Cache(
            temporary.store, seal: isSealed ? AESGCMSeal.first : nil, memoryCapacity: memory,
            timing: CacheTiming(uptime: { .min }, writeDelay: .seconds(3600)))
    }

    private func isStale(_ stored: StoredResponse?) throws -> Bool { try #require(stored).flags.contains(.invalidated) }

    private func find(_ entry: CacheEntry, in cache: Cache) -> StoredResponse? {
        cache.find(entry.key, request: entry.request, url: entry.url)
    }

    @Test(arguments: [(0, false), (0, true), (1 << 20, false), (1 << 20, true)])
    func `applies at once, later in every process, and to its entry only`(
        store: (memory: Int, isSealed: Bool)
    ) async throws {
        let cache = try open(memory: store.memory, isSealed: store.isSealed)
        let (entry, other) = (try CacheEntry.stub("a"), try CacheEntry.stub("b"))
        for entry in [entry, other] { cache.store(entry) }
        await cache.flush()
        let lock = try WriteLock(temporary.store)
        cache.markStale(urls: [entry.url])
        // The invalidation applies even if the lookup gives no URL.
        #expect(try isStale(cache.find(entry.key, request: entry.request)))
        #expect(try isStale(find(entry, in: cache)))
        let reader = try cache.bodyReader(entry.key, request: entry.request, url: entry.url)
        #expect(try isStale(reader?.stored))
        #expect(find(other, in: cache) == other.stored)
        try lock.release()
        await cache.flush()
        for cache in [cache, try open(isSealed: store.isSealed)] {
            #expect(try isStale(cache.findOnDisk(entry.key, request: entry.request)))
            #expect(try cache.findOnDisk(other.key, request: other.request) == other.stored)
        }
    }

    @Test(arguments: [false, true])
    func `does not apply to an entry that is stored afterwards`(isWritten: Bool) async throws {
        let cache = try open()
        let old = try CacheEntry.stub("a", body: Data("old".utf8))
        var new = try CacheEntry.stub("a", body: Data("new body".utf8))
        new.stored.storedAt = 5
        cache.store(old)
        if isWritten { await cache.flush() }
        let lock = try WriteLock(temporary.store)
        cache.markStale(urls: [old.url])
        #expect(try isStale(find(old, in: cache)))
        cache.store(new)
        #expect(find(new, in: cache) == new.stored)
        try lock.release()
        await cache.flush()
        #expect(try cache.findOnDisk(new.key, request: new.request) == new.stored)
    }

    @Test(arguments: [false, true])
    func `does not apply to an entry that is validated afterwards`(isWritten: Bool) async throws {
        let cache = try open()
        let entry = try CacheEntry.stub("a")
        cache.store(entry)
        if isWritten { await cache.flush() }
        let lock = try WriteLock(temporary.store)
        cache.markStale(urls: [entry.url])
        let found = try #require(find(entry, in: cache))
        var confirmed = entry
        confirmed.stored.storedAt = 9
        cache.confirm(confirmed, replacing: found)
        #expect(find(entry, in: cache) == confirmed.stored)
        try lock.release()
        await cache.flush()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == confirmed.stored)
    }

    @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
    func `a pending invalidation of another URL allows the confirmation of an entry read without its URL`(
        state: (isWritten: Bool, isSealed: Bool)
    ) async throws {
        let cache = try open(isSealed: state.isSealed)
        let entry = try CacheEntry.stub("a")
        cache.store(entry)
        if state.isWritten { await cache.flush() }
        let lock = try WriteLock(temporary.store)
        cache.markStale(urls: ["another"])
        let found = try #require(cache.find(entry.key, request: entry.request))
        #expect(try isStale(found))
        #expect(entry.stored.isUnchanged(since: found) && !found.isUnchanged(since: entry.stored))
        var confirmed = entry
        confirmed.stored.storedAt = 9
        cache.confirm(confirmed, replacing: found)
        #expect(find(entry, in: cache) == confirmed.stored)
        try lock.release()
        await cache.flush()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == confirmed.stored)
    }

    @Test func `applies to a confirmed entry, and rejects a late confirmation`()
        async throws
    {
        let cache = try open()
        let entry = try CacheEntry.stub("a")
        cache.store(entry)
        await cache.flush()
        let lock = try WriteLock(temporary.store)
        var (confirmed, late) = (entry, entry)
        (confirmed.stored.storedAt, late.stored.storedAt) = (9, 10)
        cache.confirm(confirmed, replacing: entry.stored)
        cache.markStale(urls: [entry.url])
        cache.confirm(late, replacing: confirmed.stored)
        var expected = confirmed.stored
        expected.flags.insert(.invalidated)
        #expect(find(entry, in: cache) == expected)
        try lock.release()
        await cache.flush()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == expected)
    }
}

/// A write lock on a store's file, as another process holds it.
struct WriteLock {
    private let handle: SQLiteHandle

    init(_ store: Store) throws {
        // Read and write.
        handle = try SQLiteHandle(path: store.cachePath, flags: 2, vfs: nil)
        try handle.execute("PRAGMA busy_timeout = 30000; BEGIN IMMEDIATE")
    }

    func release() throws { try handle.execute("ROLLBACK") }
}
