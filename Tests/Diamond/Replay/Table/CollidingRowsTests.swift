import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection
@testable import DiamondSQLite

/// Queues in which the row of a damaged job has a unique value of another job's row. A unique index over both rows
/// cannot be created.
@Suite("Damaged rows that collide with others", .limit(minutes: 5)) struct CollidingRowsTests {
    let temporary = TemporaryStore()

    private func request(_ key: String, unique: String) -> Request {
        var request = Request("http://api.test/notes", method: .put, body: .json(["text": "a"]))
        request.replay = ReplayPolicy(.durable, orderingKey: key, unique: unique)
        return request
    }

    private func queue() throws -> ReplayQueue { try ReplayQueue(temporary.store, clock: .still) }

    /// Changes the row of a job, and no index with it.
    private func replace(_ old: Data, by new: Data) throws {
        let url = URL(filePath: temporary.store.replayPath)
        try SQLiteHandle(path: url.path, flags: 2, vfs: nil).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        var bytes = try Data(contentsOf: url)
        for page in stride(from: 0, to: bytes.count, by: 4096) where bytes[page] == 0x0D {
            let range = page..<page + 4096
            // Only rows of jobs contain this reason. The row of the oldest job is last in its page.
            guard bytes.range(of: Data("enqueued".utf8), in: range) != nil,
                let place = bytes.range(of: old, options: .backwards, in: range)
            else { continue }
            bytes.replaceSubrange(place, with: new)
        }
        try bytes.write(to: url)
    }

    /// - Returns: the jobs that were sent.
    private func replay(width: Int) async throws -> (sent: [Int64], error: ReplayError?) {
        let (queue, sent) = (try queue(), Guarded<[Int64]>([]))
        let replayer = Replayer(queue, width: width, reachability: StubReachability()) { attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            sent.withLock { $0.append(attempt.id ?? 0) }
            return JobResult(outcome: .success)
        }
        let summary = await replayer.replay()
        await queue.close()
        return (sent.withLock { $0 }, summary.error)
    }

    /// Adds jobs with three ordering keys. The second and the fourth job have the same key.
    private func fill() async throws {
        let queue = try queue()
        try await queue.enqueue([
            request("line-a", unique: "name-a"), request("line-b", unique: "name-b"),
            request("line-c", unique: "name-c"), request("line-b", unique: "name-d"),
        ])
        await queue.close()
    }

    private func expectRest(width: Int) async throws {
        let (sent, error) = try await replay(width: width)
        #expect(sent.sorted() == [1, 3, 4] && error == nil)
        let job = try #require(try queue().job(2))
        #expect(job.state == .needsReview && job.reason == .damaged)
        // The indexes are those of the schema, and agree with the rows.
        let names = try queue().database.read { (connection) throws(SQLiteError) in
            try connection.integer(
                "SELECT count(*) FROM sqlite_master WHERE name IN ('job_head', 'job_running', 'job_unique')")
        }
        #expect(names == 3)
        let diagnosis = try #require(ReplayDiagnosis(of: temporary.store))
        #expect(diagnosis.integrityErrors.isEmpty && diagnosis.damagedJobs == [2])
        #expect(diagnosis.inconsistencies == .init())
        #expect(try await replay(width: width).error == nil)
    }

    // Depending on the width, jobs before the damaged job are done or running when it is found.
    @Test(arguments: [1, 4])
    func `a damaged job with another job's ordering key is for review, and others are sent`(width: Int) async throws {
        try await fill()
        try replace(Data("enqueuedline-b".utf8), by: Data("enqueuedline-a".utf8))
        try await expectRest(width: width)
    }

    @Test(arguments: [1, 4])
    func `a damaged job with another job's unique name is for review, and others are sent`(width: Int) async throws {
        try await fill()
        let names = try queue().database.read { (connection) throws(SQLiteError) in
            let statement = try connection.statement("SELECT unique_key FROM job WHERE id < 3 ORDER BY id")
            var names: [Data] = []
            while try statement.step() { names.append(statement.data(0)) }
            return names
        }
        try replace(names[1], by: names[0])
        try await expectRest(width: width)
    }
}
