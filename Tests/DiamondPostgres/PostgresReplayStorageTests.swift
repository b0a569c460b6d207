#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import DiamondPostgres

@Suite(
    "The queue on PostgreSQL", .enabled(if: Effort.hasFleet, "needs a server: scripts/fleet starts one"),
    .limit(minutes: 5)) struct PostgresReplayStorageTests
{
    @Test(arguments: ReplayStorageSuite.Check.all)
    func `PostgreSQL keeps the contract`(_ check: ReplayStorageSuite.Check) async {
        let failure = await ReplayStorageSuite { try await PostgresPlace() }.failure(of: check)
        #expect(failure == nil)
    }

    @Test func `a lost listener is replaced, and work goes on meanwhile`() async throws {
        let place = try await PostgresPlace()
        let storage = try await place.storage()
        let other = try await place.storage()
        let notes = Guarded(0)
        let watch = storage.watch(.jobs) { notes.withLock { $0 += 1 } }
        await untilTrue { notes.withLock { $0 > 0 } }
        try await PostgresServer.terminate("diamond watch", of: place.address)
        let before = notes.withLock { $0 }
        _ = try await PostgresPlace.add(1, keys: 1, to: other)
        // The new listener reports its beginning, because it may have missed something.
        await untilTrue { notes.withLock { $0 > before } }
        #expect(try storage.counts()[.ready] == 1)
        #expect(!watch.reportsChanges)
    }

    @Test func `an owner is dead a second after its session has ended, however long its lease`() async throws {
        let place = try await PostgresPlace()
        let (dying, living) = (try await place.storage(), try await place.storage())
        let ids = try await PostgresPlace.add(3, keys: 1, to: living)
        let program = ReplayOwnerRecord.Program(process: 1, name: "test")
        let lost = try await dying.register(program, lease: 3_600_000)
        #expect(try await dying.claim(3, ReplaySelection(), by: lost)?.jobs.map(\.id) == [ids[0]])
        let me = try await living.register(program, lease: 3_600_000)
        #expect(try await living.owners().allSatisfy { !$0.isDead })
        // The end of its process closes its connections.
        dying.abandon(lost)
        let start = ContinuousClock.now
        var dead: [ReplayOwnerRecord] = []
        while dead.isEmpty { dead = try await living.owners().filter(\.isDead) }
        #expect(try await living.rescue(dead, by: me).owners == 1)
        #expect(try await living.claim(3, ReplaySelection(), by: me)?.jobs.map(\.id) == [ids[0]])
        #expect(ContinuousClock.now - start < .seconds(5))
        #expect(try await dying.claim(1, ReplaySelection(), by: lost) == nil)
    }

    @Test func `an owner whose session was cut takes its lock again, and keeps its jobs`() async throws {
        let place = try await PostgresPlace()
        let storage = try await place.storage()
        _ = try await storage.register(.init(process: 1, name: "test"), lease: 3_600_000)
        try await PostgresServer.terminate("diamond owner", of: place.address)
        for _ in 0..<5 { #expect(try await storage.owners().allSatisfy { !$0.isDead }) }
    }

    @Test func `two processes whose wall clocks differ by an hour agree on times`() async throws {
        let place = try await PostgresPlace()
        let (one, two) = (try await place.storage(), try await place.storage())
        // Neither reads its wall clock for a time that both see.
        let difference = try abs(one.moment().time.rawValue - two.moment().time.rawValue)
        #expect(difference < 1_000)
        let owner = try await one.register(.init(process: 1, name: "test"), lease: 60_000)
        #expect(try await two.owners().first { $0.id == owner }?.isDead == false)
    }

    @Test func `a schema of a newer version is refused`() async throws {
        let place = try await PostgresPlace()
        let pool = PostgresPool(place.address, size: 1)
        _ = try await place.storage()
        try await pool.transaction { (connection) throws(PostgresError) in
            try connection.run("UPDATE diamond.version SET number = 99")
        }
        let error = await #expect(throws: ReplayError.self) { _ = try await place.storage() }
        #expect(error?.code == .newerStore)
        pool.close()
    }

    @Test func `the tables of version 1 are brought up to date, and keep their jobs`() async throws {
        let place = try await PostgresPlace()
        let ids = try await PostgresPlace.add(2, keys: 1, to: try await place.storage())
        let pool = PostgresPool(place.address, size: 1)
        defer { pool.close() }
        try await pool.transaction { (connection) throws(PostgresError) in
            try connection.run("DROP INDEX ended_of_line")
            try connection.run("CREATE UNIQUE INDEX job_head ON job (ordering_key) WHERE is_head")
            try connection.run("CREATE UNIQUE INDEX job_running ON job (ordering_key) WHERE state = 2")
            try connection.run("UPDATE diamond.version SET number = 1")
        }
        let storage = try await place.storage()
        #expect(try await PostgresPlace.sendAll(2, by: storage) == ids)
        #expect(try await storage.check() == [])
        let names: Set = ["ended_of_line", "job_head", "job_running"]
        let indexes = try await pool.run { (connection) throws(PostgresError) in
            try connection.rows("SELECT indexname FROM pg_indexes").map { $0.text("indexname") }
        }
        #expect(names.intersection(indexes) == ["ended_of_line"])
    }

    @Test func `processes that start together create the tables once`() async throws {
        let place = try await PostgresPlace()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { _ = try await place.storage() } }
            try await group.waitForAll()
        }
        #expect(try await place.storage().counts().values.allSatisfy { $0 == 0 })
    }

    @Test func `jobs with one unique name that are added at the same time are one job`() async throws {
        let place = try await PostgresPlace()
        let (one, two) = (try await place.storage(), try await place.storage())
        let ids = try await withThrowingTaskGroup(of: [ReplayJob.ID?].self) { group in
            for storage in [one, two, one, two, one, two] {
                group.addTask {
                    let entry = ReplayEntry([try PostgresPlace.draft("a", unique: "n")], maximumCount: 100)
                    return try await storage.enqueue(entry, isWanted: nil).ids
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(ids).count == 1)
        #expect(try one.count(ReplayFilter()) == 1)
    }

    // MARK: Held snapshots

    /// Calls a body while another transaction keeps all versions of rows alive.
    private func holdingSnapshot<Value: Sendable>(
        of place: PostgresPlace, _ body: () async throws -> Value
    ) async throws -> Value {
        let pool = PostgresPool(place.address, size: 1)
        defer { pool.close() }
        let (isHeld, isDone) = (Guarded(false), Guarded(false))
        async let holding: Void = pool.run(within: .seconds(120)) { (connection) throws(PostgresError) in
            try connection.transaction { (connection) throws(PostgresError) in
                try connection.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                try connection.run("SET LOCAL idle_in_transaction_session_timeout = 0")
                _ = try connection.rows("SELECT count(*) FROM job")
                isHeld.withLock { $0 = true }
                while !isDone.withLock({ $0 }) { usleep(10_000) }
            }
        }
        defer { isDone.withLock { $0 = true } }
        await untilTrue { isHeld.withLock { $0 } }
        let value = try await body()
        isDone.withLock { $0 = true }
        try await holding
        return value
    }

    @Test func `jobs are sent in order while another program holds a snapshot, and the tables stay right`() async throws
    {
        let place = try await PostgresPlace()
        let storage = try await place.storage()
        let ids = try await PostgresPlace.add(1_000, keys: 50, to: storage)
        let sent = try await holdingSnapshot(of: place) { try await PostgresPlace.sendAll(ids.count, by: storage) }
        #expect(sent.sorted() == ids)
        #expect(try await storage.check() == [])
    }

    @Test func `an addition reads no dead entries of its key while another program holds a snapshot`() async throws {
        let place = try await PostgresPlace()
        let storage = try await place.storage()
        let owner = try await storage.register(.init(process: 1, name: "test"), lease: 600_000)
        let reads = try await holdingSnapshot(of: place) {
            for _ in 0..<200 {
                _ = try await PostgresPlace.add(1, keys: 1, to: storage)
                let claim = try #require(try await storage.claim(1, ReplaySelection(), by: owner)?.jobs.first)
                _ = try await storage.finish(claim, ReplayReport(.answered(status: 200), draw: 0))
            }
            let draft = try PostgresPlace.draft("last", key: "k0")
            // The server counts what a connection has read.
            let pool = PostgresPool(
                place.address, size: 1,
                prepare: { (connection) throws(PostgresError) in try connection.planOnce() })
            defer { pool.close() }
            return try await pool.transaction { [clock = storage.clock] (connection) throws(PostgresError) in
                let jobs = PostgresJobs(on: connection, by: clock)
                #expect(try jobs.insert([draft])?.first?.isHead == true)
                return try connection.rows(
                    """
                    SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid))::bigint AS reads
                    FROM pg_index WHERE indrelid IN ('job'::regclass, 'ended'::regclass)
                    """
                ).first?.int64("reads")
            }
        }
        #expect(try #require(reads) < 20)
    }

    @Test func `a job whose reserved id is lower than those of later jobs that have ended has its place in the line`()
        async throws
    {
        let place = try await PostgresPlace()
        let storage = try await place.storage()
        let owner = try await storage.register(.init(process: 1, name: "test"), lease: 600_000)
        func claim() async throws -> [ReplayClaim] {
            try await storage.claim(9, ReplaySelection(), by: owner)?.jobs ?? []
        }
        let reserved = try await storage.reserveIDs(2)
        let first = try await PostgresPlace.add(1, keys: 1, to: storage)
        let claims = try await claim()
        #expect(claims.map(\.id) == first)
        let report = ReplayReport(.answered(status: 200), draw: 0)
        #expect(try await storage.finish(try #require(claims.first), report) == .done)
        let drafts = try (0..<2).map { try PostgresPlace.draft("\($0)", key: "k0") }
        var entry = ReplayEntry(drafts, maximumCount: 1_000)
        entry.ids = [reserved, reserved + 1]
        #expect(try await storage.enqueue(entry, isWanted: nil).ids == [reserved, reserved + 1])
        #expect(try await storage.isPreceded(drafts[0]))
        let last = try await PostgresPlace.add(1, keys: 1, to: storage)
        #expect(try await storage.check() == [])
        for id in [reserved, reserved + 1, last[0]] {
            let claims = try await claim()
            #expect(claims.map(\.id) == [id])
            #expect(try await storage.finish(try #require(claims.first), report) == .done)
        }
        #expect(try await claim() == [])
    }

    // MARK: Transactions that meet

    /// Runs statements in a transaction that stays open until a call waits for it or ends.
    private func meeting<Value: Sendable>(
        of place: PostgresPlace, _ statements: [PostgresSQL], _ call: @escaping @Sendable () async throws -> Value
    ) async throws -> (value: Value, hasWaited: Bool) {
        let (pool, watch) = (PostgresPool(place.address, size: 1), PostgresPool(place.address, size: 1))
        defer {
            pool.close()
            watch.close()
        }
        let (isBegun, isOver, isReturned) = (Guarded(false), Guarded(false), Guarded(false))
        async let other: Void = pool.transaction { (connection) throws(PostgresError) in
            for statement in statements { _ = try connection.rows(statement) }
            isBegun.withLock { $0 = true }
            while !isOver.withLock({ $0 }) { usleep(1_000) }
        }
        await untilTrue { isBegun.withLock { $0 } }
        async let value = {
            defer { isReturned.withLock { $0 = true } }
            return try await call()
        }()
        var hasWaited = false
        try await untilTrue {
            hasWaited = try watch.waitingRun { (connection) throws(PostgresError) in
                try connection.rows(
                    """
                    SELECT 1 FROM pg_stat_activity
                    WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0
                    """
                ).count > 0
            }
            return hasWaited || isReturned.withLock { $0 }
        }
        isOver.withLock { $0 = true }
        try await other
        return (try await value, hasWaited)
    }

    /// Adds two jobs of a line, of which the first is dead.
    private func lineAfterDeath(
        in storage: PostgresReplayStorage, by owner: ReplayOwnerRecord.ID
    ) async throws -> [ReplayJob.ID] {
        let ids = try await PostgresPlace.add(2, keys: 1, to: storage)
        let claim = try #require(try await storage.claim(1, ReplaySelection(), by: owner)?.jobs.first)
        #expect(try await storage.begin(claim, ReplayStart(), by: owner))
        #expect(try await storage.finish(claim, ReplayReport(.answered(status: 400), draw: 0)) == .dead)
        return ids
    }

    @Test func `a job that returns to its line waits for other changes of the line`() async throws {
        let place = try await PostgresPlace()
        let storage = try await place.storage()
        let owner = try await storage.register(.init(process: 1, name: "test"), lease: 60_000)
        let ids = try await lineAfterDeath(in: storage, by: owner)
        let lock: PostgresSQL = """
            SELECT pg_advisory_xact_lock(\(Int64(PostgresJobs.Lock.key.rawValue))::int, hashtext('k0'))
            """
        let (effects, hasWaited) = try await meeting(of: place, [lock]) {
            try await storage.apply(.redrive, to: [ids[0]], isDryRun: false)
        }
        #expect(effects == [.done(.ready)] && hasWaited)
        #expect(try await storage.claim(2, ReplaySelection(), by: owner)?.jobs.map(\.id) == [ids[0]])
        #expect(try await storage.check() == [])
    }

    @Test func `a job that returns to its line while a later one is claimed waits for its end`() async throws {
        let place = try await PostgresPlace()
        let storage = try await place.storage()
        let owner = try await storage.register(.init(process: 1, name: "test"), lease: 60_000)
        let ids = try await lineAfterDeath(in: storage, by: owner)
        let claim: PostgresSQL = """
            UPDATE job SET state = 2, token = token + 1, owner = \(owner) WHERE id = \(ids[1]) RETURNING id
            """
        let (effects, hasWaited) = try await meeting(of: place, [claim]) {
            try await storage.apply(.redrive, to: [ids[0]], isDryRun: false)
        }
        #expect(effects == [.done(.ready)] && hasWaited)
        // The later one runs, so the line has nothing to claim, and no claim fails.
        #expect(try await storage.claim(2, ReplaySelection(), by: owner)?.jobs == [])
    }

    @Test func `a claim is found that is committed after its connection was lost`() async throws {
        let place = try await PostgresPlace()
        let storage = try await place.storage()
        let owner = try await storage.register(.init(process: 1, name: "test"), lease: 60_000)
        let ids = try await PostgresPlace.add(1, keys: 1, to: storage)
        let claim: [PostgresSQL] = [
            "SELECT 1 FROM owner WHERE id = \(owner) FOR KEY SHARE",
            """
            UPDATE job SET state = 2, token = token + 1, owner = \(owner), turn = -7 WHERE id = \(ids[0]) RETURNING id
            """,
        ]
        storage.noteLostClaim(by: owner, mark: -7)
        #expect(try await storage.hasReady(in: .all))
        let (claims, hasWaited) = try await meeting(of: place, claim) {
            try await storage.claim(1, ReplaySelection(), by: owner)
        }
        #expect(claims?.jobs.map(\.id) == ids && hasWaited)
        #expect(try await !storage.hasReady(in: .all))
    }

    @Test func `a claim that has waited long for a connection hides no job that another transaction makes ready`()
        async throws
    {
        let place = try await PostgresPlace()
        let storage = try await place.storage(connections: 1)
        let owner = try await storage.register(.init(process: 1, name: "test"), lease: 60_000)
        let ids = try await PostgresPlace.add(1, keys: 1, to: storage)
        let pool = PostgresPool(place.address, size: 1)
        defer { pool.close() }
        let (isBegun, isBusy, isOver) = (Guarded(false), Guarded(false), Guarded(false))
        async let other: Void = pool.transaction { (connection) throws(PostgresError) in
            _ = try connection.rows("UPDATE job SET turn = pg_current_xact_id()::text::bigint RETURNING id")
            isBegun.withLock { $0 = true }
            while !isOver.withLock({ $0 }) { usleep(1_000) }
        }
        await untilTrue { isBegun.withLock { $0 } }
        async let busy: Void = storage.pool.run { (connection) throws(PostgresError) in
            isBusy.withLock { $0 = true }
            _ = try connection.rows("SELECT pg_sleep(2.5)")
        }
        await untilTrue { isBusy.withLock { $0 } }
        for _ in 0..<2 { #expect(try await storage.claim(1, ReplaySelection(), by: owner)?.jobs == []) }
        try await busy
        isOver.withLock { $0 = true }
        try await other
        #expect(try await storage.claim(1, ReplaySelection(), by: owner)?.jobs.map(\.id) == ids)
    }

    @Test func `jobs whose transactions have the ids of lost ones are found at once after a crash`() async throws {
        let place = try await PostgresPlace()
        let storage = try await place.storage(connections: 1)
        let owner = try await storage.register(.init(process: 1, name: "test"), lease: 60_000)
        for _ in 0..<2 {
            _ = try await PostgresPlace.add(1, keys: 1, to: storage)
            let claim = try #require(try await storage.claim(2, ReplaySelection(), by: owner)?.jobs.first)
            _ = try await storage.finish(claim, ReplayReport(.answered(status: 200), draw: 0))
        }
        let ids = try await PostgresPlace.add(1, keys: 1, to: storage)
        let pool = PostgresPool(place.address, size: 1)
        defer { pool.close() }
        try await pool.transaction { (connection) throws(PostgresError) in
            try connection.run("UPDATE job SET turn = 3")
        }
        try await PostgresServer.terminate("diamond queue", of: place.address)
        #expect(try await storage.claim(2, ReplaySelection(), by: owner)?.jobs.map(\.id) == ids)
    }

    @Test func `keys that are equal as texts, but not in their bytes, are two keys`() async throws {
        let place = try await PostgresPlace()
        let storage = try await place.storage()
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let drafts = try [composed, decomposed].map { try PostgresPlace.draft("a", key: $0) }
        let ids = try await storage.enqueue(ReplayEntry(drafts, maximumCount: 10), isWanted: nil).ids
        #expect(try storage.keys(limit: 10, onlyBlocked: false, includesSignedOut: true).map(\.count) == [1, 1])
        _ = try await storage.hold(.key(composed), reason: "test", isSignOut: false, isDryRun: false)
        let owner = try await storage.register(.init(process: 1, name: "test"), lease: 60_000)
        #expect(try await storage.claim(2, ReplaySelection(), by: owner)?.jobs.map(\.id) == ids.suffix(1))
        #expect(try await storage.check() == [])
    }

    // MARK: Many jobs

    @Test func `jobs whose time was long ago are made ready by the next claims, however many they are`() async throws {
        let place = try await PostgresPlace()
        let storage = try await place.storage()
        let owner = try await storage.register(.init(process: 1, name: "test"), lease: 7_200_000)
        let time = try storage.moment().time
        let drafts = try (0..<1_001).map { number in
            var draft = try PostgresPlace.draft("\(number)")
            draft.delay(until: time + 60_000)
            return draft
        }
        _ = try await storage.enqueue(ReplayEntry(drafts, maximumCount: 10_000), isWanted: nil)
        try await place.advance(by: .seconds(3600))
        // A preview undoes what it has done, and so changes nothing for the claims.
        _ = try await storage.claimPreview(1, of: .all)
        for _ in 0..<3 { _ = try await storage.claim(1, ReplaySelection(), by: owner) }
        #expect(try storage.counts()[.waiting] == 0)
    }

    @Test func `the limit of open jobs counts those of the same addition, and not those that have ended`() async throws
    {
        let place = try await PostgresPlace()
        let storage = try await place.storage()
        let ids = try await PostgresPlace.add(2, keys: 1, to: storage)
        _ = try await storage.apply(.discard, to: [ids[0]], isDryRun: false)
        // One after the other, because of the unique names.
        let drafts = try (0..<2).map { try PostgresPlace.draft("\($0)", unique: "\($0)") }
        let error = await #expect(throws: ReplayError.self) {
            _ = try await storage.enqueue(ReplayEntry(drafts, maximumCount: 2), isWanted: nil)
        }
        #expect(error?.code == .queueFull)
        #expect(try await storage.enqueue(ReplayEntry(drafts, maximumCount: 3), isWanted: nil).ids.count == 2)
        #expect(try storage.counts()[.ready] == 3)
    }
}
#endif
