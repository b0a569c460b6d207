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

    @Test func `a crash of the server empties the cache, and its processes go on`() async throws {
        let place = try await PostgresCachePlace()
        let (storage, other) = (try await place.storage(), try await place.storage())
        var entry = try CacheEntry.sample(1, body: CacheEntry.largeBody, tags: ["t"])
        for _ in 0..<3 { _ = try await other.invalidate([.tag("t")], announcing: nil) }
        try await storage.store(entry)
        let position = try storage.changes(since: nil).position
        try await PostgresServer.control("restart", "-m", "immediate")
        #expect(await storage.changed(since: position) == nil)
        while (try? await storage.totals()) == nil {}
        while (try? await other.totals()) == nil {}
        await untilTrue { storage.isConnected && other.isConnected }
        #expect(try await storage.record(entry) == nil)
        // The positions of a server that has lost everything begin again.
        entry.knownChange = try storage.changes(since: nil).position
        #expect(try await storage.store(entry).isEmpty)
        #expect(try await other.record(entry)?.isSound == true)
        let later = try other.changes(since: nil).position
        _ = try await storage.invalidate([.tag("t")], announcing: nil)
        #expect(await other.changed(since: later)?.keys == [entry.key.prefix])
        #expect(try await other.record(entry)?.isStale == true)
    }
}
#endif
