import Crypto
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A sealed store") struct SealedStoreTests {
    let temporary = TemporaryStore()
    private let events = RecordedCacheEvents()

    private func open(_ seal: (any CacheSeal)?, memory: Int = 0) throws -> Cache {
        try Cache(temporary.store, seal: seal, activity: events.activity, memoryCapacity: memory)
    }

    private func found(_ entry: CacheEntry, in cache: Cache) -> StoredResponse? {
        cache.find(entry.key, request: entry.request)
    }

    // MARK: Behavior of every store

    @Test(arguments: [0, 1, 1024, 131_071, 131_072, 131_073, 1_000_000])
    func `returns what was stored, byte for byte`(size: Int) async throws {
        let cache = try open(.first)
        let entry = try CacheEntry.stub("a", body: Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }))
        cache.store(entry)
        await cache.flush()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
        #expect(try cache.list(limit: 1).map(\.url) == ["http://h/a"])
        #expect(try cache.canonicalForm(of: entry.key) == String(decoding: entry.request, as: UTF8.self))
    }

    @Test func `replaces an entry, and never answers another request`() async throws {
        let cache = try open(.first)
        cache.store(try .stub("a", size: 400_000))
        await cache.flush()
        let new = try CacheEntry.stub("a", size: 10)
        cache.store(new)
        await cache.flush()
        #expect(found(new, in: cache) == new.stored)
        #expect(try temporary.rows("body") == 1)
        #expect(cache.find(new.key, request: Array("diamond 1\n".utf8)) == nil)
        #expect(events.dropped.isEmpty)
    }

    @Test func `confirms the row that was validated, and no other`() async throws {
        let cache = try open(.first)
        var entry = try CacheEntry.stub("a", size: 300_000)
        cache.store(entry)
        let old = entry.stored
        entry.stored.storedAt = 77
        entry.stored.headerBlock = Data("ETag: 2\n".utf8)
        cache.confirm(entry, replacing: old)
        await cache.flush()
        #expect(found(entry, in: cache) == entry.stored)
        var late = entry
        late.stored.storedAt = 99
        cache.confirm(late, replacing: old)
        await cache.flush()
        #expect(found(entry, in: cache) == entry.stored)
    }

    @Test func `is listed by its URLs`() async throws {
        let cache = try open(.first)
        for name in ["c", "a", "b"] { cache.store(try .stub(name)) }
        await cache.flush()
        #expect(try cache.list(by: .url, limit: 2).map(\.url) == ["http://h/a", "http://h/b"])
        #expect(try cache.list(by: .url, limit: 9).dropFirst(2).map(\.url) == ["http://h/c"])
        #expect(try cache.list(beginning: CacheEntry.stub("b").key.description).map(\.url) == ["http://h/b"])
    }

    // MARK: Confidentiality

    @Test(arguments: [false, true]) func `has no readable value in any of its files`(isSealed: Bool)
        async throws
    {
        let markers = ["path-marker", "header-marker", "body-marker", "tag-marker", "identity-marker"]
        let transport = StubTransport(
            headers: [.contentType: "header-marker", .cacheControl: "max-age=60"],
            body: String(repeating: "body-marker ", count: 20_000))
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        configuration.seal = isSealed ? try AESGCMSeal(key: AESGCMSeal.firstKey) : nil
        let clock = ManualClock()
        configuration.now = { clock.now }
        let engine = Engine(configuration)
        var request = Request("http://h/path-marker")
        request.tags = ["tag-marker"]
        request.identity = "identity-marker"
        _ = try await engine.send(request)
        await engine.cache?.flush()
        let secret = try #require(engine.cache?.rules.secret).withUnsafeBytes { Data($0) }
        let needles = markers.map { Data($0.utf8) } + [secret]
        let inUse = try temporary.bytes()
        for needle in needles { #expect((inUse.firstRange(of: needle) == nil) == isSealed) }
        await engine.close()
        let after = try temporary.bytes()
        for needle in needles { #expect((after.firstRange(of: needle) == nil) == isSealed) }
        #expect(after.firstRange(of: AESGCMSeal.firstKey) == nil)
        #expect(try await engine.send(request).source == .cache)
    }

    @Test func `does not reveal equal values`() async throws {
        let cache = try open(.first)
        for name in ["a", "b"] { cache.store(try .stub(name, size: 4000)) }
        await cache.flush()
        #expect(try temporary.count("SELECT count(DISTINCT bytes) FROM body") == 2)
        #expect(try temporary.count("SELECT count(DISTINCT headers) FROM entry") == 2)
        #expect(try temporary.count("SELECT count(DISTINCT body_digest) FROM entry") == 2)
    }

    // MARK: Forgery

    static let forgeries = [
        "UPDATE body SET bytes = (SELECT bytes FROM body WHERE id = (1 << 20) + 1) WHERE id = 1 << 20",
        "UPDATE body SET bytes = (SELECT bytes FROM body WHERE id = 2 << 20) WHERE id = 1 << 20",
        "UPDATE entry SET headers = (SELECT headers FROM entry WHERE id = 2) WHERE id = 1",
        "UPDATE entry SET request = (SELECT request FROM entry WHERE id = 2) WHERE id = 1",
        "UPDATE entry SET headers = request WHERE id = 1", "UPDATE entry SET headers = x'' WHERE id = 1",
        "UPDATE entry SET status = 404", "UPDATE entry SET lifetime = lifetime + 1",
        "UPDATE entry SET stored_at = stored_at + 1", "UPDATE entry SET duration = duration + 1",
        "UPDATE entry SET flags = flags | 1",
        "DELETE FROM body WHERE id = (1 << 20) + 2", "UPDATE body SET bytes = substr(bytes, 1, 3)",
        "UPDATE body SET bytes = (SELECT bytes FROM old WHERE old.id = body.id)",
    ]

    @Test(arguments: forgeries)
    func `deletes changed or moved values even if their checksums are right`(forgery: String)
        async throws
    {
        let cache = try open(.first)
        let (one, other) = (try CacheEntry.stub("a", size: 300_000), try CacheEntry.stub("b", size: 300_000))
        for entry in [one, other] { cache.store(entry) }
        await cache.flush()
        try temporary.execute("CREATE TABLE old AS SELECT * FROM body")
        for entry in [one, other] { cache.store(entry) }
        await cache.flush()
        try temporary.sum()
        #expect(found(one, in: cache) == one.stored)
        try temporary.execute(forgery)
        try temporary.sum()
        #expect(found(one, in: cache) == nil)
        await cache.flush()
        #expect(events.dropped.count == 1)
        #expect(events.dropped.first?.contains("its seal is broken") == true)
    }

    // MARK: Keys

    @Test func `is read by every process with the key, and invalidated by any`() async throws {
        let (first, second) = (try open(.first), try open(.first))
        let entry = try CacheEntry.stub("a", tags: ["t"], identity: "anna")
        first.store(entry)
        await first.flush()
        #expect(found(entry, in: second) == entry.stored)
        #expect(first.rules.digest(of: [1]) == second.rules.digest(of: [1]))
        #expect(try await second.invalidate(.tag("t")) == 1)
        #expect(found(entry, in: first)?.flags.contains(.invalidated) == true)
        #expect(try await second.purge(.identity("anna")) == 1)
    }

    @Test func `changes its key row by row, as rows are stored or confirmed`() async throws {
        let old = try open(.first)
        var entries = try (0..<3).map { try CacheEntry.stub("\($0)", size: 200_000, tags: ["t"]) }
        for entry in entries { old.store(entry) }
        await old.flush()
        let rotated = try open(.second)
        for entry in entries { #expect(found(entry, in: rotated) == entry.stored) }
        rotated.store(entries[0])
        let before = entries[1].stored
        entries[1].stored.storedAt = 5
        // A confirmation by a request without tags keeps the entry's tag.
        entries[1].tags = []
        rotated.confirm(entries[1], replacing: before)
        await rotated.flush()
        #expect(try rotated.sealedEntryCounts() == ["first": 1, "second": 2])
        #expect(try rotated.keyIDs() == ["second"])
        #expect(rotated.rules.digest(of: [1]) == old.rules.digest(of: [1]))
        #expect(try rotated.count(.tag("t")) == 3)
        // Another seal that no longer has the first key.
        let later = try open(.onlySecond)
        #expect(later.rules.digest(of: [1]) == old.rules.digest(of: [1]))
        #expect(entries.map { found($0, in: later) } == [entries[0].stored, entries[1].stored, nil])
    }

    @Test func `keeps the older key of an entry that is confirmed without its body`() async throws {
        let old = try open(.first)
        let entry = try CacheEntry.stub("a", size: 200_000)
        old.store(entry)
        await old.flush()
        let rotated = try open(.second)
        var confirmed = entry
        confirmed.stored = entry.stored.withoutBody
        confirmed.stored.storedAt = 5
        rotated.confirm(confirmed, replacing: entry.stored.withoutBody)
        await rotated.flush()
        #expect(found(entry, in: rotated) == entry.stored)
    }

    @Test func `misses rows with an unknown key, reports that once, and keeps them`() async throws {
        let old = try open(.first)
        let entries = try (0..<3).map { try CacheEntry.stub("\($0)") }
        for entry in entries { old.store(entry) }
        await old.flush()
        _ = try open(.second)
        let later = try open(.onlySecond)
        for entry in entries { #expect(found(entry, in: later) == nil) }
        #expect(events.locked == ["the store has entries sealed with the key 'first': give it as an older key"])
        #expect(try later.list(limit: 9).allSatisfy { $0.isLocked && $0.url == "•••" })
        await later.flush()
        #expect(events.dropped.isEmpty)
        later.store(entries[0])
        await later.flush()
        #expect(found(entries[0], in: later) == entries[0].stored)
        #expect(found(entries[1], in: try open(.second)) == entries[1].stored)
    }

    /// Seals that do not open the store: with another name, and with the same name.
    private static let strangers: [AESGCMSeal] = [.other, .impostor]

    @Test(arguments: strangers) func `a sealed store of another key stays as it is, and an engine has no cache`(
        seal: AESGCMSeal
    ) async throws {
        let transport = StubTransport(headers: [.cacheControl: "max-age=60"], body: "body")
        let owner = temporary.engine(transport) { $0.seal = AESGCMSeal.first }
        _ = try await owner.send(Request("http://h/"))
        await owner.close()
        for _ in 0..<2 {
            let engine = temporary.engine(transport) { $0.seal = seal }
            #expect(engine.cache == nil && engine.cacheFailure?.code == .cannotSeal)
            #expect(engine.cacheFailure?.message.contains("sealed with the key 'first'") == true)
            #expect(try await engine.send(Request("http://h/")).source == .network)
            await #expect { _ = try await engine.forget(identity: "anna") } throws: { error in
                (error as? CacheError)?.code == .cannotSeal
            }
            await engine.close()
        }
        #expect(try temporary.rows("fact WHERE name LIKE 'secret%'") == 1)
        let later = temporary.engine(transport) { $0.seal = AESGCMSeal.first }
        #expect(try await later.send(Request("http://h/")).source == .cache)
        await later.close()
    }

    @Test func `a sealed store without entries is taken over by another key`() async throws {
        let first = try open(.first)
        first.store(try .stub("a"))
        await first.flush()
        // An operator needs no key for this.
        #expect(try await Cache(temporary.store, create: false).purge() == 1)
        let other = try open(.other)
        let entry = try CacheEntry.stub("a", identity: "anna")
        other.store(entry)
        await other.flush()
        #expect(try other.keyIDs() == ["other"] && found(entry, in: other) == entry.stored)
        let error = #expect(throws: CacheError.self) { try open(.first) }
        #expect(error?.code == .cannotSeal)
    }

    /// A change of keys after the entries were stored.
    enum Change: CaseIterable { case none, newKey, droppedKey, lostSecret, noSeal }

    @Test(arguments: Change.allCases) func `erases all entries of an identity`(after change: Change)
        async throws
    {
        let old = try open(.first)
        for (name, identity) in [("a", "anna"), ("b", "anna"), ("c", "bert"), ("d", nil)] {
            old.store(try .stub(name, size: 200_000, tags: ["t"], identity: identity))
        }
        let part = try CacheEntry.stub("e", size: 300_000, identity: "anna")
        let writer = try old.bodyWriter(for: part)
        try await writer.append(part.stored.body.prefix(200_000), in: nil)
        try await writer.abandon(keepingPartial: true)
        await old.flush()
        if change == .lostSecret { try temporary.execute("DELETE FROM fact WHERE name LIKE 'secret%'") }
        if change == .droppedKey { _ = try open(.second) }
        let seal: (any CacheSeal)? =
            switch change {
            case .none, .lostSecret: AESGCMSeal.first
            case .newKey: AESGCMSeal.second
            case .droppedKey: AESGCMSeal.onlySecond
            case .noSeal: nil
            }
        let cache = try open(seal)
        try await cache.purge(.identity("anna"))
        // Where the identities cannot be compared, those of others are erased, too.
        let others: Int64 = [.none, .newKey].contains(change) ? 1 : 0
        #expect(try temporary.rows("entry WHERE identity IS NOT NULL") == others)
        #expect(try temporary.rows("entry") == others + 1 && temporary.rows("entry WHERE is_partial") == 0)
        #expect(try temporary.rows("body") == 2 * (others + 1) && temporary.rows("tag") == others + 1)
    }

    @Test func `a sealed store opened without a seal misses, and lists entries without URLs`() async throws {
        let sealed = try open(.first)
        let entry = try CacheEntry.stub("a")
        sealed.store(entry)
        await sealed.flush()
        let clear = try open(nil)
        #expect(found(entry, in: clear) == nil)
        #expect(found(entry, in: clear) == nil)
        #expect(events.locked == ["the store has entries sealed with the key 'first': give the cache a seal with it"])
        #expect(try clear.list(limit: 1).map(\.url) == ["•••"])
        #expect(try clear.canonicalForm(of: entry.key) == nil)
        #expect(try clear.count(.url("")) == 0)
        clear.store(entry)
        await clear.flush()
        #expect(found(entry, in: clear) == entry.stored)
        #expect(events.dropped.isEmpty)
    }

    @Test func `ignores plain values, and seals them when they are stored again`() async throws {
        let clear = try open(nil)
        let entry = try CacheEntry.stub("a", tags: ["t"])
        clear.store(entry)
        await clear.flush()
        let sealed = try open(.first)
        #expect(found(entry, in: sealed) == nil)
        #expect(events.locked == [UnreadableReason.inClear.message])
        #expect(try sealed.count(.tag("t")) == 1)
        #expect(try sealed.count(.url("http://h/a")) == 1)
        sealed.store(entry)
        await sealed.flush()
        #expect(found(entry, in: sealed) == entry.stored)
        #expect(try temporary.count("SELECT count(*) FROM entry WHERE seal IS NULL") == 0)
        #expect(try sealed.count(.url("http://h/a")) == 1)
    }

    @Test func `writes nothing where its seal fails, and hides the text of that error`() async throws {
        let seal = FailingSeal()
        let cache = try open(seal)
        let entry = try CacheEntry.stub("a")
        seal.fails.withLock { $0 = true }
        cache.store(entry)
        await cache.flush()
        #expect(try temporary.rows("entry") == 0)
        #expect(events.failures.count == 1)
        #expect(events.failures.first?.contains("its seal failed, NoKeychain") == true)
        #expect(events.failures.first?.contains("private") == false)
        let error = #expect(throws: CacheError.self) { try open(seal) }
        #expect(error?.code == .cannotSeal)
        seal.fails.withLock { $0 = false }
        cache.store(entry)
        await cache.flush()
        seal.fails.withLock { $0 = true }
        #expect(found(entry, in: cache) == nil)
        #expect(events.locked.count == 1 && events.dropped.isEmpty)
        seal.fails.withLock { $0 = false }
        #expect(found(entry, in: cache) == entry.stored)
    }

    @Test func `keeps a body, whole or partial, that its seal cannot open for now`()
        async throws
    {
        let seal = FailingSeal()
        let cache = try open(seal)
        let (whole, part) = (try CacheEntry.stub("a", size: 300_000), try CacheEntry.stub("b", size: 300_000))
        cache.store(whole)
        await cache.flush()
        let writer = try cache.bodyWriter(for: part)
        try await writer.append(part.stored.body.prefix(200_000), in: nil)
        try await writer.abandon(keepingPartial: true)
        var reader = try #require(try cache.bodyReader(whole.key, request: whole.request))
        let partial = try #require(try cache.partialBody(part.key, request: part.request))
        var received = cache.reader(of: partial)
        _ = (try reader.next(), try received.next())
        seal.fails.withLock { $0 = true }
        let errors = [
            #expect(throws: CacheError.self) { try reader.next() },
            #expect(throws: CacheError.self) { try received.next() },
        ]
        #expect(errors.map { $0?.code } == [.cannotSeal, .cannotSeal])
        seal.fails.withLock { $0 = false }
        await cache.flush()
        #expect(events.dropped.isEmpty && found(whole, in: cache) == whole.stored)
        #expect(try cache.partialBody(part.key, request: part.request)?.size == 200_000)
    }

    @Test func `read-only callers add no secret to a sealed store`() async throws {
        let sealed = try open(.first)
        await sealed.flush()
        _ = try Cache(temporary.store, seal: AESGCMSeal.other, create: false)
        _ = try Cache(temporary.store, create: false)
        #expect(try sealed.keyIDs() == ["first"])
        #expect(try temporary.count("SELECT count(*) FROM fact WHERE name = 'secret'") == 0)
    }

    @Test func `a sealed store whose file was removed begins again with the same secret, sealed`() async throws {
        let uptime = Guarded(Uptime(rawValue: 0))
        let cache = try Cache(
            temporary.store, seal: AESGCMSeal.first, memoryCapacity: 0,
            timing: CacheTiming(uptime: { uptime.withLock { $0 } }))
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: temporary.store.cachePath + suffix)
        }
        uptime.withLock { $0 += CrossProcessChanges.interval }
        let entry = try CacheEntry.stub("a")
        #expect(found(entry, in: cache) == nil)
        cache.store(entry)
        await cache.flush()
        let other = try open(.first)
        #expect(found(entry, in: other) == entry.stored)
        #expect(other.rules.digest(of: [1]) == cache.rules.digest(of: [1]))
    }

    @Test func `uses the new secret after another process has created it again`() async throws {
        let running = try open(.first)
        try FileManager.default.removeItem(at: temporary.directory)
        let other = try open(.first)
        let entries = try ["a", "b"].map { try CacheEntry.stub("http://h/\($0)", identity: "anna") }
        other.store(entries[0])
        await other.flush()
        #expect(try await running.purge(.identity("anna")) == 1)
        #expect(found(entries[0], in: other) == nil)
        running.store(entries[1])
        await running.flush()
        #expect(found(entries[1], in: other) == entries[1].stored)
        #expect(try await other.purge(.identity("anna")) == 1)
    }
}

/// An app's own seal, whose keychain may be locked.
private struct FailingSeal: CacheSeal {
    struct NoKeychain: Error { let key = "private" }

    let fails = Guarded(false)
    private let seal = AESGCMSeal.first

    var keyID: String { seal.keyID }

    func seal(_ bytes: Data, context: Data) throws -> Data {
        if fails.withLock({ $0 }) { throw NoKeychain() }
        return try seal.seal(bytes, context: context)
    }

    func open(_ bytes: Data, keyID: String, context: Data) throws -> Data {
        if fails.withLock({ $0 }) { throw NoKeychain() }
        return try seal.open(bytes, keyID: keyID, context: context)
    }
}

extension TemporaryStore {
    private var database: SQLiteDatabase {
        get throws {
            try SQLiteDatabase(path: store.cachePath, configuration: .ofCacheFile)
        }
    }

    fileprivate func count(_ sql: String) throws -> Int64 {
        try database.read { (connection) throws(SQLiteError) in
            let rows = try connection.statement(composed: sql)
            return try rows.step() ? rows.int64(0) : 0
        }
    }

    /// Corrects every checksum, as an attacker who changed the file would.
    func sum() throws {
        try database.write { (connection) throws(SQLiteError) in
            for id: Int64 in 1...2 {
                let digest = try sumBody(of: id, on: connection)
                try sumRow(id, digest, on: connection)
            }
        }
    }

    private func sumBody(
        of id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Data {
        let rows = try connection.statement("SELECT bytes FROM body WHERE id >> 20 = \(id) ORDER BY id")
        var (checksums, size) = (BodyChecksums(), 0)
        while try rows.step() {
            checksums.add(rows.data(0))
            size += rows.data(0).count
        }
        try connection.run(
            "UPDATE entry SET body_digest = \(checksums.column), body_size = \(size) WHERE id = \(id)")
        return checksums.column
    }

    private func sumRow(
        _ id: Int64,
        _ digest: Data,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let row = try connection.statement(
            """
            SELECT key, request, status, headers, stored_at, initial_age, lifetime, flags, duration, body_size
            FROM entry WHERE id = \(id)
            """
        )
        guard try row.step(), let key = RequestKey(stored: row.data(0)), let stored = StoredResponse(row: row)
        else { return }
        let checksum = Checksum.row(
            key: key, request: Array(row.data(1)), stored: stored, bodySize: row.int64(9), digest: digest)
        try connection.execute("UPDATE entry SET checksum = \(checksum) WHERE id = \(id)")
    }
}
