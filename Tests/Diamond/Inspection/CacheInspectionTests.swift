import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("An inspection of a cache") struct CacheInspectionTests {
    let temporary = TemporaryStore()

    private func filled(_ count: Int) async throws -> [CacheEntry] {
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        let entries = try (0..<count).map { try CacheEntry.stub("\($0)", size: $0 == 0 ? 400_000 : $0 % 3) }
        for entry in entries { cache.store(entry) }
        await cache.flush()
        return entries
    }

    @Test func `an inspection reads every page of entries, and takes no body for an orphan`() async throws {
        let entries = try await filled(2500)
        let inspection = try CacheInspection(of: temporary.store)
        #expect(inspection.entries == 2500)
        #expect(inspection.bodyBytes == Int64(entries.reduce(0) { $0 + $1.stored.body.count }))
        #expect(inspection.findings.isEmpty)
    }

    @Test func `an inspection finds exactly the damaged entries that a lookup removes`() async throws {
        let entries = try await filled(1100)
        try temporary.execute("UPDATE entry SET duration = duration + 1 WHERE id IN (1, 7, 1030, 1100)")
        let inspection = try CacheInspection(of: temporary.store)
        let keys = [0, 6, 1029, 1099].map { entries[$0].key }
        #expect(inspection.findings.map(\.key) == keys)
        let events = RecordedCacheEvents()
        let cache = try Cache(temporary.store, activity: events.activity, memoryCapacity: 0)
        for entry in entries {
            let isSound = try cache.findOnDisk(entry.key, request: entry.request) != nil
            #expect(isSound == !keys.contains(entry.key))
        }
    }

    @Test func `an inspection counts and removes sizes whose sum overflows`() async throws {
        _ = try await filled(3)
        try temporary.execute("UPDATE entry SET body_size = 9223372036854775807 WHERE id < 3")
        let inspection = try CacheInspection(of: temporary.store)
        #expect(inspection.findings.map(\.kind) == [.entry, .entry] && inspection.bodyBytes == .max)
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        #expect(try cache.totals().bodyBytes == .max)
        #expect(try inspection.repair().allSatisfy { $0.action != nil })
        #expect(try cache.totals().entries == 1)
    }

    @Test func `an inspection leaves alone an entry that a program has repaired meanwhile`() async throws {
        let entries = try await filled(3)
        try temporary.execute("UPDATE entry SET duration = duration + 1; DELETE FROM fact WHERE name = 'secret'")
        let inspection = try CacheInspection(of: temporary.store)
        #expect(inspection.findings.map(\.kind) == [.entry, .entry, .entry, .secret])
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        for entry in entries.prefix(2) { cache.store(entry) }
        await cache.flush()
        let secret = cache.rules.digest(of: [1])
        #expect(try inspection.repair().map { $0.action != nil } == [false, false, true, false])
        #expect(try cache.totals().entries == 2)
        #expect(try Cache(temporary.store).rules.digest(of: [1]) == secret)
    }

    @Test func `an inspection does not set aside a file that another program has created again`() async throws {
        _ = try await filled(3)
        try FileManager.default.removeItem(atPath: temporary.store.cachePath + "-wal")
        try Data(repeating: 1, count: 8192).write(to: URL(filePath: temporary.store.cachePath))
        let inspection = try CacheInspection(of: temporary.store)
        #expect(inspection.findings.map(\.kind) == [.file])
        _ = try Cache(temporary.store)
        #expect(try inspection.repair().map(\.action) == [nil])
        #expect(try CacheInspection(of: temporary.store).findings.isEmpty)
    }
}
