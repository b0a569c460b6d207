#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import DiamondPostgres

@Suite(
    "PostgresCacheStorage", .enabled(if: Effort.hasFleet, "needs a server: scripts/fleet starts one"),
    // Each test creates a database, which is slow when many do.
    .serialized, .limit(minutes: 5)) struct PostgresCacheStorageTests
{
    @Test(arguments: CacheStorageSuite.Check.all)
    func `it keeps the contract`(_ check: CacheStorageSuite.Check) async {
        let suite = CacheStorageSuite { try await PostgresCachePlace() }
        let failure = await suite.failure(of: check)
        #expect(failure == nil)
    }

    @Test func `engines of two processes share responses, and one sees what the other invalidates`() async throws {
        let place = try await PostgresCachePlace()
        let (one, other) = (place.engine(answering: "one"), place.engine(answering: "other"))
        var (request, isShared) = (Request(""), false)
        // The first lookups connect, and may take too long.
        var number = 0
        while !isShared {
            number += 1
            request = Request("http://api.test/\(number)")
            _ = try await one.send(request)
            await one.cache?.flush()
            isShared = try await other.send(request).text == "one"
        }
        _ = try await one.cache?.invalidate(.host("api.test"))
        while try await other.send(request).text == "one" {}
        await one.close()
        await other.close()
    }

    // MARK: Invalidating

    @Test(arguments: [CacheSelection.tag("cities"), .host("api.test"), .url("https://api.test/1"), .all])
    func `an invalidation reaches the processes that have read an entry within 100 ms`(
        selection: CacheSelection
    ) async throws {
        let place = try await PostgresCachePlace()
        let (one, other) = (try await place.storage(), try await place.storage())
        let delay = try await one.delay(ofInvalidating: selection, in: other, reportsStores: true)
        // The best of five: the machine may be busy.
        #expect(delay < .milliseconds(100))
    }

    @Test func `an invalidation names only the entries that it concerns, and is no change for its own process`()
        async throws
    {
        let place = try await PostgresCachePlace()
        let (one, other) = (try await place.storage(), try await place.storage())
        let entries = try (0..<20).map { try CacheEntry.sample($0, tags: ["tag \($0)", "common"]) }
        for entry in entries { try await one.store(entry) }
        for entry in entries { _ = try await other.record(entry) }
        let (ownPosition, position) = (try one.changes(since: nil).position, try other.changes(since: nil).position)
        _ = try await one.invalidate([.tag("tag 7")], announcing: nil)
        #expect(await other.changed(since: position)?.keys == [entries[7].key.prefix])
        #expect(try await other.record(entries[8])?.isStale == false)
        await untilTrue { ((try? one.changes(since: nil).position) ?? .start) > ownPosition }
        #expect(try one.changes(since: ownPosition).names?.isEmpty == true)
    }

    @Test func `a response that was requested before an invalidation by another process is stored stale`() async throws
    {
        let place = try await PostgresCachePlace()
        let (one, other) = (try await place.storage(), try await place.storage())
        var entry = try CacheEntry.sample(1, tags: ["cities"])
        entry.knownChange = try one.changes(since: nil).position
        _ = try await other.invalidate([.tag("cities")], announcing: nil)
        // The announcement need not have arrived: the server knows.
        #expect(try await one.store(entry) == [entry.key])
        #expect(try await other.record(entry)?.isStale == true)
        await untilTrue { ((try? one.changes(since: nil).position) ?? .start) > (entry.knownChange ?? .start) }
        entry.knownChange = try one.changes(since: nil).position
        #expect(try await one.store(entry).isEmpty)
        #expect(try await other.record(entry)?.isStale == false)
    }

    @Test func `the erasure of a name removes the bytes of its entries`() async throws {
        let place = try await PostgresCachePlace()
        let storage = try await place.storage()
        try await storage.store(
            try .sample(1, body: CacheEntry.largeBody, tags: ["t"]), try .sample(2, tags: ["t"]), try .sample(3))
        #expect(try await storage.erase([.tag("t")], announcing: nil).responses == 2)
        #expect(try await place.count("SELECT count(*) AS count FROM cache_record") == 1)
        #expect(try await place.count("SELECT count(*) AS count FROM cache_chunk") == 0)
    }

    // MARK: Expiring

    @Test func `an entry past its retention is removed with its chunks, unless it is pinned`() async throws {
        let place = try await PostgresCachePlace()
        let storage = try await place.storage()
        let pinned = try CacheEntry.sample(2)
        try await storage.store(try .sample(1, body: CacheEntry.largeBody), pinned)
        #expect(try await storage.setPinned(true, for: pinned.key))
        place.advance(by: .seconds(29 * 86_400))
        try await storage.tend()
        #expect(try await storage.totals().entries == 2)
        place.advance(by: .seconds(2 * 86_400))
        try await storage.tend()
        #expect(try await storage.list([], by: .newest, after: nil, limit: 9).map(\.key) == [pinned.key])
        #expect(try await place.count("SELECT count(*) AS count FROM cache_chunk") == 0)
    }

    @Test func `beyond the capacity, expired entries are evicted first, then the oldest`() async throws {
        let place = try await PostgresCachePlace()
        let storage = try await place.storage(capacity: 320_000)
        let now = WallTime.now
        let body = Data(count: 50_000)
        var entries = try (0..<8).map { try CacheEntry.sample($0, body: body, storedAt: now - Int64(8 - $0) * 1000) }
        // The newest, but expired.
        entries[7] = try CacheEntry.sample(7, body: body, storedAt: now - 500, lifetime: 100, flags: [])
        for entry in entries { try await storage.store(entry) }
        #expect(try await storage.setPinned(true, for: entries[0].key))
        try await storage.tend()
        let kept = try await storage.list([], by: .newest, after: nil, limit: 9).map(\.key)
        #expect(kept == [6, 5, 4, 3, 0].map { entries[$0].key })
        #expect(try await storage.evict(to: 0) == 4)
    }

    @Test func `a change of a name is forgotten when no stored entry has missed it`() async throws {
        let place = try await PostgresCachePlace()
        let storage = try await place.storage()
        let entry = try CacheEntry.sample(1, tags: ["missed"])
        try await storage.store(entry)
        _ = try await storage.invalidate([.tag("missed"), .tag("of nothing")], announcing: nil)
        _ = try await place.count("UPDATE cache_stamp SET changed_at = now() - interval '2 hours' RETURNING 0 AS count")
        _ = try await place.count(
            "UPDATE cache_change SET announced_at = now() - interval '1 day' RETURNING 0 AS count")
        try await storage.tend()
        #expect(try await place.count("SELECT count(*) AS count FROM cache_stamp") == 1)
        #expect(try await place.count("SELECT count(*) AS count FROM cache_change") == 1)
        #expect(try await storage.record(entry)?.isStale == true)
        try await storage.store(entry)
        #expect(try await storage.record(entry)?.isStale == false)
    }

    // MARK: Faults

    @Test func `a listener whose connection is ended drops memory, and listens again`() async throws {
        let place = try await PostgresCachePlace()
        let storage = try await place.storage()
        let position = try storage.changes(since: nil).position
        try await PostgresServer.terminate("cache watch", of: place.address)
        #expect(await storage.changed(since: position) == nil)
        await untilTrue { storage.isConnected }
        let entry = try CacheEntry.sample(1)
        try await storage.store(entry)
        let later = try storage.changes(since: nil).position
        _ = try await place.storage().invalidate([.url("https://api.test/1")], announcing: nil)
        #expect(await storage.changed(since: later)?.keys == [entry.key.prefix])
    }

    @Test func `an entry with a missing or damaged chunk, or a damaged head, is a miss`() async throws {
        let place = try await PostgresCachePlace()
        let storage = try await place.storage()
        let entry = try CacheEntry.sample(1, body: CacheEntry.largeBody)
        try await storage.store(entry)
        #expect(try await place.count("DELETE FROM cache_chunk WHERE number = 1 RETURNING number AS count") == 1)
        #expect(try await storage.record(entry) == nil)
        try await storage.store(entry)
        #expect(try await storage.record(entry)?.isSound == true)
        _ = try await place.count("UPDATE cache_chunk SET data = 'x' WHERE number = 1 RETURNING number AS count")
        #expect(try await storage.record(entry)?.isSound == false)
        _ = try await place.count("UPDATE cache_record SET head = 'short' RETURNING body_size AS count")
        #expect(try await storage.record(entry) == nil)
    }

    @Test func `tables of a newer version are refused`() async throws {
        let place = try await PostgresCachePlace()
        _ = try await place.storage()
        _ = try await place.count("UPDATE cache_version SET number = 99 RETURNING number AS count")
        let newer = PostgresCacheStorage(place.address, connections: 2, silence: .seconds(20))
        let error = await #expect(throws: CacheError.self) { try await newer.totals() }
        #expect(error?.code == .newerStore)
    }

    @Test func `a lookup finds the newest variants up to the limit`() async throws {
        let place = try await PostgresCachePlace()
        let storage = try await place.storage()
        let request = try CacheEntry.sample(0)
        var variants: [CacheEntry] = []
        for number in 1...PostgresCacheStorage.mostRecords + 5 {
            var entry = try CacheEntry.sample(number, storedAt: .now - Int64(1000 - number))
            entry.requestKey = request.key
            variants.append(entry)
            try await storage.store(entry)
        }
        let found = try await storage.records(under: request.key, bodyLimit: .max)
        #expect(Set(found.map(\.key)) == Set(variants.suffix(PostgresCacheStorage.mostRecords).map(\.key)))
    }
}

/// A cache in a database of its own, whose clock a test moves.
final class PostgresCachePlace: CacheStorageSuite.Place {
    let address: PostgresAddress
    private let pool: PostgresPool
    /// The time by which the clock is ahead, in milliseconds.
    private let offset = Guarded(Int64(0))

    init() async throws {
        address = try await PostgresServer.database()
        pool = PostgresPool(address, name: "test", size: 1)
    }

    deinit { pool.close() }

    func open() async throws -> any CacheStorage { try await storage() }

    /// Returns the storage of one more process, connected, on a machine that may be busy.
    func storage(capacity: Int64 = 1 << 30) async throws -> PostgresCacheStorage {
        let storage = PostgresCacheStorage(
            address, capacity: capacity, connections: 2, silence: .seconds(20)
        ) { [offset] in offset.withLock { $0 } }
        _ = try await storage.totals()
        await untilTrue { storage.isConnected }
        return storage
    }

    /// Returns an engine whose API answers with a text.
    func engine(answering text: String) -> Engine {
        var configuration = Engine.Configuration(store: nil, cache: .postgres(address))
        configuration.transport = StubTransport { _ throws(TransportError) in
            .stub(headers: [.cacheControl: "max-age=3600"], body: Data(text.utf8))
        }
        configuration.observers = []
        return Engine(configuration)
    }

    func advance(by duration: Duration) { offset.withLock { $0 += duration.milliseconds } }

    /// Returns the column `count` of the first row of a statement.
    func count(_ sql: PostgresSQL) async throws -> Int64? {
        try await pool.run { (connection) throws(PostgresError) in try connection.rows(sql).first?.int64("count") }
    }
}

extension PostgresCacheStorage {
    var isConnected: Bool { watch.withLock { $0.log.connectedAt != nil } }
}
#endif
