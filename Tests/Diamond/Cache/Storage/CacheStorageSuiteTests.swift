import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("The contract of cache storages", .limit(minutes: 2)) struct CacheStorageSuiteTests {
    /// A store in a file, opened as by several processes.
    private final class FilePlace: CacheStorageSuite.Place {
        private let temporary = TemporaryStore()

        func open() throws -> any CacheStorage {
            let file = try CacheFile(temporary.store, recreates: true, activity: Activity())
            return SQLiteCacheStorage(
                file: file, eviction: Eviction(file: file, capacity: Cache.defaultDiskCapacity, now: { .now }))
        }
    }

    @Test(arguments: CacheStorageSuite.Check.all)
    func `a file keeps the contract`(_ check: CacheStorageSuite.Check) async {
        #expect(await CacheStorageSuite { FilePlace() }.failure(of: check) == nil)
    }

    @Test(arguments: CacheStorageSuite.Check.all)
    func `a storage in memory, made of public parts, keeps the contract`(_ check: CacheStorageSuite.Check) async {
        #expect(await CacheStorageSuite { MemoryCacheServer() }.failure(of: check) == nil)
    }

    @Test func `a failure names the rule and what was found`() async throws {
        let suite = CacheStorageSuite {
            let server = MemoryCacheServer()
            server.failure = CacheError(.unreachable, "no server")
            return server
        }
        let check = try #require(CacheStorageSuite.Check.all.first)
        let failure = try #require(await suite.failure(of: check))
        #expect(failure.hasPrefix(check.description))
        #expect(failure.contains("no server"))
        // One check needs no storage.
        #expect(await suite.failures().count == CacheStorageSuite.Check.all.count - 1)
    }
}
