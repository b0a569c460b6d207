import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("Writing a body in pieces", .limit(minutes: 5)) struct BodyWriterTests {
    private static let mebibyte = 1 << 20

    @Test(arguments: [false, true])
    func `a body is read as it was written, in pieces of any size`(isSealed: Bool) async throws {
        let store = BodyStore(isSealed: isSealed)
        var random = SplitMix(state: Effort.seed)
        let cache = try store.open()
        for round in 0..<Effort.rounds(12, soaking: 300) {
            let chunk = CacheTable.chunkSize
            let edges = [0, 1, chunk - 1, chunk, chunk + 1, 8 * chunk, 8 * chunk + 1, 9 * chunk, 3_000_000]
            let size = round < edges.count ? edges[round] : random.below(4 * Self.mebibyte)
            let sizes = (0..<3).map { _ in 1 + random.below([10_000, 300_000, 2_000_000][random.below(3)]) }
            let entry = try CacheEntry.stub("\(round % 3)", body: .noise(size, seed: random.next()))
            try await cache.stream(entry, in: sizes)
            await cache.flush()
            let place: Comment = "\(size) bytes in \(sizes), DIAMOND_SEED=\(Effort.seed)"
            #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored, place)
            #expect(try cache.read(entry) == entry.stored.body, place)
        }
        #expect(store.events.dropped.isEmpty && store.events.failures.isEmpty)
        #expect(try store.temporary.rows("entry") == 3)
        #expect(try store.temporary.rows("body WHERE id >> 20 NOT IN (SELECT id FROM entry)") == 0)
        #expect(try CacheInspection(of: store.temporary.store).findings.isEmpty)
    }

    @Test func `a writer of a body leaves the old response until the new one is whole, and then replaces it`()
        async throws
    {
        let store = BodyStore()
        let (cache, other) = (try store.open(memory: 8 << 20), try store.open())
        let (old, new) = (try CacheEntry.stub("a", size: 10), try CacheEntry.stub("a", body: .noise(3 << 20)))
        cache.store(old)
        let writer = try cache.bodyWriter(for: new)
        try await writer.append(new.stored.body)
        for cache in [cache, other] { #expect(cache.find(old.key, request: old.request)?.body.count == 10) }
        #expect(try other.partial(new)?.size ?? 0 > 0)
        try await writer.finish()
        for cache in [cache, other] { #expect(cache.find(new.key, request: new.request) == new.stored) }
        #expect(try cache.partial(new) == nil)
        #expect(try store.temporary.rows("entry") == 1)
    }

    @Test func `a writer of a body removes the replaced entry from other processes' memory`() async throws {
        let store = BodyStore()
        let uptime = Guarded(Uptime(rawValue: 0))
        let other = try Cache(
            store.temporary.store, memoryCapacity: 8 << 20, timing: CacheTiming(uptime: { uptime.withLock { $0 } }))
        let (old, new) = (try CacheEntry.stub("a", size: 10), try CacheEntry.stub("a", body: .noise(2 << 20)))
        other.store(old)
        await other.flush()
        try await store.open().stream(new)
        uptime.withLock { $0 += CrossProcessChanges.interval }
        #expect(other.find(new.key, request: new.request) == new.stored)
    }

    @Test func `a body of less than a mebibyte is stored as any response`() async throws {
        let store = BodyStore()
        let cache = try store.open(memory: 32 << 20)
        let entry = try CacheEntry.stub("a", body: .noise(1_000_000))
        try await cache.stream(entry)
        #expect(cache.find(entry.key, request: entry.request) == entry.stored)
        #expect(try cache.read(entry) == entry.stored.body)
    }

    @Test func `a writer of a body keeps the pin of the replaced response, and sets its own tags`() async throws {
        let store = BodyStore()
        let cache = try store.open()
        cache.store(try .stub("a", tags: ["old"]))
        await cache.flush()
        let entry = try CacheEntry.stub("a", body: .noise(2 << 20), tags: ["new"])
        #expect(try await cache.pin(entry.key))
        try await cache.stream(entry)
        #expect(try cache.list(limit: 2).map { $0.flags.contains(.pinned) } == [true])
        #expect(try cache.count(.tag("old")) == 0 && cache.count(.tag("new")) == 1)
        #expect(store.events.failures.isEmpty)
    }

    @Test func `a body written in pieces is counted as one stored response`() async throws {
        let store = BodyStore()
        let cache = try store.open()
        try await cache.stream(try .stub("a", body: .noise(2 << 20)))
        await cache.flush()
        #expect(try cache.statistics().map(\.stores) == [1])
        #expect(store.events.failures.isEmpty)
    }

    // MARK: Interruptions

    @Test func `an abandoned or released writer leaves nothing`() async throws {
        let store = BodyStore()
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: .noise(2 << 20))
        do {
            let forgotten = try cache.bodyWriter(for: .stub("b"))
            try await forgotten.append(entry.stored.body)
        }
        let writer = try cache.bodyWriter(for: entry)
        try await writer.append(entry.stored.body)
        try await writer.abandon(keepingPartial: false)
        // The first writer's remains are deleted without its knowledge.
        try await untilTrue { try store.temporary.rows("entry") == 0 }
        #expect(try store.temporary.rows("body") == 0)
    }

    @Test func `a partial body without a validator is not stored`() async throws {
        let store = BodyStore()
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: .noise(2 << 20), flags: [])
        let writer = try cache.bodyWriter(for: entry)
        try await writer.append(entry.stored.body)
        try await writer.abandon(keepingPartial: true)
        #expect(try store.temporary.rows("entry") == 0)
    }

    @Test func `a partial body cannot be continued where it was purged meanwhile`() async throws {
        let store = BodyStore()
        let cache = try store.open()
        let entry = try CacheEntry.stub("a", body: .noise(2 << 20), identity: "user-1")
        let writer = try cache.bodyWriter(for: entry)
        try await writer.append(entry.stored.body)
        try await cache.purge(.identity("user-1"))
        await #expect(throws: CacheError.entryGone) { try await writer.append(entry.stored.body) }
        await #expect(throws: CacheError.entryGone) { try await writer.finish() }
        #expect(try store.temporary.rows("entry") == 0 && store.temporary.rows("body") == 0)
    }

    @Test func `a second writer of a key makes the first writer fail, and their bytes do not mix`() async throws {
        let store = BodyStore()
        let (cache, other) = (try store.open(), try store.open())
        let first = try CacheEntry.stub("a", body: .noise(3 << 20, seed: 1))
        let second = try CacheEntry.stub("a", body: .noise(3 << 20, seed: 2))
        let writers = (try cache.bodyWriter(for: first), try other.bodyWriter(for: second))
        try await writers.0.append(first.stored.body)
        try await writers.1.append(second.stored.body)
        await #expect(throws: CacheError.entryGone) { try await writers.0.finish() }
        try await writers.1.finish()
        #expect(try cache.found(second) == second.stored.body)
    }

    @Test func `a body larger than a quarter of the limit is refused, and nothing is left of it`() async throws {
        let store = BodyStore()
        let cache = try store.open(capacity: 32 << 20)
        let writer = try cache.bodyWriter(for: .stub("a"))
        let error = await #expect(throws: CacheError.self) {
            for seed: UInt64 in 0..<9 { try await writer.append(.noise(1 << 20, seed: seed)) }
        }
        #expect(error?.code == .bodyTooLarge)
        #expect(try store.temporary.rows("entry") == 0)
    }

    @Test func `a writer of a body keeps the store within its limit`() async throws {
        let store = BodyStore()
        let cache = try store.open(capacity: 64 << 20)
        for index in 0..<150 { cache.store(try .stub("\(index)", size: 300_000, lifetime: nil)) }
        await cache.flush()
        let writer = try cache.bodyWriter(for: .stub("a"))
        for seed: UInt64 in 0..<11 {
            try await writer.append(.noise(1 << 20, seed: seed))
            let usage = try cache.usage(of: 64 << 20)
            #expect(usage.used <= usage.bound + 5 << 20)
        }
        try await writer.finish()
        #expect(try cache.found(.stub("a"))?.count == 11 << 20)
        #expect(store.events.failures.isEmpty)
    }
}
