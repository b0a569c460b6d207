import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection

/// Every version, oldest first. The file of the newest version has the form that the cache writes now.
@Suite("A store of an older program") struct StoreFixtureTests {
    let temporary = TemporaryStore()

    @Test(arguments: StoreFixture.versions) func `is read to the last entry`(
        version: String
    ) throws {
        try StoreFixture.open(version: version, in: temporary.store)
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        for (index, entry) in try StoreFixture.clear().enumerated() {
            var expected = entry.stored
            if index == 4 { expected.flags.insert(.pinned) }
            if index == 5 { expected.flags.insert(.invalidated) }
            #expect(try cache.findOnDisk(entry.key, request: entry.request) == expected, "\(entry.url)")
        }
        let sealed = try Cache(temporary.store, seal: AESGCMSeal.first, memoryCapacity: 0)
        for entry in try StoreFixture.sealed() {
            #expect(try sealed.findOnDisk(entry.key, request: entry.request) == entry.stored, "\(entry.url)")
        }
    }

    @Test(arguments: StoreFixture.versions)
    func `is named, counted and verified as a new one`(
        version: String
    ) throws {
        try StoreFixture.open(version: version, in: temporary.store)
        let cache = try Cache(
            temporary.store, seal: AESGCMSeal.first, memoryCapacity: 0, timing: CacheTiming(now: { StoreFixture.now }))
        #expect(try cache.count(.tag("a")) == 2 && cache.count(.tag("b")) == 2)
        #expect(try cache.count(.identity("anna")) == 2)
        #expect(try cache.count(.host("sealed.example")) == 2 && cache.count(.host("api.example.org")) == 3)
        #expect(try cache.count(.url("https://sealed.example/small")) == 1)
        #expect(try cache.count(.all, onlyValid: true) == 7)
        #expect(try cache.totals().entries == 8)
        #expect(try cache.statistics().map { [$0.stores, $0.hits, $0.misses] } == [[8, 3, 1]])
        #expect(try cache.file.read(CacheTable.accesses).accesses.map(\.kind).filter { $0 == .hit }.count == 1)
        #expect(try CacheInspection(of: temporary.store, seal: AESGCMSeal.first).findings.isEmpty)
        #expect(CacheDiagnosis(of: temporary.store).problems.isEmpty)
    }

    @Test(arguments: StoreFixture.versions) func `is migrated to the new schema, and used`(
        version: String
    )
        async throws
    {
        try StoreFixture.open(version: version, in: temporary.store)
        let other = TemporaryStore()
        _ = try Cache(other.store)
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        #expect(
            try cache.file.read(CacheTable.schema).faults(comparedTo: .expected()).isEmpty
                && Cache(other.store).file.read(CacheTable.schema).faults(comparedTo: .expected()).isEmpty)
        let entries = try StoreFixture.clear()
        #expect(try await cache.purge(.tag("b")) == 2)
        cache.store(entries[0])
        await cache.flush()
        #expect(try cache.findOnDisk(entries[0].key, request: entries[0].request) == entries[0].stored)
    }

    /// `scripts/fixture` runs this.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["DIAMOND_FIXTURE"] != nil))
    func `is written`() async throws {
        try await StoreFixture.write(to: temporary.store)
        let place = StoreFixture.url(version: StoreFixture.newest)
        try FileManager.default.createDirectory(
            at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(contentsOf: URL(filePath: temporary.store.cachePath)).write(to: place)
    }
}
