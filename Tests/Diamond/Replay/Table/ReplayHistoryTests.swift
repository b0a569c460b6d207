import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The history of a replay queue") struct ReplayHistoryTests {
    let temporary = TemporaryStore()
    let time = ManualClock()

    /// Returns a queue with a wall clock that the test moves. Its uptime advances by an hour at each reading, so that
    /// old rows may always be deleted.
    private func queue() throws -> ReplayQueue {
        var clock = ReplayClock.system
        let upSince = Guarded<Uptime>(0)
        clock.now = { [time] in time.wallTime }
        clock.uptime = {
            upSince.withLock { time in
                time += 3_600_000
                return time
            }
        }
        return try ReplayQueue(temporary.store, clock: clock)
    }

    private func enqueue(in queue: ReplayQueue) async throws {
        try await queue.enqueue([Request("https://a.example/notes", method: .put)])
    }

    private func run(_ sql: String, in queue: ReplayQueue) throws {
        try queue.database.write { (connection) throws(SQLiteError) in try connection.execute(sql) }
    }

    private func counts(of queue: ReplayQueue) throws -> [Int] {
        try queue.history(since: .distantPast).filter { $0.verb == "enqueue" }.map(\.count)
    }

    @Test func `the history keeps every hour if the clock is far ahead for a while`() async throws {
        let queue = try queue()
        let century = 36_525.0 * 86_400
        for jump in [0, 3600, century, 3600, 3600 - century] {
            time.advance(by: jump)
            try await enqueue(in: queue)
            try await queue.maintainIfNeeded()
        }
        let counts = try counts(of: queue)
        #expect(counts == [1, 1, 1, 1, 1])
    }

    @Test func `the history keeps the hours of 400 days with any number of verbs, and deletes older hours`()
        async throws
    {
        let queue = try queue()
        try run(
            """
            WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT 9600)
            INSERT INTO hour SELECT n, verb, 1 FROM number, (SELECT 'enqueue' AS verb UNION SELECT 'claim')
            """, in: queue)
        try await enqueue(in: queue)
        try await queue.maintainIfNeeded()
        let history = try queue.history(since: .distantPast)
        #expect(history.count == 2 * 9599 + 1)
        let first = try queue.database.read { (connection) throws(SQLiteError) in
            try connection.integer("SELECT min(hour) FROM hour")
        }
        #expect(first == 2)
    }

    @Test(arguments: ["~(1 << 63)", "1 << 63"])
    func `the history continues in an hour whose row was not written by the queue`(
        count: String
    ) async throws {
        let queue = try queue()
        try await enqueue(in: queue)
        try run("UPDATE hour SET count = \(count)", in: queue)
        try await enqueue(in: queue)
        #expect(try queue.jobs().count == 2)
        #expect(try counts(of: queue).allSatisfy { 0...(1 << 53) ~= $0 })
    }
}
