#if Valkey
import Diamond
import DiamondTestSupport
import DiamondTesting
import Foundation
import NIOCore
import Testing

@testable import DiamondValkey

@Suite("ValkeyStorage", .enabled(if: Effort.hasFleet, "needs a server: scripts/fleet starts one"), .limit(minutes: 5))
struct ValkeyStorageTests {
    /// The places of the contract's checks: one server, and its storages as of several processes.
    private struct Place: CacheStorageSuite.Place {
        let server: ValkeyServer

        func open() async throws -> any CacheStorage { try await server.storage() }
    }

    @Test(arguments: CacheStorageSuite.Check.all)
    func `it keeps the contract`(_ check: CacheStorageSuite.Check) async {
        let suite = CacheStorageSuite { Place(server: try await ValkeyServer()) }
        let failure = await suite.failure(of: check)
        #expect(failure == nil)
    }
}

extension ValkeyServer {
    /// Returns the storage of one more process, connected.
    func storage(_ options: String = "", timing: ValkeyTiming = .patient) async throws -> ValkeyStorage {
        let storage = try ValkeyStorage(ValkeyAddress(url + options), timing: timing)
        _ = try await storage.totals()
        await untilTrue { storage.isConnected }
        return storage
    }
}
#endif
