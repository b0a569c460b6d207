import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The file of a store") struct CacheFileTests {
    let temporary = TemporaryStore()
    private let events = RecordedCacheEvents()

    private func open(_ diskCapacity: Int64 = Cache.defaultDiskCapacity) throws -> Cache {
        try Cache(temporary.store, activity: events.activity, memoryCapacity: 0, diskCapacity: diskCapacity)
    }

    private func entry(_ name: String) throws -> CacheEntry { try .stub(name) }

    private func setAside() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: temporary.directory.path).filter {
            $0.contains(".corrupt-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
        }
    }

    @Test func `a file that is no database is set aside, and a new one is created`() async throws {
        try FileManager.default.createDirectory(at: temporary.directory, withIntermediateDirectories: true)
        try Data(repeating: 1, count: 8192).write(to: URL(filePath: temporary.store.cachePath))
        let cache = try open()
        let entry = try entry("a")
        cache.store(entry)
        await cache.flush()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
        #expect(try setAside().count == 1)
        #expect(events.setAside.count == 1)
    }

    @Test(arguments: SelfDescription.allCases)
    func `a file with a wrong header is set aside, and a new one is created`(wrong: SelfDescription) async throws {
        let entry = try entry("a")
        do {
            let cache = try open()
            cache.store(entry)
            await cache.flush()
            _ = try await cache.purge(.key(entry.key))  // empties the log
        }
        let file = URL(filePath: temporary.store.cachePath)
        var bytes = try Data(contentsOf: file)
        try wrong.damage(&bytes)
        try bytes.write(to: file)
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: temporary.store.cachePath + suffix)
        }
        let cache = try open()
        cache.store(entry)
        await cache.flush()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
        #expect(try setAside().count == 1)
        #expect(events.setAside.count == 1)
    }

    /// Fields that an SQLite file has in its first page (https://sqlite.org/fileformat2.html). SQLite takes a
    /// wrong one for an error of its caller.
    enum SelfDescription: CaseIterable {
        case format, version, column

        func damage(_ bytes: inout Data) throws {
            switch self {
            case .format: bytes[47] ^= 8
            case .version: bytes[63] = 0
            case .column:
                let name = try #require(bytes.firstRange(of: Data("value         BLOB".utf8)))
                bytes[name.lowerBound] ^= 1
            }
        }
    }

    @Test func `a file that is no database is left alone by read-only callers`() throws {
        try FileManager.default.createDirectory(at: temporary.directory, withIntermediateDirectories: true)
        try Data(repeating: 1, count: 8192).write(to: URL(filePath: temporary.store.cachePath))
        let error = #expect(throws: CacheError.self) { try Cache(temporary.store, create: false) }
        #expect(error?.code == .corrupt)
        #expect(try setAside().isEmpty)
    }

    @Test(arguments: [false, true])
    func `a removed file is not created again once abandoned, even if SQLite reports damage`(isAbandoned: Bool) throws {
        let file = try CacheFile(temporary.store, recreates: true, activity: events.activity)
        if isAbandoned { file.abandon() }
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: temporary.store.cachePath + suffix)
        }
        #expect(throws: CacheError.self) {
            try file.read { (connection) throws(SQLiteError) in throw SQLiteError(.corrupt, "damaged", path: "") }
        }
        #expect(FileManager.default.fileExists(atPath: temporary.store.cachePath) == !isAbandoned)
    }

    @Test func `a file that SQLite finds replaced is tried once more with a new connection`() throws {
        let file = try CacheFile(temporary.store, recreates: true, activity: events.activity)
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: temporary.store.cachePath + suffix)
        }
        var calls = 0
        let count = try file.read { (connection) throws(SQLiteError) in
            calls += 1
            if calls == 1 { throw SQLiteError(.fileReplaced, "replaced", path: "") }
            return try connection.integer("SELECT count(*) FROM entry")
        }
        #expect(count == 0 && calls == 2)
        #expect(FileManager.default.fileExists(atPath: temporary.store.cachePath))
    }

    @Test func `a file damaged during its use is set aside, and a new one has the same secret`() async throws {
        let cache = try open()
        let entries = try (0..<50).map { try entry("\($0)") }
        for entry in entries { cache.store(entry) }
        _ = try await cache.purge(.key(entries[0].key))  // empties the log
        try damage()
        #expect(cache.find(entries[1].key, request: entries[1].request) == nil)
        cache.store(entries[2])
        await cache.flush()
        #expect(cache.find(entries[2].key, request: entries[2].request) == entries[2].stored)
        #expect(try setAside().count == 1)
        let other = try Cache(temporary.store, memoryCapacity: 0)
        #expect(other.find(entries[2].key, request: entries[2].request) == entries[2].stored)
        #expect(other.rules.digest(of: [1]) == cache.rules.digest(of: [1]))
    }

    /// Overwrites every page but the first.
    private func damage() throws {
        let file = try FileHandle(forWritingTo: URL(filePath: temporary.store.cachePath))
        let size = try file.seekToEnd()
        try file.seek(toOffset: 8192)
        try file.write(contentsOf: Data(repeating: 0xA5, count: Int(size) - 8192))
    }

    @Test func `a damaged file is set aside once by two processes that find it`() async throws {
        let (first, second) = (try open(), try open())
        let entry = try entry("a")
        let purged = try self.entry("b")
        for entry in [entry, purged] { first.store(entry) }
        _ = try await first.purge(.key(purged.key))  // empties the log
        try damage()
        #expect(first.find(entry.key, request: entry.request) == nil)
        #expect(second.find(entry.key, request: entry.request) == nil)
        first.store(entry)
        await first.flush()
        #expect(second.find(entry.key, request: entry.request) == entry.stored)
        #expect(try setAside().count == 1)
    }

    @Test func `a purge by a predicate deletes a file that it finds damaged`() async throws {
        let cache = try open()
        let entries = try (0..<50).map { try entry("\($0)") }
        for entry in entries { cache.store(entry) }
        _ = try await cache.purge(.key(entries[0].key))  // empties the log
        try damage()
        let error = await #expect(throws: CacheError.self) { try await cache.purge { _ in true } }
        #expect(error?.code == .corrupt)
        #expect(events.setAside.count == 1)
        #expect(try setAside().isEmpty)
    }

    @Test func `a file removed under a running process is created again`() async throws {
        let uptime = Guarded(Uptime(rawValue: 0))
        let cache = try Cache(
            temporary.store, memoryCapacity: 1 << 20, timing: CacheTiming(uptime: { uptime.withLock { $0 } }))
        let entry = try entry("a")
        cache.store(entry)
        await cache.flush()
        try FileManager.default.removeItem(at: temporary.directory)
        uptime.withLock { $0 += CrossProcessChanges.interval }
        #expect(cache.find(entry.key, request: entry.request) == nil)
        cache.store(entry)
        await cache.flush()
        let other = try Cache(temporary.store, memoryCapacity: 0)
        #expect(other.find(entry.key, request: entry.request) == entry.stored)
    }

    @Test func `a file removed after its cache was released is not created again by pending changes`() async throws {
        var cache: Cache? = try Cache(temporary.store, timing: CacheTiming(writeDelay: .seconds(60)))
        let writer = try #require(cache?.writer)
        cache?.store(try entry("a"))
        cache = nil
        try FileManager.default.removeItem(at: temporary.directory)
        await writer.flush()
        #expect(!FileManager.default.fileExists(atPath: temporary.directory.path))
    }

    @Test func `a file removed without its WAL index is created again with a new index`() async throws {
        let running = try open()
        // The running process has the index open, so no other file gets its inode number.
        let index = FileIdentity(temporary.store.cachePath + "-shm")
        try FileManager.default.removeItem(atPath: temporary.store.cachePath)
        let other = try open()
        #expect(index != nil && FileIdentity(temporary.store.cachePath + "-shm") != index)
        let entries = try [entry("a"), entry("b")]
        running.store(entries[0])
        other.store(entries[1])
        for cache in [running, other] { await cache.flush() }
        for cache in [running, other] {
            for entry in entries { #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored) }
        }
    }

    @Test func `a file is created only by a process that can lock it, and opened where it exists`() throws {
        try temporary.store.create()
        try FileManager.default.createDirectory(atPath: temporary.store.lockPath, withIntermediateDirectories: false)
        let error = #expect(throws: CacheError.self) { try open() }
        #expect(error?.code == .cannotOpen)
        #expect(!FileManager.default.fileExists(atPath: temporary.store.cachePath))
        try FileManager.default.removeItem(atPath: temporary.store.lockPath)
        _ = try open()
        try FileManager.default.removeItem(atPath: temporary.store.lockPath)
        try FileManager.default.createDirectory(atPath: temporary.store.lockPath, withIntermediateDirectories: false)
        #expect(try open().totals().entries == 0)
    }

    @Test func `a purge of many entries keeps the write-ahead log short`() async throws {
        let disk = FaultDisk(directory: temporary.directory)
        var store = temporary.store
        store.vfs = disk.vfs
        let cache = try Cache(store, memoryCapacity: 0)
        for index in 0..<40 { cache.store(try .stub("\(index)", size: 1 << 20)) }
        await cache.flush()
        #expect(try await cache.purge() == 40)
        #expect(try cache.totals().entries == 0)
        #expect(try cache.totals().diskBytes < 1 << 20)
        #expect(disk.longestLog < 16 << 20)
    }

    @Test func `a file is purged of rows that belong to no entry`() async throws {
        let cache = try open()
        cache.store(try entry("a"))
        await cache.flush()
        // More rows than one transaction deletes.
        try temporary.execute(
            """
            WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number LIMIT 70)
            INSERT INTO body (id, bytes) SELECT (9 << 20) + n, x'07' FROM number;
            INSERT INTO tag (entry, name) VALUES (9, 'a');
            """
        )
        #expect(try await cache.purge() == 1)
        #expect(try temporary.rows("body") == 0)
        #expect(try temporary.rows("tag") == 0)
    }

    @Test(arguments: ["lifetime = NULL", "lifetime = 0, flags = 0"])
    func `a row with an impossible size is deleted`(kind: String) async throws {
        let cache = try open()
        for name in ["a", "b"] { cache.store(try entry(name)) }
        await cache.flush()
        try temporary.execute("UPDATE entry SET body_size = 9223372036854775807, \(kind)")
        #expect(try await cache.evict(to: 0).count == 2)
    }

    @Test(arguments: [nil, AESGCMSeal.first])
    func `a row with the largest ID is handled as any other`(seal: AESGCMSeal?) async throws {
        let cache = try Cache(temporary.store, seal: seal, memoryCapacity: 0)
        let entry = try CacheEntry.stub("a")
        cache.store(entry)
        await cache.flush()
        try temporary.execute("UPDATE entry SET id = \(Int64.max)")
        #expect(try cache.list(by: .url, limit: 9).count == 1)
        #expect(try await cache.invalidate(where: { _ in true }) == 1)
        cache.store(entry)
        await cache.flush()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
        #expect(try await cache.evict(to: 0).count == 1)
    }

    @Test func `a file stores new responses although pinned responses exceed its limit`() async throws {
        let cache = try open(64 << 20)
        for index in 0..<30 {
            let pinned = try CacheEntry.stub("\(index)", size: 300_000)
            cache.store(pinned)
            #expect(try await cache.pin(pinned.key))
        }
        cache.diskCapacity = 8 << 20
        await cache.flush()
        let new = try CacheEntry.stub("new")
        cache.store(new)
        await cache.flush()
        #expect(try cache.findOnDisk(new.key, request: new.request) == new.stored)
    }

    @Test func `a file stays within its limit, and spares used and pinned entries`() async throws {
        let capacity: Int64 = 40 << 20
        let cache = try open(capacity)
        let pinned = try entry("pinned")
        cache.store(pinned)
        #expect(try await cache.pin(pinned.key))
        let used = try entry("used")
        cache.store(used)
        for index in 0..<400 {
            cache.store(try .stub("\(index)", body: Data(repeating: UInt8(index & 255), count: 150_000)))
            if index % 20 == 0 {
                await cache.flush()
                #expect(try cache.findOnDisk(used.key, request: used.request) != nil)
                #expect(try cache.totals().diskBytes <= capacity)
            }
        }
        await cache.flush()
        #expect(try cache.totals().diskBytes <= capacity)
        #expect(try cache.findOnDisk(pinned.key, request: pinned.request)?.body == pinned.stored.body)
        #expect(events.evicted > 100)
        #expect(try cache.statistics().map(\.evictions).reduce(0, +) == Int64(events.evicted))
    }

    @Test func `an expired entry that cannot be revalidated is evicted first`() async throws {
        let cache = try open(26 << 20)
        let expired = try (0..<20).map { try CacheEntry.stub("expired\($0)", size: 300_000, lifetime: 1, flags: []) }
        let kept = try (0..<20).map { try CacheEntry.stub("kept\($0)", size: 300_000, lifetime: 1) }
        for entry in kept + expired { cache.store(entry) }
        await cache.flush()
        for index in 0..<15 { cache.store(try .stub("new\(index)", size: 300_000, lifetime: nil)) }
        await cache.flush()
        #expect(try kept.allSatisfy { try cache.findOnDisk($0.key, request: $0.request) != nil })
        #expect(try expired.contains { try cache.findOnDisk($0.key, request: $0.request) == nil })
    }

    @Test func `a file returns its space when the limit is lowered`() async throws {
        let cache = try open(64 << 20)
        for index in 0..<100 { cache.store(try .stub("\(index)", size: 300_000, lifetime: nil)) }
        await cache.flush()
        #expect(try cache.totals().diskBytes > 28 << 20)
        cache.diskCapacity = 16 << 20
        await cache.flush()
        #expect(try cache.totals().diskBytes < 26 << 20)
        #expect(try temporary.rows("entry") > 0)
    }

    @Test func `a response larger than a quarter of the limit is not stored, and the older one is deleted`()
        async throws
    {
        let cache = try open(16 << 20)
        let small = try entry("a")
        cache.store(small)
        await cache.flush()
        cache.store(try .stub("a", size: 5 << 20))
        await cache.flush()
        #expect(try cache.findOnDisk(small.key, request: small.request) == nil)
    }
}

extension CacheEntry {
    static func stub(
        _ name: String,
        size: Int = 4,
        body: Data? = nil,
        lifetime: Int64? = 60_000,
        flags: StoredResponse.Flags = .hasValidator,
        tags: Tags = [],
        identity: String? = nil
    ) throws -> CacheEntry {
        let url = name.contains("://") ? name : "http://h/\(name)"
        let form = try CanonicalForm(of: Request(url), rules: KeyRules())
        var stored = StoredResponse.stub(lifetime: lifetime, flags: flags, initialAge: 3)
        stored.body = body ?? Data(repeating: 7, count: size)
        stored.duration = 250
        return CacheEntry(
            key: form.key, request: form.bytes, url: url, method: "GET", identity: identity, stored: stored, tags: tags)
    }
}
