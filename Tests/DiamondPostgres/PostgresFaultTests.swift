#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondPostgres
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

/// Faults of the whole server, which other tests cannot use meanwhile.
@Suite(
    "Faults of PostgreSQL",
    .enabled(if: Effort.hasFleet && Effort.isAlone, "restarts the server: scripts/fleet runs it alone"), .serialized,
    .limit(minutes: 5)) struct PostgresFaultTests
{
    @Test func `an immediate restart of the server loses, repeats and reorders nothing`() async throws {
        let place = try await PostgresPlace()
        let storage = try await place.storage()
        let ids = try await PostgresPlace.add(200, keys: 7, to: storage)
        async let sending = PostgresPlace.sendAll(ids.count, by: storage)
        try await untilTrue { try storage.count(ReplayFilter(states: [.done])) >= 20 }
        try await PostgresServer.control("restart", "-m", "immediate")
        let sent = try await sending
        #expect(sent.sorted() == ids)
        for key in 0..<7 {
            let own = ids.enumerated().filter { $0.offset % 7 == key }.map(\.element)
            #expect(sent.filter(own.contains) == own)
        }
        #expect(try await storage.check() == [])
    }
}
#endif
