import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("The record of accesses") struct AccessLogTests {
    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    /// The clock's time in seconds.
    private let start: Int64 = 1_767_225_600

    private func open(_ capacity: Int64 = Cache.defaultDiskCapacity) throws -> Cache {
        let clock = clock
        let cache = try Cache(temporary.store, diskCapacity: capacity, timing: CacheTiming(now: { clock.wallTime }))
        try cache.setRecording(true)
        return cache
    }

    private func accesses(_ cache: Cache) throws -> [CacheAccess] { try cache.file.read(CacheTable.accesses).accesses }

    @Test func `accesses are recorded only while recording is on, for all processes of the store`() async throws {
        let cache = try Cache(temporary.store)
        let entry = try CacheEntry.stub("a")
        func use() async {
            cache.count(.cache, of: entry.stored, under: entry.key)
            await cache.flush()
        }
        cache.store(entry)
        await use()
        #expect(try !cache.isRecording())
        #expect(try temporary.rows("access") == 0)
        #expect(try cache.recordedCapacity() == Cache.defaultDiskCapacity)
        let other = try open()
        #expect(try cache.isRecording())
        // The first write reads the setting.
        await use()
        #expect(try temporary.rows("access") == 0)
        await use()
        #expect(try temporary.rows("access") == 1)
        try other.setRecording(false)
        #expect(try temporary.rows("access") == 0)
        await use()
        #expect(try temporary.rows("access") == 0)
    }

    @Test func `the record has each use once, and outlives its process`() async throws {
        var cache: Cache? = try open()
        let entry = try CacheEntry.stub("a", size: 1000)
        cache?.store(entry)
        cache?.count(.cache, of: entry.stored, under: entry.key)
        clock.advance(by: 1)
        cache?.count(.revalidated, of: entry.stored, under: entry.key)
        cache?.store(entry, replacing: true)
        cache?.countMiss()
        await cache?.flush()
        await cache?.flush()
        cache = nil
        let reopened = try open()
        await reopened.flush()
        let recorded = try accesses(reopened)
        // Two accesses of one second share a row, unless the writer ran between them.
        #expect([[.stored, .hit, .replaced], [.stored, .hit, .hit, .replaced]].contains(recorded.map(\.kind)))
        #expect(recorded.map(\.uses).reduce(0, +) == 4)
        #expect(recorded.allSatisfy { $0.prefix == entry.key.prefix && $0.bodySize == 1000 })
        #expect(recorded.allSatisfy { $0.entrySize == 1000 + 768 + Int64(entry.stored.headerBlock.count) })
        #expect(recorded.suffix(2).map(\.second) == [start + 1, start + 1])
        #expect(recorded.dropLast(2).allSatisfy { $0.second == start })
        #expect(try reopened.simulation().requests == 4)
        #expect(try reopened.simulation().lines[0].misses.requests == 0.5)
    }

    @Test func `the record is shared by all processes of a store, in chronological order`() async throws {
        let (one, other) = (try open(), try open(64 << 20))
        let entry = try CacheEntry.stub("a")
        for cache in [one, other, one, other] {
            cache.count(.cache, of: entry.stored, under: entry.key)
            clock.advance(by: 1)
        }
        await other.flush()
        await one.flush()
        let recorded = try accesses(one)
        #expect(recorded == (try accesses(other)))
        #expect(recorded.map(\.second) == (0..<4).map { start + $0 })
        #expect(try one.simulation().currentCapacity == Cache.defaultDiskCapacity)
    }

    @Test func `the record overwrites its oldest accesses, and is small compared with the limit`() async throws {
        let cache = try open(4 << 20)
        let entry = try CacheEntry.stub("a")
        for _ in 0..<3000 {
            cache.count(.cache, of: entry.stored, under: entry.key)
            clock.advance(by: 1)
        }
        await cache.flush()
        let recorded = try accesses(cache)
        #expect(recorded.count == 1024)
        #expect(recorded.last?.second == start + 2999)
        clock.advance(by: 1)
        cache.count(.cache, of: entry.stored, under: entry.key)
        await cache.flush()
        #expect(try accesses(cache).map(\.second).first == start + 1977)
    }

    @Test(.limit(minutes: 5))
    func `the record is written when many accesses are pending, even without other changes`() async throws {
        let cache = try open()
        let entry = try CacheEntry.stub("a")
        for _ in 0..<AccessLog.maximumWaiting {
            cache.count(.cache, of: entry.stored, under: entry.key)
            clock.advance(by: 1)
        }
        try await untilTrue { try temporary.rows("access") > 0 }
        #expect(try accesses(cache).count == AccessLog.maximumWaiting)
    }

    @Test func `the record halves its sample for all processes when there are many keys`() async throws {
        let (one, other) = (try open(), try open())
        let many = (0..<65_536).map { index in
            CacheAccess(prefix: Int64(index % 9000) << 50, bodySize: 1, entrySize: 1, second: 0, kind: .hit)
        }
        let recording = try one.file.write { (connection) throws(SQLiteError) in
            try CacheTable.record(many, capacity: 1 << 30, on: connection)
        }
        #expect(recording == .on(Sampling(shift: 1)))
        #expect(try temporary.rows("access") == 65_536)
        let size = try one.totals().diskBytes
        #expect(size < 6 << 20, "\(size)")  // the log has a second copy
        let entries = try (0..<40).map { try CacheEntry.stub("\($0)") }
        // The first write reads the new sample.
        other.store(entries[0])
        await other.flush()
        for entry in entries { other.count(.cache, of: entry.stored, under: entry.key) }
        await other.flush()
        let recorded = Set(try accesses(other).filter { $0.sampling.shift == 1 }.map(\.prefix))
        #expect(recorded == Set(entries.map(\.key.prefix).filter { $0 >= 0 }))
    }

    @Test func `the record stores only integers about a request, and a purge deletes them`() async throws {
        let cache = try open()
        let entries = try [CacheEntry.stub("a", identity: "me"), .stub("b"), .stub("c")]
        for entry in entries { cache.store(entry) }
        await cache.flush()
        #expect(try temporary.rows("pragma_table_info('access')") == 10)
        #expect(try temporary.rows("pragma_table_info('access') WHERE type <> 'INTEGER'") == 0)
        for entry in entries { cache.count(.cache, of: entry.stored, under: entry.key) }
        try await cache.purge(.identity("me"))
        #expect(Set(try accesses(cache).map(\.prefix)) == Set(entries.dropFirst().map(\.key.prefix)))
        try await cache.purge(.key(entries[1].key))
        #expect(Set(try accesses(cache).map(\.prefix)) == [entries[2].key.prefix])
        cache.count(.cache, of: entries[2].stored, under: entries[2].key)
        try await cache.purge()
        #expect(try temporary.rows("access") == 0)
    }

    @Test func `the record distinguishes hits, newly stored and replaced responses`() async throws {
        let transport = StubTransport(headers: [.cacheControl: "max-age=60"])
        _ = try open()
        let engine = temporary.engine(transport, clock: clock)
        var request = Request("http://h/a")
        for _ in 0..<2 {
            _ = try await engine.send(request)
            clock.advance(by: 1)
        }
        request.cache = .reload
        _ = try await engine.send(request)
        await engine.close()
        #expect(try accesses(open()).map(\.kind) == [.stored, .hit, .replaced])
    }

    @Test func `the record loses no access of concurrent threads, nor at the change of the hour`() async throws {
        let cache = try open()
        let entries = try (0..<40).map { try CacheEntry.stub("\($0)", size: 10) }
        for _ in 0..<2 {
            await withTaskGroup { group in
                for entry in entries {
                    group.addTask { for _ in 0..<50 { cache.count(.cache, of: entry.stored, under: entry.key) } }
                }
                group.addTask { for _ in 0..<5 { await cache.flush() } }
            }
            clock.advance(by: 3600)
        }
        await cache.flush()
        #expect(try cache.statistics().map { [$0.hits, $0.bytesServed] } == [[2000, 20_000], [2000, 20_000]])
        #expect(try accesses(cache).reduce(0) { $0 + $1.uses } == 4000)
        #expect(try Set(accesses(cache).map(\.prefix)) == Set(entries.map(\.key.prefix)))
    }

    @Test(arguments: [false, true])
    func `the record has the size of the entry's row, or else of the response`(isSealed: Bool) async throws {
        let cache = try Cache(temporary.store, seal: isSealed ? AESGCMSeal.first : nil, memoryCapacity: 0)
        try cache.setRecording(true)
        let (kept, gone) = try (CacheEntry.stub("a", size: 1000), CacheEntry.stub("b", size: 1000))
        cache.store(kept)
        cache.count(.cache, of: gone.stored, under: gone.key)
        await cache.flush()
        let recorded = Dictionary(grouping: try accesses(cache), by: \.prefix).mapValues { $0.map(\.entrySize) }
        let texts = try temporary.texts("SELECT body_size + length(headers) FROM entry")
        let size = try #require(texts.first.flatMap { Int64($0) })
        #expect(recorded[kept.key.prefix] == [size + CacheAccess.rowSize])
        #expect(recorded[gone.key.prefix] == [1000 + Int64(gone.stored.headerBlock.count) + CacheAccess.rowSize])
        // The values of a row that no cache has written are not used.
        try temporary.execute("UPDATE entry SET body_size = 9223372036854775807; DELETE FROM access")
        cache.count(.cache, of: kept.stored, under: kept.key)
        await cache.flush()
        #expect(try accesses(cache).map(\.entrySize) == recorded[gone.key.prefix])
    }

    @Test func `the record has responses that were too large to be stored`() async throws {
        let cache = try open(16 << 20)
        cache.store(try .stub("a", size: 5 << 20))
        await cache.flush()
        #expect(try accesses(cache).map(\.bodySize) == [5 << 20])
        #expect(try cache.statistics().allSatisfy { $0.stores == 0 })
    }

    @Test(arguments: ["body_size = 137438953473", "entry_size = 1 << 52", "uses = 0", "second = -1", "kind = 9"])
    func `the record skips rows that were not written by a cache`(damage: String) async throws {
        let cache = try open()
        for name in ["a", "b"] { cache.store(try .stub(name, size: 10)) }
        await cache.flush()
        try temporary.execute("UPDATE access SET \(damage) WHERE id = 1")
        #expect(try accesses(cache).count == 1)
        #expect(try cache.simulation().requests == 1)
    }
}
