import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct SentLogTests {
    let temporary = TemporaryStore()

    private func queue() throws -> ReplayQueue { try ReplayQueue(temporary.store, clock: .still) }

    private func request(keyLifetime: Duration?) -> Request {
        var request = Request("http://api.test/notes", method: .post, body: .json(["text": "a"]))
        request.replay = ReplayPolicy(.durable, keyLifetime: keyLifetime)
        return request
    }

    /// - Returns: how many jobs it has sent.
    private func replay(_ outcome: ReplayOutcome = .success) async throws -> Int {
        let (queue, count) = (try queue(), Guarded(0))
        let replayer = Replayer(queue, width: 4, reachability: FakeNetwork()) { sending in
            guard await sending.begin() else { return Replayer.Sent(outcome: .notBegun) }
            count.withLock { $0 += 1 }
            return Replayer.Sent(outcome: outcome)
        }
        await replayer.replay()
        await queue.close()
        return count.withLock { $0 }
    }

    /// Brings the queue back to how it was before all of it was claimed.
    private func rollBack() throws {
        try queue().database.write { (connection) throws(SQLiteError) in
            try connection.execute(
                "UPDATE job SET state = 0, reason = 'enqueued', token = 0, status = NULL, is_head = 1")
            try ReplayTable.reseal(on: connection)
        }
    }

    @Test func `a job that must not be sent twice is for review where the queue has forgotten that it was sent`()
        async throws
    {
        try await queue().enqueue([request(keyLifetime: nil), request(keyLifetime: .seconds(86_400))])
        #expect(try await replay() == 2)
        try rollBack()
        // With its key the other is the same request once more.
        #expect(try await replay() == 1)
        let job = try #require(try queue().job(1))
        #expect(job.state == .needsReview && job.reason == .outcomeUnknown && job.unknownSince != nil)
    }

    @Test func `a job that surely was not processed is sent again, and one that somebody redrives`() async throws {
        try await queue().enqueue(request(keyLifetime: nil))
        #expect(try await replay(.unsent) == 1)
        try await queue().retry(1)
        #expect(try await replay(.answered(status: 400)) == 1)
        try await queue().redrive(1)
        #expect(try await replay() == 1)
    }

    // Its jobs have the numbers of the old one's.
    @Test func `a new queue in the place of one that was removed sends its jobs`() async throws {
        try await queue().enqueue(request(keyLifetime: nil))
        #expect(try await replay() == 1)
        for suffix in ["", "-wal", "-shm"] { unlink(temporary.store.replayPath + suffix) }
        try await queue().enqueue(request(keyLifetime: nil))
        #expect(try await replay() == 1)
    }

    @Test(arguments: [Data(), Data([1, 2, 3]), Data(repeating: 7, count: 100_000)])
    func `a file that is damaged stops no job`(damage: Data) async throws {
        try await queue().enqueue(request(keyLifetime: nil))
        try damage.write(to: URL(filePath: temporary.store.sentPath))
        #expect(try await replay() == 1)
        try rollBack()
        #expect(try await replay() == 0)
    }

    @Test func `a job that was claimed by somebody who has died is for review where it has left with that claim`()
        async throws
    {
        try await queue().enqueue(request(keyLifetime: nil))
        #expect(try await replay() == 1)
        // As it was when it had been claimed.
        try queue().database.write { (connection) throws(SQLiteError) in
            try connection.execute(
                "INSERT INTO owner (id, name, boot, process, program, started_at, lease_until) VALUES (77, 'x', '', 1, '', 0, 0)"
            )
            try connection.execute(
                "UPDATE job SET state = 2, reason = 'claimed', owner = 77, token = 1, status = NULL, is_head = 1")
            try ReplayTable.reseal(on: connection)
        }
        #expect(try await replay() == 0)
        #expect(try queue().job(1)?.reason == .outcomeUnknown)
    }
}
