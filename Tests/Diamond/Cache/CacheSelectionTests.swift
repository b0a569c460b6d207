import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("Purging and invalidation by selection") struct CacheSelectionTests {
    let temporary = TemporaryStore()

    /// Entries by name, with the properties that selections distinguish.
    private static let entries: [(url: String, tags: Tags, identity: String?)] = [
        ("https://api.example.com/v1/cities", ["cities"], nil),
        ("https://api.example.com/v1/cities?page=2", ["cities", "pages"], "anna"),
        ("https://api.example.com/v2/cities", ["towns"], "berta"),
        ("http://api.example.com:8080/", [], nil),
        ("https://api.example.com.evil.net/", [], nil),
        ("https://api.example.org/v1/cities", ["cities"], "anna"),
    ]

    private static let selections: [(CacheSelection, [Int])] = [
        (.all, [0, 1, 2, 3, 4, 5]), (.tag("cities"), [0, 1, 5]), (.tag("city"), []), (.tag("pages"), [1]),
        (.identity("anna"), [1, 5]), (.host("api.example.com"), [0, 1, 2, 3]),
        (.host("API.example.COM"), [0, 1, 2, 3]),
        (.url(prefix: "https://api.example.com/v1/"), [0, 1]), (.url(prefix: "https://api.example.com/v1/c"), [0, 1]),
        (.url(prefix: "https://"), [0, 1, 2, 4, 5]), (.url("https://api.example.com/v1/cities"), [0]), (.url(""), []),
        (.url(prefix: ""), [0, 1, 2, 3, 4, 5]),
        (.stored(before: 1003), [0, 1, 2]), (.stored(before: 0), []),
        (.stored(before: Date(timeIntervalSince1970: 1.003)), [0, 1, 2]), (.stored(before: Date.distantPast), []),
        (.stored(before: Date(timeIntervalSince1970: .infinity)), [0, 1, 2, 3, 4, 5]),
    ]

    private func filled(sealed: Bool = false) async throws -> (cache: Cache, entries: [CacheEntry]) {
        let cache = try Cache(temporary.store, seal: sealed ? AESGCMSeal.first : nil, memoryCapacity: 1 << 20)
        let entries = try Self.entries.enumerated().map { index, facts in
            var entry = try CacheEntry.stub(facts.url, tags: facts.tags, identity: facts.identity)
            entry.stored.storedAt = WallTime(rawValue: Int64(1000 + index))
            return entry
        }
        for entry in entries { cache.store(entry) }
        await cache.flush()
        return (cache, entries)
    }

    @Test(arguments: selections.indices, [false, true])
    func `a purge removes exactly the selected entries, everywhere`(index: Int, isSealed: Bool) async throws {
        let (selection, selected) = Self.selections[index]
        let (cache, entries) = try await filled(sealed: isSealed)
        #expect(try cache.count(selection) == selected.count)
        #expect(try await cache.purge(selection) == selected.count)
        #expect(entries.indices.filter { cache.find(entries[$0].key, request: entries[$0].request) == nil } == selected)
        #expect(try temporary.rows("body") == Int64(entries.count - selected.count))
    }

    @Test(arguments: selections.indices, [false, true])
    func `an invalidation marks exactly the selected entries stale, once`(index: Int, isSealed: Bool) async throws {
        let (selection, selected) = Self.selections[index]
        let (cache, entries) = try await filled(sealed: isSealed)
        #expect(try await cache.invalidate(selection) == selected.count)
        #expect(try await cache.invalidate(selection) == 0)
        for (index, entry) in entries.enumerated() {
            let found = try #require(cache.find(entry.key, request: entry.request))
            #expect(found.isFresh(at: 1010, maxAge: 1 << 40) == !selected.contains(index))
            #expect(found.body == entry.stored.body && found.headers == entry.stored.headers)
        }
    }

    @Test func `a purge of any selection uses an index`() async throws {
        _ = try await filled()
        let conditions = [
            "key_prefix = 1 AND key = x'00'", "id IN (SELECT entry FROM tag WHERE name = 'a')", "identity = 'a'",
            "stored_at < 1", "lifetime IS NOT NULL AND flags & 18 = 0 AND expires_at < 1", "(url >= 'a' AND url < 'b')",
            "(url >= 'a' AND url < 'b') OR (url >= 'c' AND url < 'd')",
        ]
        for condition in conditions {
            let plan = try temporary.plan("SELECT id FROM entry WHERE \(condition) LIMIT 9")
            #expect(plan.allSatisfy { !$0.hasPrefix("SCAN entry") }, "\(condition): \(plan)")
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `a confirmed entry has the tags of both requests`(isSealed: Bool, isWaiting: Bool) async throws {
        let seal = isSealed ? AESGCMSeal.first : nil
        let cache = try Cache(temporary.store, seal: seal, memoryCapacity: 0)
        var entry = try CacheEntry.stub("http://h/a", tags: ["list"])
        cache.store(entry)
        if !isWaiting { await cache.flush() }
        let old = entry.stored
        entry.stored.storedAt += 1
        entry.tags = ["cities"]
        cache.confirm(entry, replacing: old)
        await cache.flush()
        #expect(try cache.count(.tag("list")) == 1 && cache.count(.tag("cities")) == 1)
        #expect(try await cache.purge(.tag("list")) == 1)
    }

    @Test func `a purge by tag does not read all its entries again for each transaction`() async throws {
        _ = try await filled()
        let plan = try temporary.plan(
            "SELECT id FROM tag CROSS JOIN entry ON entry.id = tag.entry WHERE name = 'a' LIMIT 9")
        #expect(plan.count == 2 && plan.allSatisfy { $0.hasPrefix("SEARCH") }, "\(plan)")
    }

    @Test func `a list of any selection in any order uses an index`() async throws {
        _ = try await filled()
        let conditions = [
            "TRUE", "TRUE AND (id IN (SELECT entry FROM tag WHERE name = 'a'))", "TRUE AND (url >= 'a' AND url < 'b')",
            "TRUE AND (lifetime IS NOT NULL AND flags & 18 = 0 AND expires_at < 1)",
        ]
        for condition in conditions {
            for order in ["stored_at DESC, id DESC", "body_size DESC, id DESC", "url, id"] {
                let plan = try temporary.plan("SELECT id FROM entry WHERE \(condition) ORDER BY \(order) LIMIT 9")
                let isSorted = condition == "TRUE" && plan.contains { $0.hasPrefix("USE TEMP B-TREE") }
                #expect(!isSorted && !plan.contains("SCAN entry"), "\(condition) \(order): \(plan)")
            }
        }
    }

    @Test func `a list has the entries that are in every selection`() async throws {
        let (cache, entries) = try await filled()
        let listed = try cache.list([.tag("cities"), .identity("anna")], by: .url, limit: 9)
        #expect(listed.map(\.key) == [entries[1].key, entries[5].key])
        #expect(try cache.list([.expired(at: 1003 + 60_000)], limit: 9).isEmpty)
        #expect(try cache.count(.tag("cities"), onlyValid: true) == 3)
        try await cache.invalidate(.identity("anna"))
        #expect(try cache.count(.tag("cities"), onlyValid: true) == 1)
        #expect(try cache.count(.tag("cities")) == 3)
    }

    @Test(arguments: [false, true])
    func `pages in the order of URLs have every entry, also one that is confirmed between them`(
        isSealed: Bool
    ) async throws {
        let (cache, entries) = try await filled(sealed: isSealed)
        var keys: [RequestKey] = []
        var cursor: CacheCursor?
        while let listing = try cache.list(by: .url, after: cursor, limit: 1).first {
            keys.append(listing.key)
            cursor = CacheCursor(after: listing, by: .url)
            for entry in entries {
                var confirmed = entry
                confirmed.stored.storedAt = WallTime(rawValue: Int64(10_000 * keys.count))
                cache.confirm(confirmed, replacing: try #require(cache.find(entry.key, request: entry.request)))
            }
            await cache.flush()
        }
        #expect(Set(keys) == Set(entries.map(\.key)) && keys.count == entries.count)
    }

    @Test func `a purge may select far more entries than one transaction handles`() async throws {
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        for index in 0..<700 { cache.store(try .stub("\(index)", tags: index % 7 == 0 ? [] : ["a"])) }
        #expect(try await cache.invalidate(.tag("a")) == 600)
        #expect(try await cache.purge(.tag("a")) == 600)
        #expect(try temporary.rows("entry") == 100)
        #expect(try temporary.rows("tag") == 0)
    }

    // Each page of the file is read a few times, not once for each transaction.
    @Test func `an invalidation of many entries takes time in proportion to their number`() async throws {
        let disk = FaultDisk(directory: temporary.directory)
        var store = temporary.store
        store.vfs = disk.vfs
        let cache = try Cache(store, memoryCapacity: 0)
        let headers = Data("a: \(String(repeating: "b", count: 2000))\n".utf8)
        for index in 0..<6000 {
            var entry = try CacheEntry.stub("\(index)")
            entry.stored.headerBlock = headers
            cache.store(entry)
        }
        await cache.flush()
        let (pages, before) = (try cache.usage(of: .max).used / 8192, disk.calls(fitting: .readError))
        #expect(try await cache.invalidate(.all) == 6000)
        #expect(disk.calls(fitting: .readError) - before < 6 * Int(pages))
        #expect(try cache.count(.all, onlyValid: true) == 0)
    }

    @Test func `a purge by a predicate handles many keys in one transaction`() async throws {
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        for index in 0..<700 { cache.store(try .stub("\(index)")) }
        #expect(try await cache.invalidate { $0.url.hasSuffix("7") } == 70)
        #expect(try await cache.invalidate { _ in true } == 630)
        let revoked = cache.invalidations.position
        #expect(try await cache.purge { !$0.url.hasSuffix("7") } == 630)
        #expect(cache.invalidations.position.count - revoked.count == 3)
        #expect(try cache.list(limit: 99).count { $0.url.hasSuffix("7") } == 70)
    }

    @Test func `another process's memory follows a purge within a tenth of a second`() async throws {
        let uptime = Guarded(Uptime(rawValue: 0))
        let (first, entries) = try await filled()
        let second = try Cache(
            temporary.store, memoryCapacity: 1 << 20, timing: CacheTiming(uptime: { uptime.withLock { $0 } }))
        for entry in entries { #expect(second.find(entry.key, request: entry.request) == entry.stored) }
        try await first.purge(.key(entries[0].key))
        try await first.invalidate(.identity("anna"))
        var newer = entries[2]
        newer.stored.body = Data("newer".utf8)
        newer.stored.storedAt += 1
        first.store(newer)
        await first.flush()
        // The second cache has not yet checked for changes.
        #expect(second.find(entries[0].key, request: entries[0].request) != nil)
        uptime.withLock { $0 += CrossProcessChanges.interval }
        #expect(second.find(entries[0].key, request: entries[0].request) == nil)
        #expect(second.find(entries[1].key, request: entries[1].request)?.flags.contains(.invalidated) == true)
        #expect(second.find(newer.key, request: newer.request) == newer.stored)
    }

    @Test func `a response stays a hit in memory after a pause, until another process changes it`() async throws {
        let (first, second, uptime) = try caches((nil, nil))
        let entries = try ["a", "b", "c"].map { try CacheEntry.stub("http://h/\($0)") }
        for entry in entries { first.store(entry) }
        await first.flush()
        for entry in entries { #expect(second.find(entry.key, request: entry.request) == entry.stored) }
        for _ in 0..<3 {
            uptime.withLock { $0 += 10_000 }
            for entry in entries { #expect(second.findInMemory(entry.key, request: entry.request) == entry.stored) }
        }
        try await first.purge(.key(entries[0].key))
        var newer = entries[1]
        newer.stored.body = Data("newer".utf8)
        newer.stored.storedAt += 1
        first.store(newer)
        await first.flush()
        uptime.withLock { $0 += CrossProcessChanges.interval - 1 }
        for entry in entries { #expect(second.findInMemory(entry.key, request: entry.request) != nil) }
        uptime.withLock { $0 += 1 }
        for entry in entries { #expect(second.findInMemory(entry.key, request: entry.request) == nil) }
        // This lookup reads the changes.
        #expect(second.find(entries[0].key, request: entries[0].request) == nil)
        let found = entries.map { second.findInMemory($0.key, request: $0.request) == $0.stored }
        #expect(found == [false, false, true])
    }

    @Test func `a lookup in memory waits for no file that has to be opened`() async throws {
        let (first, second, uptime) = try caches((nil, nil))
        let entry = try CacheEntry.stub("http://h/a")
        second.store(entry)
        await second.flush()
        try FileManager.default.removeItem(at: temporary.directory)
        uptime.withLock { $0 += CrossProcessChanges.interval }
        #expect(second.findInMemory(entry.key, request: entry.request) == nil)
        #expect(second.find(entry.key, request: entry.request) == nil)
        withExtendedLifetime(first) {}
    }

    /// A removal by one cache of entries that only the other one's memory has.
    enum Removal: CaseIterable, Sendable {
        case purge, purgeKey, purgeWhere, forget, forgetKey, invalidate, invalidateWhere

        func run(on cache: Cache, _ entry: CacheEntry) async throws {
            switch self {
            case .purge: try await cache.purge()
            case .purgeKey: try await cache.purge(.key(entry.key))
            case .purgeWhere: try await cache.purge { $0.url == entry.url }
            case .forget: try await cache.purge(.identity("anna"))
            case .forgetKey: cache.forget(entry.key)
            case .invalidate: try await cache.invalidate(.url(entry.url))
            case .invalidateWhere: try await cache.invalidate { $0.url == entry.url }
            }
            await cache.flush()
        }
    }

    /// Two caches of one store. The clock of the second cache stands still until the test advances it.
    private func caches(
        _ seals: (AESGCMSeal?, AESGCMSeal?)
    ) throws -> (first: Cache, second: Cache, uptime: Guarded<Uptime>) {
        let uptime = Guarded(Uptime(rawValue: 0))
        let first = try Cache(temporary.store, seal: seals.0, memoryCapacity: 1 << 20)
        let second = try Cache(
            temporary.store, seal: seals.1, memoryCapacity: 1 << 20,
            timing: CacheTiming(uptime: { uptime.withLock { $0 } }))
        return (first, second, uptime)
    }

    private static let places = [(false, false), (true, false), (false, true), (true, true)]

    @Test(arguments: Removal.allCases, places)
    func `a removal reaches the memory of every process, even for entries evicted from the file`(
        removal: Removal,
        place: (isOwn: Bool, isSealed: Bool)
    ) async throws {
        let seal = place.isSealed ? AESGCMSeal.first : nil
        let (first, second, uptime) = try caches((seal, seal))
        let entry = try CacheEntry.stub("http://h/a", identity: "anna")
        second.store(entry)
        await second.flush()
        #expect(try await second.evict(to: 0).count == 1)
        uptime.withLock { $0 += CrossProcessChanges.interval }
        #expect(second.find(entry.key, request: entry.request) == entry.stored)
        try await removal.run(on: place.isOwn ? second : first, entry)
        uptime.withLock { $0 += CrossProcessChanges.interval }
        #expect(second.find(entry.key, request: entry.request) == nil)
    }

    @Test(arguments: [Removal.purgeKey, .forgetKey, .invalidate], places)
    func `a removal of keys and URLs leaves the other entries in every memory`(
        removal: Removal,
        place: (isOwn: Bool, isSealed: Bool)
    ) async throws {
        let seal = place.isSealed ? AESGCMSeal.first : nil
        let (first, second, uptime) = try caches((seal, seal))
        let entries = try ["a", "b", "c"].map { try CacheEntry.stub("http://h/\($0)") }
        for entry in entries[..<2] { second.store(entry) }
        first.store(entries[2])
        await first.flush()
        await second.flush()
        // The lookup reads from disk, with the URL, as a pipeline does.
        #expect(second.find(entries[2].key, request: entries[2].request, url: entries[2].url) != nil)
        #expect(try await second.evict(to: 0).count == 3)
        try await removal.run(on: place.isOwn ? second : first, entries[0])
        uptime.withLock { $0 += CrossProcessChanges.interval }
        let found = entries.map { second.find($0.key, request: $0.request) != nil }
        #expect(found == [false, true, true])
    }

    @Test(arguments: [(nil, AESGCMSeal.first), (.first, nil), (.first, .second)] as [(AESGCMSeal?, AESGCMSeal?)])
    func `a removal by URL reaches the memory of a process with a different seal`(
        seals: (AESGCMSeal?, AESGCMSeal?)
    ) async throws {
        let (first, second, uptime) = try caches(seals)
        let entry = try CacheEntry.stub("http://h/a")
        second.store(entry)
        await second.flush()
        #expect(try await second.evict(to: 0).count == 1)
        try await first.invalidate(.url(entry.url))
        uptime.withLock { $0 += CrossProcessChanges.interval }
        #expect(second.find(entry.key, request: entry.request) == nil)
    }

    @Test func `a removal by URL reaches the cache's own memory after the store's secret has changed`() async throws {
        let (_, cache, _) = try caches((.first, .first))
        let entry = try CacheEntry.stub("http://h/a")
        cache.store(entry)
        await cache.flush()
        try FileManager.default.removeItem(at: temporary.directory)
        _ = try Cache(temporary.store, seal: AESGCMSeal.first, memoryCapacity: 0)
        try await cache.purge(.url(entry.url))
        #expect(cache.find(entry.key, request: entry.request) == nil)
    }

    @Test func `a removal announces keys and URLs separately to other processes, and each once`() async throws {
        let (cache, entries) = try await filled()
        let before = try cache.file.read(CacheTable.newestChange)
        try await cache.invalidate(.key(entries[0].key))
        try await cache.purge(.url(entries[1].url))
        let names = try cache.file.read { (connection) throws(SQLiteError) in
            try CacheTable.changes(after: before, on: connection).names
        }
        let hash = cache.storage.coding.urlHash(of: entries[1].url)
        #expect(names == ChangedNames(keys: [entries[0].key.prefix], urls: [hash]))
    }

    @Test(arguments: Removal.allCases.filter { $0 != .forgetKey })
    func `a removal fails if the store was replaced by a file that cannot be opened`(removal: Removal) async throws {
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        let entry = try CacheEntry.stub("http://h/a", identity: "anna")
        try FileManager.default.removeItem(at: temporary.directory)
        try Data().write(to: temporary.directory)
        defer { try? FileManager.default.removeItem(at: temporary.directory) }
        await #expect(throws: CacheError.self) { try await removal.run(on: cache, entry) }
    }

    @Test(arguments: Removal.allCases)
    func `a removal acts on the file that has replaced the open file`(removal: Removal) async throws {
        let uptime = Guarded(Uptime(rawValue: 0))
        let running = try Cache(
            temporary.store, memoryCapacity: 0, timing: CacheTiming(uptime: { uptime.withLock { $0 } }))
        try FileManager.default.removeItem(at: temporary.directory)
        let other = try Cache(temporary.store, memoryCapacity: 0)
        let entry = try CacheEntry.stub("http://h/a", identity: "anna")
        other.store(entry)
        await other.flush()
        try await removal.run(on: running, entry)
        let found = other.find(entry.key, request: entry.request)
        #expect(found == nil || found?.flags.contains(.invalidated) == true)
    }

    @Test(arguments: [false, true]) func `a purge also deletes the files that were set aside`(isPredicate: Bool)
        async throws
    {
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        let names = ["", "-wal", "-shm"].map { "cache.sqlite.corrupt-20260101T000000Z" + $0 } + ["other"]
        for name in names { try Data("bytes".utf8).write(to: temporary.directory.appendingPathComponent(name)) }
        try await cache.invalidate(.all)
        let left = { try FileManager.default.contentsOfDirectory(atPath: temporary.directory.path) }
        #expect(try names.allSatisfy(left().contains))
        if isPredicate { try await cache.purge { _ in false } } else { try await cache.purge(.identity("anna")) }
        #expect(try left().filter(names.contains) == ["other"])
    }

    @Test func `a purge leaves no byte of its entries in any file`() async throws {
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        let marker = Data("a word that stands nowhere else".utf8)
        var body = Data(count: 200_000)
        body.replaceSubrange(150_000..<(150_000 + marker.count), with: marker)
        let entry = try CacheEntry.stub("a", body: body)
        cache.store(entry)
        await cache.flush()
        #expect(try temporary.bytes().firstRange(of: marker) != nil)
        try await cache.purge(.key(entry.key))
        #expect(try temporary.bytes().firstRange(of: marker) == nil)
    }

    @Test func `hits are counted by the hour, with the bytes and the time that they saved`() async throws {
        let clock = ManualClock()
        let cache = try Cache(temporary.store, timing: CacheTiming(now: { clock.wallTime }))
        let entry = try CacheEntry.stub("a", size: 1000)
        cache.store(entry)
        cache.count(.cache, of: entry.stored, under: entry.key)
        cache.count(.stale, of: entry.stored, under: entry.key)
        cache.countMiss()
        await cache.flush()
        cache.count(.revalidated, of: entry.stored, under: entry.key)
        clock.advance(by: 3600)
        cache.count(.cache, of: entry.stored, under: entry.key)
        await cache.flush()
        let hours = try cache.statistics()
        #expect(hours.map(\.hits) == [1, 1])
        #expect(hours.map(\.staleHits) == [1, 0])
        #expect(hours.map(\.revalidations) == [1, 0])
        #expect(hours.map(\.misses) == [1, 0])
        #expect(hours.map(\.stores) == [1, 0])
        #expect(hours.map(\.bytesServed) == [3000, 1000])
        #expect(hours.map(\.millisecondsSaved) == [500, 250])
        #expect(hours[1].hour - hours[0].hour == 1)
        clock.advance(by: 401 * 86_400)
        cache.countMiss()
        await cache.flush()
        #expect(try cache.statistics(days: 1000).map(\.misses) == [1])
        #expect(try cache.statistics(days: .max).map(\.misses) == [1])
        #expect(try cache.statistics(days: .min).map(\.misses) == [1])
    }

    @Test func `hourly counts survive any jump of the clock`() async throws {
        let clock = ManualClock()
        let cache = try Cache(temporary.store, timing: CacheTiming(now: { clock.wallTime }))
        let century = 36_525.0 * 86_400
        for jump in [0, 3600, century, 3600, 3600 - century] {
            clock.advance(by: jump)
            cache.countMiss()
            await cache.flush()
        }
        #expect(try cache.statistics(days: 1).map(\.misses) == [1, 1, 1, 1, 1])
    }

    @Test func `hourly counts cover 400 days at most, and the oldest are deleted`() async throws {
        let cache = try Cache(temporary.store)
        try temporary.execute(
            """
            WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT 9600)
            INSERT INTO hour SELECT n, 1, 0, 0, 0, 0, 0, 0, 0 FROM number
            """
        )
        cache.countMiss()
        await cache.flush()
        #expect(try temporary.rows("hour") == 9600)
        #expect(try temporary.rows("hour WHERE hour = 1") == 0)
    }

    @Test func `hourly counts at their maximum do not prevent a write`() async throws {
        let clock = ManualClock()
        let cache = try Cache(temporary.store, memoryCapacity: 0, timing: CacheTiming(now: { clock.wallTime }))
        let entry = try CacheEntry.stub("a")
        cache.countMiss()
        await cache.flush()
        try temporary.execute(
            """
            UPDATE hour SET hits = ~(1 << 63), stale_hits = ~(1 << 63), revalidations = ~(1 << 63), misses = ~(1 << 63),
                stores = ~(1 << 63), evictions = ~(1 << 63), bytes_served = ~(1 << 63), time_saved = ~(1 << 63)
            """
        )
        for source in [Response.Source.cache, .stale, .revalidated] {
            cache.count(source, of: entry.stored, under: entry.key)
        }
        cache.countMiss()
        cache.store(entry)
        await cache.flush()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
    }
}
