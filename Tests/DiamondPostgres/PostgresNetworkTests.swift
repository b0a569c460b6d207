#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import DiamondPostgres

/// Faults between this process and the server.
@Suite(
    "The network to PostgreSQL", .enabled(if: Effort.hasFleet, "needs a server: scripts/fleet starts one"),
    .limit(minutes: 5, soaking: 60)) struct PostgresNetworkTests
{
    let relay: FaultyRelay
    let place: PostgresPlace

    init() async throws {
        relay = try PostgresServer.relay()
        place = try await PostgresPlace(behind: relay)
    }

    @Test func `a network that stalls, delays and cuts loses, repeats and reorders no job`() async throws {
        let effects = PostgresEffects()
        let lines = ["a", "b", "c", "d"]
        let count = Effort.rounds(40, soaking: 4_000)
        let adding = try await place.storage()
        let (one, two) = (try await place.storage(), try await place.storage())
        relay.storm(seed: Effort.seed)
        try await effects.sending(one) {
            try await effects.sending(two) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for line in lines {
                        group.addTask { try await PostgresEffects.add(count, to: line, of: adding) }
                    }
                    try await group.waitForAll()
                }
                relay.follow(nil)
                try await PostgresEffects.waitForEnd(of: count * lines.count, in: adding)
            }
        }
        #expect(relay.cuts > 0)
        effects.expectSound(count, lines: lines)
        #expect(try await adding.check() == [])
    }

    @Test func `a commit whose answer is cut in the middle counts, and counts once`() async throws {
        let storage = try await place.storage(connections: 1)
        let first = try await storage.reserveIDs(2)
        let drafts = try ["a", "b"].map { try PostgresPlace.draft($0, key: "k") }
        var entry = ReplayEntry(drafts, maximumCount: 10)
        entry.ids = [first, first + 1]
        relay.cutNextAnswer(with: "COMMIT\0")
        #expect(try await storage.enqueue(entry, isWanted: nil).ids == entry.ids)
        #expect(relay.cuts == 1)
        #expect(try storage.counts()[.ready] == 2)

        let owner = try await storage.register(.init(process: 1, name: "test"), lease: 60_000)
        relay.cutNextAnswer(with: "COMMIT\0")
        await #expect(throws: ReplayError.self) { try await storage.claim(2, ReplaySelection(), by: owner) }
        // The next claim returns its job.
        let claims = try await storage.claim(2, ReplaySelection(), by: owner)
        #expect(claims?.jobs.map(\.id) == [first])
        let claim = try #require(claims?.jobs.first)
        relay.cutNextAnswer(with: "COMMIT\0")
        #expect(try await storage.begin(claim, ReplayStart(), by: owner))
        relay.cutNextAnswer(with: "COMMIT\0")
        #expect(try await storage.renew(owner, lease: 60_000, isSuspended: false))
        relay.cutNextAnswer(with: "COMMIT\0")
        #expect(try await storage.finish(claim, ReplayReport(.answered(status: 200), draw: 0)) == .done)
        #expect(relay.cuts == 5)

        #expect(try await storage.claim(2, ReplaySelection(), by: owner)?.jobs.map(\.id) == [first + 1])
        relay.cutNextAnswer(with: "COMMIT\0")
        try await storage.unregister(owner)
        #expect(relay.cuts == 6)
        #expect(try storage.counts().filter { $0.value > 0 } == [.done: 1, .ready: 1])
        #expect(try await storage.check() == [])
    }

    @Test func `work during a silence of the network ends at its limit, and later work is done`() async throws {
        let storage = try await place.storage(connections: 1)
        let ids = try await PostgresPlace.add(1, keys: 1, to: storage)
        relay.stall()
        let error = await #expect(throws: PostgresError.self) {
            try await storage.pool.run(within: .milliseconds(200)) { (connection) throws(PostgresError) in
                try connection.rows("SELECT 1").count
            }
        }
        // The notification of the addition may be under way, and has the only connection.
        #expect(error?.code == .late || error?.code == .busy)
        async let later = PostgresPlace.add(1, keys: 1, to: storage)
        relay.resume()
        #expect(try await later.count == 1)
        let owner = try await storage.register(.init(process: 1, name: "test"), lease: 60_000)
        #expect(try await storage.claim(2, ReplaySelection(), by: owner)?.jobs.map(\.id) == ids)
    }

    @Test func `an owner that is cut off again and again keeps its jobs`() async throws {
        let storage = try await place.storage()
        let ids = try await PostgresPlace.add(1, keys: 1, to: storage)
        let owner = try await storage.register(.init(process: 1, name: "test"), lease: 3_600_000)
        let claim = try #require(try await storage.claim(1, ReplaySelection(), by: owner)?.jobs.first)
        for _ in 0..<5 {
            relay.cut()
            let owners = try await PostgresPlace.patiently { try await storage.owners() }
            #expect(owners.allSatisfy { !$0.isDead })
        }
        #expect(try await storage.begin(claim, ReplayStart(), by: owner))
        #expect(try await storage.finish(claim, ReplayReport(.answered(status: 200), draw: 0)) == .done)
        #expect(claim.id == ids[0])
    }

    @Test func `a queue whose server is away at the start keeps jobs in a file until it is there`() async throws {
        let files = TemporaryStore()
        relay.follow { _, _ in 0 }
        let server = try await PostgresReplayStorage(place.address, requiresServer: false)
        let storage = try SpillingReplayStorage(server, spillingInto: files.store)
        let entry = ReplayEntry([try PostgresPlace.draft("a")], maximumCount: 10)
        let id = try #require(try await storage.enqueue(entry, isWanted: nil).ids.first ?? nil)
        #expect(id < 0 && storage.isSpilling)
        #expect(throws: ReplayError.self) { try server.counts() }
        relay.follow(nil)
        await untilTrue { !storage.isSpilling }
        #expect(try server.counts()[.ready] == 1)
        #expect(try storage.job(id)?.url.hasSuffix("/a") == true)
    }

    // MARK: Connections

    @Test func `a pool that is exhausted for a while loses and repeats nothing`() async throws {
        let storage = try await place.storage(connections: 2)
        let effects = PostgresEffects()
        try await effects.sending(storage) {
            async let busy: Void = withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await storage.pool.run(within: .seconds(60)) { (connection) throws(PostgresError) in
                            _ = try connection.rows("SELECT pg_sleep(0.3)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await PostgresEffects.add(20, to: "a", of: storage)
            try await busy
            try await PostgresEffects.waitForEnd(of: 20, in: storage)
        }
        effects.expectSound(20, lines: ["a"])
    }
}
#endif
