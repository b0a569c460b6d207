import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("The cache on a failing disk", .limit(minutes: 10)) struct CacheFaultTests {
    /// A sequence of operations of a cache, on a disk of its own.
    private struct CacheScenario {
        let temporary = TemporaryStore()
        let disk: FaultDisk
        private(set) var record = FaultRecord()
        private(set) var refusals: [CacheError] = []

        init() { disk = FaultDisk(directory: temporary.directory) }

        /// Stores, replaces, confirms, forgets and purges, then closes.
        mutating func run() async throws {
            try await use()
            await disk.closed()
        }

        private mutating func use() async throws {
            guard let cache = open() else { return }
            for entry in try Self.entries { store(entry, in: cache) }
            await cache.flush()
            record.check(cache, "stored")
            store(try FaultEntries.entry(2, size: 700, version: 2), in: cache)
            confirm(try FaultEntries.entry(5, size: 300 << 10), in: cache)
            cache.forget(try FaultEntries.entry(3, size: 0).key)
            await cache.flush()
            record.check(cache, "changed")
            await purge(cache)
            record.check(cache, "purged")
            for entry in try Self.entries.prefix(3) { store(entry, in: cache) }
            await cache.flush()
            record.check(cache, "stored again")
        }

        private static var entries: [CacheEntry] {
            get throws {
                try (0..<10).map { try FaultEntries.entry($0, size: [0, 1 << 10, 300 << 10, 5000, 100][$0 % 5]) }
            }
        }

        private mutating func open() -> Cache? {
            var store = temporary.store
            store.vfs = disk.vfs
            do {
                return try Cache(store, memoryCapacity: 0)
            } catch {
                refusals.append(error)
                return nil
            }
        }

        private mutating func store(_ entry: CacheEntry, in cache: Cache) {
            record.note(entry)
            cache.store(entry)
        }

        private mutating func confirm(_ entry: CacheEntry, in cache: Cache) {
            var confirmed = entry
            confirmed.stored.storedAt += 1000
            record.note(confirmed)
            cache.confirm(confirmed, replacing: entry.stored)
        }

        private mutating func purge(_ cache: Cache) async {
            do { try await cache.purge() } catch { refusals.append(error) }
        }
    }

    /// The numbers of the disk calls that fail. A short run tries one call in 100, and other calls each time.
    private func calls(_ fault: FaultDisk.Fault) async throws -> StrideThrough<Int> {
        var life = CacheScenario()
        try await life.run()
        #expect(life.refusals.isEmpty)
        #expect(life.record.versions.count == 10)
        let count = life.disk.calls(fitting: fault)
        #expect(count > 0)
        return Effort.places(to: count, oneIn: 100)
    }

    /// After the fault, the store opens, answers nothing wrong, and stores new entries.
    private func checkAfterwards(_ life: CacheScenario, _ place: String) async throws {
        var record = life.record
        let cache = try Cache(life.temporary.store, memoryCapacity: 0)
        record.check(cache, "\(place), opened again")
        let entry = try FaultEntries.entry(99, size: 2000)
        cache.store(entry)
        await cache.flush()
        #expect(cache.find(entry.key, request: entry.request) == entry.stored, "\(place)")
        record.check(cache, "\(place), used again")
        #expect(record.wrongBodies.isEmpty && record.wrongHeads.isEmpty, "\(place)")
    }

    @Test(arguments: FaultDisk.Fault.survivable, [false, true])
    func `a cache never answers wrongly after a fault, and works again`(fault: FaultDisk.Fault, lasting: Bool)
        async throws
    {
        var helpless: Set<String> = []
        for call in try await calls(fault) {
            var life = CacheScenario()
            life.disk.fail(fault, atCall: call, lasting: lasting)
            try await life.run()
            // The remedy of an error depends on its code, and `other` has none.
            for error in life.refusals where error.code == .other {
                helpless.insert(error.message.replacing(life.temporary.directory.path, with: ""))
            }
            try await checkAfterwards(life, "\(call)")
        }
        #expect(helpless.isEmpty)
    }

    @Test(arguments: [false, true])
    func `a cache never answers wrongly after a power failure`(keepsSome: Bool) async throws {
        for call in try await calls(.powerLoss) {
            var life = CacheScenario()
            life.disk.fail(.powerLoss, atCall: call)
            try await life.run()
            try life.disk.cutPower(seed: keepsSome ? Effort.seed &+ UInt64(call) : nil)
            try await checkAfterwards(life, "\(call), seed \(Effort.seed)")
        }
    }

    @Test func `a purge that fails on a full disk keeps the deletions that were committed`() async throws {
        let temporary = TemporaryStore()
        let disk = FaultDisk(directory: temporary.directory)
        var store = temporary.store
        store.vfs = disk.vfs
        let cache = try Cache(store, memoryCapacity: 0)
        for number in 0..<24 { cache.store(try FaultEntries.entry(number, size: 1 << 20)) }
        await cache.flush()
        // Two writes for each page of the log: enough for less than half of the entries.
        disk.fail(.full, atCall: 2000, lasting: true)
        let error = await #expect(throws: CacheError.self) { try await cache.purge() }
        #expect(error?.code == .diskFull)
        disk.heal()
        let left = try cache.totals().entries
        #expect((1..<24).contains(left))
        try await cache.purge()
        #expect(try cache.totals().entries == 0)
    }

    @Test(arguments: ["forgotten", "replaced"])
    func `a cache serves no outdated response after a failed write`(change: String) async throws {
        let temporary = TemporaryStore()
        let disk = FaultDisk(directory: temporary.directory)
        var store = temporary.store
        store.vfs = disk.vfs
        let cache = try Cache(store, memoryCapacity: 0)
        let (old, new) = (try FaultEntries.entry(1, size: 10), try FaultEntries.entry(1, size: 10, version: 2))
        cache.store(old)
        await cache.flush()
        disk.fail(.full, atCall: 1, lasting: true)
        if change == "forgotten" { cache.forget(old.key) } else { cache.store(new) }
        await cache.flush()
        #expect(disk.failures > 0)
        #expect(cache.find(old.key, request: old.request) == nil)
        disk.heal()
        await cache.flush()
        #expect(try Cache(store, memoryCapacity: 0).find(old.key, request: old.request) == nil)
    }

    /// A store on a disk, with nothing in memory.
    private func open(_ temporary: TemporaryStore, _ disk: FaultDisk) throws -> Cache {
        var store = temporary.store
        store.vfs = disk.vfs
        return try Cache(store, memoryCapacity: 0)
    }

    @Test func `a cache serves an entry as stale even while its invalidation cannot be written`() async throws {
        let temporary = TemporaryStore()
        let disk = FaultDisk(directory: temporary.directory)
        let cache = try open(temporary, disk)
        let (entry, other) = (try FaultEntries.entry(1, size: 10), try FaultEntries.entry(2, size: 10))
        for entry in [entry, other] { cache.store(entry) }
        await cache.flush()
        disk.fail(.full, atCall: 1, lasting: true)
        cache.markStale(urls: [entry.url])
        await cache.flush()
        #expect(disk.failures > 0)
        var stale = entry.stored
        stale.flags.insert(.invalidated)
        let find = { (cache: Cache, entry: CacheEntry) in
            cache.find(entry.key, request: entry.request, url: entry.url)
        }
        #expect(find(cache, entry) == stale)
        #expect(find(cache, other) == other.stored)
        disk.heal()
        await cache.flush()
        #expect(find(cache, entry) == stale)
        #expect(find(try open(temporary, disk), entry) == stale)
    }

    @Test func `a cache counts only the responses that could be stored`() async throws {
        let temporary = TemporaryStore()
        let disk = FaultDisk(directory: temporary.directory)
        let cache = try open(temporary, disk)
        for number in 0..<3 {
            if number == 1 { disk.fail(.full, atCall: 1, lasting: true) }
            cache.store(try FaultEntries.entry(number, size: 10))
            await cache.flush()
            disk.heal()
        }
        #expect(try cache.totals().entries == 2)
        #expect(try cache.statistics().map(\.stores).reduce(0, +) == 2)
    }

    @Test func `a cache serves no outdated response after more failed writes than it remembers`() async throws {
        let temporary = TemporaryStore()
        let disk = FaultDisk(directory: temporary.directory)
        let cache = try open(temporary, disk)
        let old = try (0...PendingChanges.maximumFailures).map { try FaultEntries.entry($0, size: 10) }
        for entry in old { cache.store(entry) }
        await cache.flush()
        #expect(try cache.totals().entries == old.count)
        disk.fail(.full, atCall: 1, lasting: true)
        for number in old.indices { cache.store(try FaultEntries.entry(number, size: 10, version: 2)) }
        await cache.flush()
        #expect(old.allSatisfy { cache.find($0.key, request: $0.request) == nil })
        disk.heal()
        let new = try FaultEntries.entry(9999, size: 10)
        cache.store(new)
        await cache.flush()
        #expect(cache.find(new.key, request: new.request) == new.stored)
        #expect(try open(temporary, disk).list(limit: 9).map(\.key) == [new.key])
    }

    @Test func `a cache goes on to answer stored entries while many other changes cannot be written`() async throws {
        let temporary = TemporaryStore()
        let disk = FaultDisk(directory: temporary.directory)
        let cache = try open(temporary, disk)
        let kept = try FaultEntries.entry(0, size: 10)
        cache.store(kept)
        await cache.flush()
        disk.fail(.full, atCall: 1, lasting: true)
        for number in 0...PendingChanges.maximumFailures { cache.store(try FaultEntries.entry(number + 1, size: 10)) }
        await cache.flush()
        #expect(disk.failures > 0)
        #expect(cache.find(kept.key, request: kept.request) == kept.stored)
    }

    @Test func `a cache keeps its entries while invalidations of missing entries cannot be written`() async throws {
        let temporary = TemporaryStore()
        let disk = FaultDisk(directory: temporary.directory)
        let cache = try open(temporary, disk)
        let (kept, new) = (try FaultEntries.entry(1, size: 10), try FaultEntries.entry(2, size: 10))
        cache.store(kept)
        await cache.flush()
        disk.fail(.full, atCall: 1, lasting: true)
        for number in 0...PendingChanges.maximumFailures { cache.markStale(urls: ["http://h/none/\(number)"]) }
        await cache.flush()
        #expect(disk.failures > 0)
        #expect(cache.find(kept.key, request: kept.request) == kept.stored)
        disk.heal()
        let last = try cache.file.read(CacheTable.newestChange)
        cache.store(new)
        await cache.flush()
        for entry in [kept, new] { #expect(cache.find(entry.key, request: entry.request) == entry.stored) }
        // Other processes may have the invalidated entries in memory.
        #expect(
            try cache.file.read { (connection) throws(SQLiteError) in
                try CacheTable.changes(after: last, on: connection).names == nil
            })
    }

    @Test func `a cache announces a purge that failed to be written, even of entries not in its file`()
        async throws
    {
        let temporary = TemporaryStore()
        let disk = FaultDisk(directory: temporary.directory)
        let cache = try open(temporary, disk)
        let entry = try FaultEntries.entry(1, size: 10)
        disk.fail(.full, atCall: 1, lasting: true)
        cache.forget(entry.key)
        await cache.flush()
        #expect(disk.failures > 0)
        disk.heal()
        let last = try cache.file.read(CacheTable.newestChange)
        await cache.flush()
        let names = try cache.file.read { (connection) throws(SQLiteError) in
            try CacheTable.changes(after: last, on: connection).names
        }
        #expect(names.map { $0.keys.contains(entry.key.prefix) } ?? true)
    }

    @Test func `a cache tries once to write pending invalidations, even if its file cannot be opened`() async throws {
        let temporary = TemporaryStore()
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        try FileManager.default.removeItem(at: temporary.directory)
        try Data().write(to: temporary.directory)
        defer { try? FileManager.default.removeItem(at: temporary.directory) }
        for number in 0..<3 {
            cache.markStale(urls: ["http://h/\(number)"])
            await cache.flush()
            #expect(cache.writer.state.withLock { $0.untriedInvalidations.isEmpty && $0.mustReconcile })
        }
    }
}
