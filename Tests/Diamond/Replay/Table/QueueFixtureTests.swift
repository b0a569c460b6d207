import DiamondSQLite
import DiamondSchema
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection

/// The files of queues in `Tests/Fixtures/Stores`, one for each version of the schema.
enum QueueFixture {
    /// The names of the versions, oldest first. Version 1 has an older form, because its script was changed in place.
    static let versions = ["v1a"] + (1...DiamondSchema.replay.migrations.count).map { "v\($0)" }

    static var newest: String { versions.last ?? "" }

    static func url(version: String) -> URL { Fixture.directory.appending(path: "Stores/replay-\(version).sqlite") }

    /// Creates an engine half an hour after the last change of the jobs, and after a start of the machine.
    static func engine(of fixture: ReplayFixture) -> Engine {
        fixture.clock.advance(by: .seconds(1_795_892_405 - fixture.clock.date.timeIntervalSince1970))
        return fixture.engine { $0.uptime = { 1000 } }
    }

    /// Puts a copy of a version's file into a store.
    static func open(version: String, in store: Store) throws {
        try store.create(store.replayDirectory)
        try FileManager.default.copyItem(atPath: url(version: version).path, toPath: store.replayPath)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: store.replayPath)
    }
}

/// Every version, oldest first, with a job in each state, and one for each name that a request stores.
@Suite("A queue of an older program") struct QueueFixtureTests {
    private let fixture = ReplayFixture()
    private var store: Store { fixture.temporary.store }

    private func open(version: String) throws { try QueueFixture.open(version: version, in: store) }

    /// The states and reasons of the jobs, in their order.
    private static let jobs: [(ReplayState, ReplayReason)] =
        [
            (.done, .finished), (.waiting, .backoff), (.waiting, .retryAfter), (.dead, .refused),
            (.held, .unauthorized),
            (.needsReview, .outcomeUnknown), (.running, .claimed),
        ] + Array(repeating: (.ready, .enqueued), count: 18) + [(.held, .held)]

    @Test(arguments: QueueFixture.versions) func `has the schema of a new one`(
        version: String
    ) throws {
        try open(version: version)
        let other = TemporaryStore()
        let old = try ReplayQueue(store).read(CacheTable.schema)
        let new = try ReplayQueue(other.store).read(CacheTable.schema)
        #expect(old.parts.map(\.meaning) == new.parts.map(\.meaning) && old.parts.map(\.name) == new.parts.map(\.name))
        let leftovers = try ReplayQueue(store).read { (connection) throws(SQLiteError) in
            try connection.integer("SELECT count(*) FROM pragma_foreign_key_check")
        }
        #expect(leftovers == 0)
    }

    @Test(arguments: QueueFixture.versions) func `is read to the last job`(version: String)
        throws
    {
        try open(version: version)
        let queue = try ReplayQueue(store, clock: .still)
        let jobs = try queue.jobs()
        #expect(jobs.map(\.id) == Array(1...26))
        #expect(jobs.map(\.state) == Self.jobs.map(\.0) && jobs.map(\.reason) == Self.jobs.map(\.1))
        #expect(try queue.failures(of: 2).map(\.code) == ["status 503"])
        #expect(try queue.failures(of: 6).map(\.code) == ["connectionLost"])
        #expect(
            try queue.counts() == [.ready: 18, .waiting: 2, .running: 1, .held: 2, .done: 1, .dead: 1, .needsReview: 1])
        let inspection = try #require(try ReplayInspection(of: store))
        #expect(inspection.jobs == 26 && inspection.findings.isEmpty)
        #expect(
            try failures(in: queue) == [
                2: "status 503", 3: "status 503", 4: "status 400", 5: "status 401", 6: "connectionLost",
            ])
    }

    /// The codes that an early retry searches for, by job.
    private func failures(in queue: ReplayQueue) throws -> [Int64: String] {
        try queue.read { (connection) throws(SQLiteError) in
            let statement = try connection.statement("SELECT id, failure FROM job WHERE failure IS NOT NULL")
            var failures: [Int64: String] = [:]
            while try statement.step() { failures[statement.int64(0)] = statement.text(1) }
            return failures
        }
    }

    /// The names are those that older programs have written. A case that gets another name in Swift keeps its raw value.
    @Test(arguments: QueueFixture.versions)
    func `keeps the meaning of the names in its requests`(
        version: String
    ) throws {
        try open(version: version)
        let queue = try ReplayQueue(store, clock: .still)
        let policies: [CachePolicy] = [
            .automatic, .cacheElseNetwork, .networkElseCache, .staleWhileRevalidate, .revalidate, .cacheOnly, .reload,
            .noStore,
        ]
        for (id, policy) in zip(Int64(8)..., policies) { #expect(try queue.request(of: id)?.cache == policy) }
        let ways: [ReplayPolicy.Uniqueness] = [.keep, .replace, .preserveSchedule, .replace, .merge]
        for (id, way) in zip(Int64(16)..., ways) { #expect(try queue.request(of: id)?.replay.uniqueness == way) }
        for (id, order) in zip(Int64(21)..., [ReplayPolicy.Order.ordered, .strict, .ordered, .strict]) {
            #expect(try queue.request(of: id)?.replay.order == order && queue.job(id)?.order == order)
        }
        let request = try #require(try queue.request(of: 25))
        #expect(request.replay.mode == .durable && request.replay.attempts == 7 && request.replay.expiry == nil)
        #expect(request.lane == Lane("uploads") && request.tags == ["a", "b"] && request.invalidates == ["c"])
        #expect(request.retry?.attempts == 2 && request.timeout == .seconds(5))
        #expect(try queue.job(25)?.metadata == ["screen": "cart"])
    }

    @Test(arguments: QueueFixture.versions) func `sends its jobs, and gets new ones`(
        version: String
    )
        async throws
    {
        try open(version: version)
        let engine = QueueFixture.engine(of: fixture)
        let queue = try engine.queue()
        #expect(try await queue.enqueue(fixture.note(.durable)) == 27)
        let summary = await (try engine.replayer()).replay()
        #expect(summary.error == nil && summary.dead == 0 && summary.needsReview == 0)
        // The job that waits after a failure, the one whose process has died, the ready ones, and the new one. A job
        // that may only use the cache is not sent.
        for id: Int64 in [2, 7] + (8...25).filter({ $0 != 13 }) + [27] {
            #expect(try queue.job(id)?.state == .done, "\(id)")
        }
        #expect(try queue.job(3)?.reason == .retryAfter && queue.job(5)?.reason == .unauthorized)
        #expect(fixture.transport.requests.count == 20)
        try await queue.discard(4)
        try await queue.release(26)
        #expect(await (try engine.replayer()).replay().finished == 1)
        #expect(try ReplayInspection(of: store)?.findings.isEmpty == true)
        await engine.close()
    }

    /// `scripts/fixture` runs this. The newest file is the one before it, as the newest version migrates it.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["DIAMOND_FIXTURE"] != nil))
    func `is written`() async throws {
        try open(version: QueueFixture.versions.dropLast().last ?? "")
        do { await (try ReplayQueue(store, clock: .still)).close() }
        let file = try Data(contentsOf: URL(filePath: store.replayPath))
        try file.write(to: QueueFixture.url(version: QueueFixture.newest))
    }
}
