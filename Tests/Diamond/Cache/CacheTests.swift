import CDiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection
@testable import DiamondSQLite

@Suite("The cache on disk") struct CacheTests {
    let temporary = TemporaryStore()

    private func open(memory: Int = 0) throws -> Cache { try Cache(temporary.store, memoryCapacity: memory) }

    private func entry(_ name: String, body: Data = Data("body".utf8)) throws -> CacheEntry {
        let form = try CanonicalForm(of: Request("http://h/\(name)"), rules: KeyRules())
        var stored = StoredResponse.stub(lifetime: 60_000, flags: .hasValidator, initialAge: 3)
        stored.body = body
        return CacheEntry(key: form.key, request: form.bytes, url: "http://h/\(name)", method: "GET", stored: stored)
    }

    @Test(arguments: [0, 1 << 20])
    func `knows whether a response is in memory without reading its file`(memory: Int) async throws {
        let cache = try Cache(
            temporary.store, memoryCapacity: memory, timing: CacheTiming(writeDelay: .seconds(86_400)))
        let entry = try entry("a")
        #expect(cache.peek(entry.key, request: entry.request) == nil)
        cache.store(entry)
        #expect(cache.peek(entry.key, request: entry.request) == entry.stored)
        #expect(cache.peek(entry.key, request: Array("other".utf8)) == nil)
        await cache.flush()
        #expect(cache.peek(entry.key, request: entry.request) == (memory == 0 ? nil : entry.stored))
        var confirmed = entry
        confirmed.stored.storedAt += 1000
        cache.confirm(confirmed, replacing: entry.stored)
        #expect(cache.peek(entry.key, request: entry.request) == confirmed.stored)
        cache.forget(entry.key)
        #expect(cache.peek(entry.key, request: entry.request) == nil)
    }

    @Test(arguments: [0, 1, 1024, 131_071, 131_072, 131_073, 1_000_000])
    func `returns what was stored, byte for byte`(size: Int) async throws {
        let cache = try open()
        let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let entry = try entry("a", body: body)
        cache.store(entry)
        await cache.flush()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
    }

    @Test func `an entry is found by another process's cache, and after a restart`() async throws {
        let first = try open(memory: 1 << 20)
        let second = try open(memory: 1 << 20)
        let entry = try entry("a")
        first.store(entry)
        await first.flush()
        #expect(second.find(entry.key, request: entry.request) == entry.stored)
        #expect(first.rules.digest(of: [1]) == second.rules.digest(of: [1]))
    }

    @Test func `a new entry replaces the old entry and its longer body`() async throws {
        let cache = try open()
        let old = try entry("a", body: Data(repeating: 1, count: 400_000))
        let new = try entry("a", body: Data(repeating: 2, count: 10))
        cache.store(old)
        await cache.flush()
        cache.store(new)
        await cache.flush()
        #expect(try cache.findOnDisk(new.key, request: new.request) == new.stored)
        #expect(try cache.totals().entries == 1)
        #expect(try cache.totals().bodyBytes == 10)
        #expect(try temporary.rows("body") == 1)
    }

    @Test func `an entry never answers another request, not even one of the same key`() async throws {
        let cache = try open(memory: 1 << 20)
        let entry = try entry("a")
        cache.store(entry)
        await cache.flush()
        let other = Array("diamond 1\nmethod GET\n".utf8)
        #expect(cache.find(entry.key, request: other) == nil)
        #expect(try cache.findOnDisk(entry.key, request: other) == nil)
    }

    @Test func `answers from memory before the write is done, and after`() async throws {
        let cache = try open(memory: 1 << 20)
        let entry = try entry("a")
        cache.store(entry)
        #expect(cache.find(entry.key, request: entry.request) == entry.stored)
        await cache.flush()
        try temporary.execute("DELETE FROM entry")
        #expect(cache.find(entry.key, request: entry.request) == entry.stored)
    }

    @Test func `answers from memory after it has read an entry from disk`() async throws {
        let writing = try open()
        let entry = try entry("a")
        writing.store(entry)
        await writing.flush()
        let reading = try open(memory: 1 << 20)
        #expect(reading.find(entry.key, request: entry.request) == entry.stored)
        try temporary.execute("DELETE FROM entry")
        #expect(reading.find(entry.key, request: entry.request) == entry.stored)
    }

    @Test func `a confirmation by a 304 updates an entry and leaves its body in place`() async throws {
        let cache = try open()
        var entry = try entry("a", body: Data(repeating: 1, count: 300_000))
        cache.store(entry)
        let old = entry.stored
        entry.stored.storedAt = 77
        entry.stored.flags = []
        entry.stored.lifetime = nil
        cache.confirm(entry, replacing: old)
        await cache.flush()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
    }

    @Test(arguments: [false, true])
    func `a confirmation replaces all fields that the row's checksum covers`(isSealed: Bool) async throws {
        let cache = try caches(sealed: isSealed, memory: 0)[0]
        let old = try entry("a")
        cache.store(old)
        await cache.flush()
        var new = old
        (new.stored.status, new.stored.headerBlock) = (203, Data("ETag: 2\n".utf8))
        (new.stored.storedAt, new.stored.initialAge, new.stored.lifetime) = (77, 78, 79)
        (new.stored.flags, new.stored.duration) = ([.noCache, .mustRevalidate], old.stored.duration + 80)
        cache.confirm(new, replacing: old.stored)
        await cache.flush()
        #expect(try cache.findOnDisk(new.key, request: new.request) == new.stored)
        #expect(try CacheInspection(of: temporary.store).findings.isEmpty)
    }

    @Test(arguments: [
        ("UPDATE body SET bytes = zeroblob(4)", "checksum"),
        ("DELETE FROM body", "incomplete"),
        ("UPDATE entry SET body_size = 9", "row's checksum"),
        ("UPDATE entry SET headers = x'41'", "row's checksum"),
        ("UPDATE entry SET duration = 9", "row's checksum"),
        ("UPDATE entry SET body_size = 9223372036854775807", "has invalid values"),
        ("PRAGMA ignore_check_constraints = 1; UPDATE entry SET status = 5000", "has invalid values"),
        ("UPDATE entry SET initial_age = -9223372036854775808", "has invalid values"),
        ("UPDATE entry SET duration = 9223372036854775807", "has invalid values"),
        ("UPDATE entry SET lifetime = 9223372036854775807", "has invalid values"),
    ]) func `a damaged entry is removed and reported, and counts as a miss`(damage: String, reason: String) async throws
    {
        let activity = Activity()
        let dropped = Guarded<[String]>([])
        let observation = activity.observe { event in
            if case .cacheEntryDropped(let reason) = event { dropped.withLock { $0.append(reason) } }
        }
        let cache = try Cache(temporary.store, activity: activity, memoryCapacity: 0)
        let entry = try entry("a")
        cache.store(entry)
        await cache.flush()
        try temporary.execute(damage)
        #expect(cache.find(entry.key, request: entry.request) == nil)
        #expect(dropped.withLock { $0.count } == 1)
        #expect(dropped.withLock { $0.first?.contains(reason) } == true)
        await cache.flush()
        #expect(try cache.totals().entries == 0)
        withExtendedLifetime(observation) {}
    }

    @Test func `a list leaves out rows that were not written by a cache`() async throws {
        let cache = try open()
        cache.store(try entry("a"))
        cache.store(try entry("b"))
        await cache.flush()
        try temporary.execute(
            """
            PRAGMA ignore_check_constraints = 1;
            UPDATE entry SET key = x'00', stored_at = -9223372036854775808 WHERE url = 'http://h/a'
            """
        )
        #expect(try cache.list(limit: 9).map(\.url) == ["http://h/b"])
    }

    @Test func `a pending change takes precedence over the file`() async throws {
        let cache = try open()
        let (old, new) = (try entry("a", body: Data("old".utf8)), try entry("a", body: Data("new".utf8)))
        cache.store(old)
        await cache.flush()
        for _ in 0..<20 {
            cache.store(new)
            #expect(cache.find(new.key, request: new.request) == new.stored)
            cache.forget(new.key)
            #expect(cache.find(new.key, request: new.request) == nil)
        }
        await cache.flush()
        #expect(cache.find(new.key, request: new.request) == nil)
    }

    @Test func `a lookup puts nothing into memory that is purged meanwhile`() async throws {
        let cache = try open(memory: 1 << 20)
        let entry = try entry("a")
        for _ in 0..<200 {
            cache.store(entry)
            await cache.flush()
            let isForgotten = Guarded(false)
            async let lookingUp: Void = Task.detached {
                while !isForgotten.withLock({ $0 }) {
                    _ = cache.find(entry.key, request: entry.request)
                    await Task.yield()
                }
            }.value
            await Task.yield()
            cache.forget(entry.key)
            isForgotten.withLock { $0 = true }
            await lookingUp
            #expect(cache.find(entry.key, request: entry.request) == nil)
        }
    }

    @Test func `a confirmation is written only to the row that was confirmed`() async throws {
        let (first, second) = (try open(), try open())
        let old = try entry("a", body: Data("old".utf8))
        var new = try entry("a", body: Data("new body".utf8))
        new.stored.storedAt = 5
        first.store(old)
        await first.flush()
        second.store(new)
        await second.flush()
        var confirmed = old
        confirmed.stored.storedAt = 9
        first.confirm(confirmed, replacing: old.stored)
        await first.flush()
        #expect(try first.findOnDisk(new.key, request: new.request) == new.stored)
    }

    /// The change of an entry before its late confirmation by a 304.
    enum Change: CaseIterable, Sendable { case stored, erased, invalidated }

    /// Two caches of one store. Neither checks for the other's changes by itself, nor writes before it is flushed.
    private func caches(sealed: Bool, memory: Int) throws -> [Cache] {
        try (0..<2).map { _ in
            try Cache(
                temporary.store, seal: sealed ? AESGCMSeal.first : nil, memoryCapacity: memory,
                timing: CacheTiming(uptime: { .min }, writeDelay: .seconds(3600)))
        }
    }

    @Test(arguments: Change.allCases, [(0, false), (0, true), (1 << 20, false), (1 << 20, true)])
    func `a late confirmation does not undo a change by another process`(
        change: Change,
        store: (memory: Int, isSealed: Bool)
    ) async throws {
        let caches = try caches(sealed: store.isSealed, memory: store.memory)
        let entry = try entry("a")
        var (new, confirmed) = (try self.entry("a", body: Data("new body".utf8)), entry)
        (new.stored.storedAt, confirmed.stored.storedAt) = (5, 9)
        caches[0].store(entry)
        await caches[0].flush()
        switch change {
        case .stored: caches[1].store(new)
        case .erased: try await caches[1].purge()
        case .invalidated: try await caches[1].invalidate(.all)
        }
        await caches[1].flush()
        let left = caches[1].find(entry.key, request: entry.request)
        caches[0].confirm(confirmed, replacing: entry.stored)
        if store.memory == 0 { #expect(caches[0].find(entry.key, request: entry.request) == left) }
        await caches[0].flush()
        #expect(caches[0].find(entry.key, request: entry.request) == left)
        guard change == .invalidated, let left else { return }
        // A confirmation of the present entry is accepted.
        caches[0].confirm(confirmed, replacing: left)
        #expect(caches[0].find(entry.key, request: entry.request) == confirmed.stored)
        await caches[0].flush()
        #expect(try caches[1].findOnDisk(entry.key, request: entry.request) == confirmed.stored)
    }

    @Test(arguments: [Change.stored, .erased], [(false, false), (false, true), (true, false), (true, true)])
    func `a late confirmation does not undo a pending change`(
        change: Change,
        old state: (isInMemory: Bool, isWritten: Bool)
    ) async throws {
        let cache = try caches(sealed: false, memory: 1 << 20)[0]
        let old = try entry("a", body: Data("old".utf8))
        var (new, confirmed) = (try entry("a", body: Data("new body".utf8)), old)
        (new.stored.storedAt, confirmed.stored.storedAt) = (5, 9)
        cache.store(old)
        if state.isWritten { await cache.flush() }
        if change == .stored { cache.store(new) } else { cache.forget(old.key) }
        if !state.isInMemory { cache.memory.removeAll() }
        cache.confirm(confirmed, replacing: old.stored)
        let left = change == .stored ? new.stored : nil
        #expect(cache.find(old.key, request: old.request) == left)
        await cache.flush()
        cache.memory.removeAll()
        #expect(cache.find(old.key, request: old.request) == left)
    }

    @Test(arguments: [false, true])
    func `a pending entry can be confirmed`(isInMemory: Bool) async throws {
        let cache = try caches(sealed: false, memory: 1 << 20)[0]
        var entry = try entry("a")
        cache.store(entry)
        for time in [9, 10] as [WallTime] {
            if !isInMemory { cache.memory.removeAll() }
            var confirmed = entry
            confirmed.stored.storedAt = time
            cache.confirm(confirmed, replacing: entry.stored)
            #expect(cache.find(entry.key, request: entry.request) == confirmed.stored)
            entry = confirmed
        }
        await cache.flush()
        // The store and the confirmations count as one stored response.
        #expect(try cache.statistics().map(\.stores) == [1])
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
    }

    @Test func `a response too large for the disk is confirmed in memory`() async throws {
        let cache = try Cache(temporary.store, memoryCapacity: 1 << 20, diskCapacity: 1 << 10)
        let entry = try entry("a", body: Data(count: 5000))
        var confirmed = entry
        confirmed.stored.storedAt = 9
        cache.store(entry)
        cache.confirm(confirmed, replacing: entry.stored)
        await cache.flush()
        #expect(cache.find(entry.key, request: entry.request) == confirmed.stored)
    }

    @Test func `a change that cannot be written does not prevent the other changes`() async throws {
        let failures = Guarded(0)
        let activity = Activity()
        let observation = activity.observe { event in
            if case .cacheFailed = event { failures.withLock { $0 += 1 } }
        }
        let cache = try Cache(temporary.store, activity: activity, memoryCapacity: 0)
        var bad = try entry("bad")
        bad.stored.status = 5000
        let good = try (0..<9).map { try entry("\($0)") }
        for entry in good.prefix(5) + [bad] + good.suffix(4) { cache.store(entry) }
        await cache.flush()
        for entry in good { #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored) }
        #expect(failures.withLock { $0 } == 1)
        withExtendedLifetime(observation) {}
    }

    @Test(arguments: [0, 2]) func `counts of a change that cannot be written are written with the next`(
        good: Int
    ) async throws {
        let cache = try Cache(temporary.store, memoryCapacity: 0, timing: CacheTiming(writeDelay: .seconds(86_400)))
        try cache.setRecording(true)
        let used = try entry("used")
        cache.store(used)
        await cache.flush()
        for _ in 0..<3 { cache.count(.cache, of: used.stored, under: used.key) }
        #expect(try cache.findOnDisk(used.key, request: used.request) != nil)
        var bad = try entry("bad")
        bad.stored.status = 5000
        for entry in try [bad] + (0..<good).map({ try entry("\($0)") }) { cache.store(entry) }
        await cache.flush()
        let hours = try cache.statistics()
        #expect(hours.map(\.hits).reduce(0, +) == 3)
        #expect(hours.map(\.stores).reduce(0, +) == Int64(1 + good))
        #expect(try temporary.rows("entry WHERE is_visited = 1") == 1)
        #expect(try cache.file.read(CacheTable.accesses).accesses.map(\.uses).reduce(0, +) == Int64(5 + good))
        #expect(try temporary.rows("entry") == Int64(1 + good))
    }

    @Test func `recorded uses are written before too many of them are pending`() async throws {
        let cache = try open()
        let entries = try (0..<4100).map { try entry("\($0)") }
        for entry in entries { cache.store(entry) }
        await cache.flush()
        for entry in entries { _ = try cache.findOnDisk(entry.key, request: entry.request) }
        // This waits for the writer, and writes nothing itself.
        _ = try await cache.unpin(entries[0].key)
        #expect(try temporary.rows("entry WHERE is_visited = 1") >= 4096)
    }

    @Test func `a purge removes one entry or all, with the rows of their bodies`() async throws {
        let cache = try open(memory: 1 << 20)
        let entries = try (0..<5).map { try entry("\($0)") }
        for entry in entries { cache.store(entry) }
        #expect(try await cache.purge(.key(entries[0].key)) == 1)
        #expect(try await cache.purge(.key(entries[0].key)) == 0)
        #expect(cache.find(entries[0].key, request: entries[0].request) == nil)
        #expect(cache.find(entries[1].key, request: entries[1].request) != nil)
        #expect(try await cache.purge() == 4)
        #expect(cache.find(entries[1].key, request: entries[1].request) == nil)
        #expect(try temporary.rows("body") == 0)
    }

    @Test func `a list has the newest entries first, page by page`() async throws {
        let cache = try open()
        for age in 0..<5 {
            var entry = try entry("\(age)")
            entry.stored.storedAt = WallTime(rawValue: Int64(age))
            cache.store(entry)
        }
        await cache.flush()
        #expect(try cache.list(limit: 2).map(\.url) == ["http://h/4", "http://h/3"])
        #expect(try cache.list(limit: 9).dropFirst(4).map(\.url) == ["http://h/0"])
    }

    @Test(arguments: CacheOrder.allCases, [false, true])
    func `a page begins after its cursor, even among equal or deleted entries`(order: CacheOrder, isSealed: Bool)
        async throws
    {
        let seal = isSealed ? AESGCMSeal.first : nil
        let cache = try Cache(temporary.store, seal: seal, memoryCapacity: 0)
        for name in 0..<9 {
            var entry = try entry("\(name * 7 % 9)")
            entry.stored.storedAt = WallTime(rawValue: Int64(name / 4))
            entry.stored.body = Data(count: 1 + name / 4)
            cache.store(entry)
        }
        await cache.flush()
        let all = try cache.list(by: order, limit: 20)
        #expect(all.count == 9)
        for place in 0..<9 {
            let cursor = CacheCursor(after: all[place], by: order)
            #expect(CacheCursor(cursor.text) == cursor)
            #expect(
                try cache.list(by: order, after: cursor, limit: 3).map(\.id)
                    == all.dropFirst(place + 1).prefix(3).map(\.id))
        }
        try await cache.purge(.key(all[4].key))
        let rest = try cache.list(by: order, after: CacheCursor(after: all[4], by: order), limit: 20)
        #expect(rest.map(\.id) == all.dropFirst(5).map(\.id))
    }

    @Test func `a list by the first digits of a key has at most two entries`() async throws {
        let cache = try open()
        let entries = try (0..<40).map { try entry("\($0)") }
        for entry in entries { cache.store(entry) }
        await cache.flush()
        for (entry, count) in entries.flatMap({ entry in [1, 2, 15, 16, 17, 64].map { (entry, $0) } }) {
            let digits = String(entry.key.description.prefix(count))
            let meant = entries.map(\.key).filter { $0.description.hasPrefix(digits) }
            let found = try cache.list(beginning: digits.uppercased()).map(\.key)
            #expect(found.count == min(2, meant.count) && found.allSatisfy(meant.contains), "\(digits)")
        }
        for none in ["x", "+1", "0x", "é"] { #expect(try cache.list(beginning: none).isEmpty) }
    }

    @Test func `a lookup of a key's first digits uses one range of an index`() throws {
        _ = try open()
        let plan = try temporary.plan(
            """
            SELECT key, min(is_partial) FROM entry
            WHERE key_prefix BETWEEN 0 AND 1 AND substr(lower(hex(key)), 1, 15) = '000000000000000' GROUP BY key LIMIT 2
            """
        )
        #expect(plan.first?.hasPrefix("SEARCH entry USING INDEX entry_by_key (key_prefix>") == true, "\(plan)")
    }

    @Test(arguments: [
        ("(stored_at, id) < (?, ?) ORDER BY stored_at DESC, id DESC", "entry_by_age (stored_at"),
        ("(body_size, id) < (?, ?) ORDER BY body_size DESC, id DESC", "entry_by_size (body_size"),
        ("(url, id) > (?, ?) ORDER BY url, id", "entry_by_url (url"),
    ]) func `a deep page begins in its index, without sorting`(condition: String, index: String) throws {
        _ = try open()
        let plan = try temporary.plan("SELECT key FROM entry WHERE TRUE AND \(condition) LIMIT ?")
        #expect(plan.count == 1 && plan.first?.contains("SEARCH entry USING INDEX \(index)") == true, "\(plan)")
    }

    @Test func `counts use indexes only`() throws {
        _ = try open()
        let plan = try temporary.plan("SELECT count(*), sum(body_size), (SELECT max(stored_at) FROM entry) FROM entry")
        #expect(plan.contains { $0.hasPrefix("SCAN entry USING COVERING INDEX entry_by_size") }, "\(plan)")
        #expect(plan.contains { $0.hasPrefix("SEARCH entry USING COVERING INDEX entry_by_age") }, "\(plan)")
    }

    // These run ten times a second while requests are made.
    @Test func `a search for changes and leftovers does not scan the entries`() async throws {
        let cache = try open()
        for number in 0..<20 { cache.store(try entry("\(number)")) }
        await cache.flush()
        let steps = try temporary.scanned { (connection) throws(SQLiteError) in
            #expect(try CacheTable.changes(after: .start, on: connection).position == .start)
            #expect(try !CacheTable.arePartials(on: connection))
            #expect(try CacheTable.partialCount(on: connection) == 0)
        }
        #expect(steps == 0)
        let walk = try temporary.scanned { (connection) throws(SQLiteError) in
            _ = try connection.integer("SELECT sum(length(headers)) FROM entry")
        }
        #expect(walk >= 19)
    }

    @Test func `a lookup uses one range of rows, without sorting and without a scan`() throws {
        _ = try open()
        let plan = try temporary.plan(
            """
            SELECT bytes FROM entry LEFT JOIN body ON body.id BETWEEN entry.id << 20 AND (entry.id << 20) + 1048575
            WHERE key_prefix = 1 AND variant = 0 AND is_partial = 0 ORDER BY body.id
            """
        )
        #expect(plan.allSatisfy { !$0.contains("SCAN") && !$0.contains("TEMP B-TREE") }, "\(plan)")
    }
}

extension TemporaryStore {
    /// The store's file, opened by a connection of the test.
    private func database() throws -> SQLiteDatabase {
        try SQLiteDatabase(path: store.cachePath, configuration: .ofCacheFile)
    }

    func execute(_ sql: String) throws {
        try database().write { (connection) throws(SQLiteError) in try connection.execute(sql) }
    }

    func rows(_ table: String) throws -> Int64 {
        try database().read { (connection) throws(SQLiteError) in
            let count = try connection.statement(composed: "SELECT count(*) FROM \(table)")
            return try count.step() ? count.int64(0) : 0
        }
    }

    /// The first column of every row.
    func texts(_ sql: String) throws -> [String] {
        try database().read { (connection) throws(SQLiteError) in
            let rows = try connection.statement(composed: sql)
            var texts: [String] = []
            while try rows.step() { texts.append(rows.text(0)) }
            return texts
        }
    }

    func plan(_ sql: String) throws -> [String] {
        try database().read { (connection) throws(SQLiteError) in
            let rows = try connection.statement(composed: "EXPLAIN QUERY PLAN " + sql)
            var plan: [String] = []
            while try rows.step() { plan.append(rows.text(3)) }
            return plan
        }
    }

    /// Returns the number of rows that the statements of `work` scan because no index helps them.
    func scanned(
        _ work: (borrowing SQLiteConnection) throws(SQLiteError) -> Void
    ) throws -> Int32 {
        try database().read { (connection) throws(SQLiteError) in
            try work(connection)
            var (steps, statement) = (Int32(0), sqlite3_next_stmt(connection.handle.pointer, nil))
            while let current = statement {
                steps += sqlite3_stmt_status(current, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0)
                statement = sqlite3_next_stmt(connection.handle.pointer, current)
            }
            return steps
        }
    }
}
