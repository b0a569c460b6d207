import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("The partial body of a broken transfer", .limit(minutes: 5)) struct PartialBodyTests {
    /// Writes the beginning of a body, and stops.
    private func receive(_ entry: CacheEntry, _ count: Int, in cache: Cache) async throws {
        let writer = try cache.bodyWriter(for: entry)
        try await writer.append(entry.stored.body.prefix(count), in: nil)
        try await writer.abandon(keepingPartial: true)
    }

    @Test(
        arguments: [1, 131_071, 131_072, 131_073, 262_144, 1 << 20, (1 << 20) + 1, 1_500_000], [false, true])
    func `is found by another process, which continues it byte for byte`(count: Int, isSealed: Bool)
        async throws
    {
        let store = BodyStore(isSealed: isSealed)
        let entry = try CacheEntry.stub("a", body: .noise(2_000_000))
        try await receive(entry, count, in: store.open())
        let cache = try store.open()
        #expect(cache.find(entry.key, request: entry.request) == nil)
        let partial = try #require(try cache.partial(entry))
        #expect(partial.size == count)
        #expect(partial.stored.headerBlock == entry.stored.headerBlock)
        let writer = try cache.bodyWriter(for: entry, continuing: partial)
        try await writer.append(entry.stored.body.dropFirst(count), in: [70_000, 200_000])
        try await writer.finish()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
        #expect(try store.temporary.rows("entry") == 1)
        #expect(store.events.dropped.isEmpty)
        #expect(try CacheInspection(of: store.temporary.store).findings.isEmpty)
    }

    @Test func `a partial body that arrives slowly keeps the age of its response`() async throws {
        let store = BodyStore()
        var entry = try CacheEntry.stub("a", body: .noise(1000))
        (entry.stored.storedAt, entry.stored.initialAge) = (1_000_000, 5000)
        try await receive(entry, 1000, in: store.open(now: 1_060_000))
        let stored = try #require(try store.open().partial(entry)).stored
        #expect(stored.storedAt == 1_060_000 && stored.age(at: 1_061_000) == 66_000)
    }

    @Test func `is not looked up after a miss until one is written`() async throws {
        let (store, uptime) = (BodyStore(), Guarded(Uptime(rawValue: 0)))
        let (one, other) = (try store.open { uptime.withLock(\.self) }, try store.open { uptime.withLock(\.self) })
        let entry = try CacheEntry.stub("a", body: .noise(1 << 20))
        func look() {
            uptime.withLock { $0 += CrossProcessChanges.interval }
            for cache in [one, other] { _ = cache.find(entry.key, request: entry.request) }
        }
        #expect(one.mayHavePartialBodies && other.mayHavePartialBodies)
        look()
        #expect(!one.mayHavePartialBodies && !other.mayHavePartialBodies)
        try await receive(entry, 1000, in: one)
        #expect(one.mayHavePartialBodies && !other.mayHavePartialBodies)
        look()
        #expect(other.mayHavePartialBodies)
        try await other.bodyWriter(for: entry, continuing: other.partial(entry)).abandon(keepingPartial: false)
        look()
        #expect(!one.mayHavePartialBodies && !other.mayHavePartialBodies)
    }

    @Test func `a miss does not hide a partial body that was written during the lookup`() {
        let presence = PartialPresence()
        let instant = presence.instant
        presence.add()
        presence.note(false, since: instant)
        #expect(presence.isPossible)
        presence.note(false, since: presence.instant)
        #expect(!presence.isPossible)
    }

    @Test(arguments: [false, true]) func `can be interrupted any number of times`(isSealed: Bool)
        async throws
    {
        let store = BodyStore(isSealed: isSealed)
        var random = SplitMix(state: Effort.seed)
        let entry = try CacheEntry.stub("a", body: .noise(3_000_000))
        var received = 0
        while received < entry.stored.body.count {
            let cache = try store.open()
            let writer = try cache.bodyWriter(for: entry, continuing: cache.partial(entry))
            #expect(writer.size == received, "DIAMOND_SEED=\(Effort.seed)")
            let piece = entry.stored.body.dropFirst(received).prefix(1 + random.below(700_000))
            try await writer.append(piece, in: [1 + random.below(300_000)])
            try await writer.abandon(keepingPartial: true)
            received += piece.count
        }
        let cache = try store.open()
        try await cache.bodyWriter(for: entry, continuing: cache.partial(entry)).finish()
        #expect(try cache.found(entry) == entry.stored.body, "DIAMOND_SEED=\(Effort.seed)")
    }

    @Test func `is continued by the first of several writers, and the others fail`() async throws {
        let store = BodyStore()
        let entry = try CacheEntry.stub("a", body: .noise(4 << 20))
        try await receive(entry, 1 << 20, in: store.open())
        let caches = try (0..<2).map { _ in try store.open() }
        let writers = try caches.map { try $0.bodyWriter(for: entry, continuing: $0.partial(entry)) }
        let rest = entry.stored.body.dropFirst(1 << 20)
        try await writers[0].append(rest)
        await #expect(throws: CacheError.entryGone) { try await writers[1].append(rest) }
        try await writers[0].finish()
        #expect(try caches[1].found(entry) == entry.stored.body)
    }

    @Test(arguments: [false, true])
    func `a predicate selects a partial body and the whole response of its key separately`(isSealed: Bool) async throws
    {
        let store = BodyStore(isSealed: isSealed)
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: .noise(2_000_000))
        try await cache.stream(entry)
        try await receive(entry, 1_500_000, in: cache)
        #expect(try await cache.invalidate { $0.isPartial } == 1)
        #expect(try cache.count(.all, onlyValid: true) == 1)
        #expect(try await cache.purge { $0.isPartial } == 1)
        #expect(try cache.found(entry) == entry.stored.body)
        try await receive(entry, 1_500_000, in: cache)
        #expect(try await cache.purge { !$0.isPartial } == 1)
        #expect(try cache.found(entry) == nil)
        #expect(try cache.partial(entry)?.size == 1_500_000)
        try await cache.stream(entry)
        try await receive(entry, 1_500_000, in: cache)
        #expect(try await cache.purge(.url(prefix: "http://h/")) == 2)
    }

    @Test func `is not found for another request, nor with another sealing key`() async throws {
        let store = BodyStore(isSealed: true)
        let entry = try CacheEntry.stub("a", body: .noise(2_000_000))
        try await receive(entry, 1_500_000, in: store.open())
        #expect(try store.open().partialBody(entry.key, request: Array("diamond 1\n".utf8)) == nil)
        let newer = try Cache(store.temporary.store, seal: AESGCMSeal.second, memoryCapacity: 0)
        #expect(try newer.partial(entry) == nil)
        let keyless = try Cache(store.temporary.store, memoryCapacity: 0)
        #expect(try keyless.partial(entry) == nil)
        try await newer.stream(entry)
        #expect(try newer.found(entry) == entry.stored.body)
    }

    @Test func `a damaged partial body is deleted`() async throws {
        let store = BodyStore()
        let entry = try CacheEntry.stub("a", body: .noise(2_000_000))
        try await receive(entry, 1_500_000, in: store.open())
        try store.temporary.execute("UPDATE entry SET body_size = body_size + 1")
        let cache = try store.open()
        #expect(try cache.partial(entry) == nil)
        #expect(store.events.dropped.count == 1)
        await cache.flush()
        #expect(try store.temporary.rows("entry") == 0)
    }

    @Test(arguments: [false, true], [1000, 200_000])
    func `a row whose is_partial value was changed is never read, and is deleted`(
        isSealed: Bool,
        size: Int
    ) async throws {
        let store = BodyStore(isSealed: isSealed)
        let (part, whole) = (
            try CacheEntry.stub("a", body: .noise(2_000_000)), try CacheEntry.stub("b", body: .noise(size))
        )
        try await receive(part, size, in: store.open())
        let cache = try store.open()
        cache.store(whole)
        await cache.flush()
        try store.temporary.execute("UPDATE entry SET is_partial = 1 - is_partial")
        let findings = try CacheInspection(of: store.temporary.store, now: 1_000_000_000).findings
        #expect(findings.count { $0.kind == .entry } == 2)
        #expect(try cache.findOnDisk(part.key, request: part.request) == nil)
        #expect(try cache.bodyReader(part.key, request: part.request) == nil)
        #expect(try cache.partial(whole) == nil)
        await cache.flush()
        #expect(try store.temporary.rows("entry") == 0)
    }

    @Test(arguments: [
        "UPDATE entry SET duration = duration + 7 WHERE is_partial",
        """
        UPDATE body SET bytes = zeroblob(length(bytes)) WHERE id >> 20 IN (SELECT id FROM entry WHERE is_partial)
        """,
    ])
    func `a damaged partial body is deleted, and the whole response of its key stays`(damage: String) async throws {
        let store = BodyStore()
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: .noise(2_000_000))
        try await cache.stream(entry)
        try await receive(entry, 1_500_000, in: cache)
        try store.temporary.execute(damage)
        #expect((try? cache.partial(entry)) == nil)
        await cache.flush()
        #expect(store.events.dropped.count == 1)
        #expect(try store.temporary.rows("entry") == 1 && cache.read(entry) == entry.stored.body)
    }

    // MARK: Whole entries of the same key

    @Test func `is listed with the whole response, and purged with it`() async throws {
        let store = BodyStore()
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: .noise(2_000_000), tags: ["t"])
        cache.store(try .stub("a", tags: ["t"]))
        await cache.flush()
        try await receive(entry, 1_500_000, in: cache)
        #expect(try cache.list(by: .largest, limit: 9).map(\.isPartial) == [true, false])
        #expect(try cache.list(beginning: entry.key.description).map(\.isPartial) == [false])
        #expect(try cache.totals().entries == 1 && cache.totals().partials == 1)
        let inspection = try CacheInspection(of: store.temporary.store, now: 1_000_000_000)
        #expect(inspection.entries == 2 && inspection.partials == 1 && inspection.findings.isEmpty)
        try await cache.purge(.tag("t"))
        #expect(try store.temporary.rows("entry") == 0 && store.temporary.rows("body") == 0)
    }

    @Test func `is evicted as whole responses are`() async throws {
        let store = BodyStore()
        let cache = try store.open(capacity: 32 << 20)
        let entry = try CacheEntry.stub("a", body: .noise(3 << 20))
        try await receive(entry, 2 << 20, in: cache)
        for index in 0..<200 { cache.store(try .stub("\(index)", size: 300_000, lifetime: nil)) }
        await cache.flush()
        #expect(try cache.partial(entry) == nil)
    }

    // MARK: Leftovers

    /// Leaves the body of a killed writer. Its response has no validator, so it cannot be resumed.
    private func leave(_ name: String, in store: BodyStore, at now: WallTime) async throws {
        let writer = try store.open(now: now).bodyWriter(for: .stub(name, flags: []))
        try await writer.append(.noise(2 << 20))
        // Never finished or deallocated, like the writer of a dead process.
        _ = Unmanaged.passRetained(writer)
    }

    @Test func `an inspection finds and deletes a leftover body with a validator after a week`() async throws {
        let store = BodyStore()
        try await receive(try CacheEntry.stub("a", body: .noise(2_000_000)), 1_500_000, in: store.open())
        for (now, count) in [(1_000_000_000, 0), (1_000_000_001, 1)] as [(WallTime, Int)] {
            let inspection = try CacheInspection(of: store.temporary.store, now: now + CacheTable.resumableLifetime)
            #expect(inspection.findings.map(\.kind) == Array(repeating: CacheFinding.Kind.partial, count: count))
            #expect(try inspection.repair().count == count)
        }
        #expect(try store.temporary.rows("entry") == 0)
    }

    @Test func `an inspection finds and deletes a leftover body without a validator after an hour`() async throws {
        let store = BodyStore()
        try await leave("a", in: store, at: 1_000_000_000)
        try await leave("b", in: store, at: 1_000_000_000 + CacheTable.idleLimit)
        let kept = try CacheEntry.stub("c", body: .noise(2_000_000))
        try await receive(kept, 1_500_000, in: store.open())
        let now = 1_000_000_001 as WallTime + CacheTable.idleLimit
        let inspection = try CacheInspection(of: store.temporary.store, now: now)
        #expect(inspection.findings.map(\.kind) == [.partial])
        #expect(try inspection.repair().map(\.action) == ["dropped"])
        #expect(try store.temporary.rows("entry") == 2)
        #expect(try inspection.repair().map(\.action) == [nil])
        #expect(try CacheInspection(of: store.temporary.store, now: now).findings.isEmpty)
    }

    @Test func `a leftover body without a validator is the first to be evicted`() async throws {
        let store = BodyStore()
        let now = 1_000_000_001 as WallTime + CacheTable.idleLimit
        let cache = try store.open(capacity: 48 << 20, now: now)
        let expired = try CacheEntry.stub("expired", size: 300_000, lifetime: 1, flags: [])
        cache.store(expired)
        await cache.flush()
        try await leave("left", in: store, at: 1_000_000_000)
        // Stores entries until the limit is exceeded and the leftover is evicted.
        var index = 0
        while try store.temporary.rows("entry WHERE is_partial = 1") > 0, index < 200 {
            cache.store(try .stub("\(index)", size: 300_000, lifetime: nil))
            await cache.flush()
            index += 1
        }
        #expect(index > 50 && index < 200)
        #expect(store.events.failures.isEmpty)
    }
}
