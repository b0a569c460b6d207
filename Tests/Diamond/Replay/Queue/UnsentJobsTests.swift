import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("The notice that no replayer sends the jobs of a queue", .limit(minutes: 5)) struct UnsentJobsTests {
    let fixture = ReplayFixture()

    /// The numbers of jobs in the notices of an engine.
    private final class Notices: ActivityObserver {
        let counts = Guarded<[Int]>([])

        func receive(_ event: ActivityEvent) {
            if case .replayerMissing(let jobs) = event { counts.withLock { $0.append(jobs) } }
        }
    }

    private let notices = Notices()

    private func engine() -> Engine {
        fixture.serve(ReplayFixture.refused)
        return fixture.engine { $0.observers = [notices] }
    }

    @Test func `an engine without a replayer reports once that jobs are not sent`() async throws {
        let engine = engine()
        for _ in 0..<2 { _ = try await engine.submit(fixture.note(.durable)) }
        #expect(notices.counts.withLock { $0 }.isEmpty)
        fixture.clock.advance(by: .seconds(90))
        for _ in 0..<2 { _ = try await engine.submit(fixture.note(.onFailure)) }
        #expect(notices.counts.withLock { $0 } == [2])
        fixture.clock.advance(by: .seconds(90))
        _ = try await engine.submit(fixture.note(.durable))
        #expect(notices.counts.withLock { $0 } == [2])
    }

    @Test func `an engine that has had a replayer reports no unsent jobs`() async throws {
        let engine = engine()
        _ = try await engine.replayer().replay()
        _ = try await engine.submit(fixture.note(.durable))
        fixture.clock.advance(by: .seconds(90))
        _ = try await engine.submit(fixture.note(.durable))
        #expect(notices.counts.withLock { $0 }.isEmpty)
    }

    @Test(arguments: [Engine.Configuration.Replays.manually, .automatically])
    func `an engine that has just started reports no unsent jobs, with or without automatic replay`(
        _ replays: Engine.Configuration.Replays
    ) async throws {
        let first = engine()
        _ = try await first.submit(fixture.note(.durable))
        await first.close()
        fixture.clock.advance(by: .seconds(90))
        let second = fixture.engine { configuration in
            configuration.replays = replays
            configuration.observers = [notices]
        }
        _ = try await second.submit(fixture.note(.durable))
        #expect(notices.counts.withLock { $0 }.isEmpty)
        await second.close()
    }

    // MARK: The count

    private func unsentCount(_ queue: ReplayQueueFixture, besides owner: Int64? = nil) throws -> Int {
        try queue.database.read { (connection) throws(SQLiteError) in
            try ReplayTable.unsentCount(at: queue.now, uptime: queue.uptime, besides: owner, on: connection)
        }
    }

    @Test func `unsent jobs are counted after a minute, without the jobs that wait for them`() throws {
        let queue = try ReplayQueueFixture()
        for key in ["a", "a", nil] { try queue.add("POST", ReplayPolicy(.durable, orderingKey: key)) }
        try queue.add(after: 30_000)
        try queue.add(after: 600_000)
        queue.now += 59_999
        #expect(try unsentCount(queue) == 0)
        queue.now += 1
        #expect(try unsentCount(queue) == 2)
        queue.now += 30_000
        #expect(try unsentCount(queue) == 3)
    }

    @Test func `unsent jobs are not counted while another living owner sends a job`() throws {
        let queue = try ReplayQueueFixture()
        for _ in 0..<2 { try queue.add() }
        let owner = try queue.owner()
        #expect(try queue.claim(by: owner).count == 1)
        queue.now += 60_000
        #expect(try unsentCount(queue) == 0)
        #expect(try unsentCount(queue, besides: owner) == 1)
        // The lease of the owner ends.
        queue.uptime += 60_000
        #expect(try unsentCount(queue) == 1)
    }

    @Test func `unsent jobs are not counted while they or their queue are held`() throws {
        let queue = try ReplayQueueFixture()
        for _ in 0..<2 { try queue.add() }
        try queue.apply(.hold, to: 1)
        queue.now += 60_000
        #expect(try unsentCount(queue) == 1)
        try queue.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.add(.queue, reason: "", on: connection, ledger: ledger)
        }
        #expect(try unsentCount(queue) == 0)
    }
}
