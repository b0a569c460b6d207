import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The log of sent jobs", .limit(minutes: 5)) struct SentLogTests {
    let temporary = TemporaryStore()

    private func queue() throws -> ReplayQueue { try ReplayQueue(temporary.store, clock: .still) }

    private func request(keyLifetime: Duration?) -> Request {
        var request = Request("http://api.test/notes", method: .post, body: .json(["text": "a"]))
        request.replay = ReplayPolicy(.durable, keyLifetime: keyLifetime)
        return request
    }

    /// - Returns: the number of jobs that the replayer has sent.
    private func replay(_ outcome: ReplayOutcome = .success) async throws -> Int {
        let (queue, count) = (try queue(), Guarded(0))
        let replayer = Replayer(queue, width: 4, reachability: StubReachability()) { attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            count.withLock { $0 += 1 }
            return JobResult(outcome: outcome)
        }
        await replayer.replay()
        await queue.close()
        return count.withLock { $0 }
    }

    /// Restores the queue's file from before its jobs were claimed.
    private func rollBack() throws {
        try queue().database.write { (connection) throws(SQLiteError) in
            try connection.execute(
                "UPDATE job SET state = 0, reason = 'enqueued', token = 0, status = NULL, is_head = 1")
            try ReplayTable.reseal(on: connection)
        }
    }

    @Test func `a job that must not be sent twice is for review if the queue has lost the record of its sending`()
        async throws
    {
        try await queue().enqueue([request(keyLifetime: nil), request(keyLifetime: .seconds(86_400))])
        #expect(try await replay() == 2)
        try rollBack()
        // The other job may be repeated, because it has a key.
        #expect(try await replay() == 1)
        let job = try #require(try queue().job(1))
        #expect(job.state == .needsReview && job.reason == .outcomeUnknown && job.unknownSince != nil)
    }

    @Test func `a job that was certainly not processed is sent again, and so is one that is redriven`() async throws {
        try await queue().enqueue(request(keyLifetime: nil))
        #expect(try await replay(.unsent) == 1)
        try await queue().retry(1)
        #expect(try await replay(.answered(status: 400)) == 1)
        try await queue().redrive(1)
        #expect(try await replay() == 1)
    }

    // The jobs of the new queue have the same ids as those of the old queue.
    @Test func `a new queue that replaces a removed queue sends its jobs`() async throws {
        try await queue().enqueue(request(keyLifetime: nil))
        #expect(try await replay() == 1)
        for suffix in ["", "-wal", "-shm"] { unlink(temporary.store.replayPath + suffix) }
        try await queue().enqueue(request(keyLifetime: nil))
        #expect(try await replay() == 1)
    }

    @Test(arguments: [Data(), Data([1, 2, 3]), Data(repeating: 7, count: 100_000)])
    func `a damaged log file stops no job`(damage: Data) async throws {
        try await queue().enqueue(request(keyLifetime: nil))
        try damage.write(to: URL(filePath: temporary.store.sentPath))
        #expect(try await replay() == 1)
        try rollBack()
        #expect(try await replay() == 0)
    }

    @Test func `a job claimed by a dead owner is for review where it was sent with that claim`()
        async throws
    {
        try await queue().enqueue(request(keyLifetime: nil))
        #expect(try await replay() == 1)
        // The file as it was after the claim.
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

    // MARK: Retraction

    /// A queue of one job that must not be sent twice, claimed and begun.
    private func begun(_ activity: Activity? = nil) async throws -> (
        queue: ReplayQueue, job: ReplayClaim, owner: Int64
    ) {
        let queue = try ReplayQueue(temporary.store, clock: .still, activity: activity)
        try await queue.enqueue(request(keyLifetime: nil))
        let owner = try await queue.owner.enter()
        let job = try #require(try await queue.claim(1, of: .all, by: owner)?.first)
        #expect(await queue.begin(job))
        return (queue, job, owner)
    }

    private func bury(_ owner: Int64, in queue: ReplayQueue) async throws {
        let sent = SentLog(temporary.store.sentPath)
        try await queue.writer.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.removeOwner(owner, jobsMayBeCause: true, log: sent, on: connection, ledger: &ledger)
        }
    }

    @Test func `a job that was certainly not sent is ready again where its process dies in its backoff`() async throws {
        let (queue, job, owner) = try await begun()
        await queue.markUnsent(job) { true }
        try await bury(owner, in: queue)
        #expect(try queue.job(job.id)?.state == .ready)
    }

    @Test func `a job that was sent again after its record was retracted is for review where its process dies`()
        async throws
    {
        let (queue, job, owner) = try await begun()
        await queue.markUnsent(job) { true }
        #expect(await queue.begin(job))
        // The newest transaction is lost with the end of the write-ahead log.
        try queue.database.write { (connection) throws(SQLiteError) in
            try connection.execute("UPDATE job SET sent_at = NULL")
            try ReplayTable.reseal(on: connection)
        }
        try await bury(owner, in: queue)
        #expect(try queue.job(job.id)?.reason == .outcomeUnknown)
    }

    @Test func `a retraction removes the record of its own claim only`() throws {
        let log = SentLog(try path())
        #expect(try log.note(row(token: 3)))
        try log.revoke(row(token: 3))
        #expect(try !log.wasSent(row(token: 3)) && log.note(row(token: 3)) && log.wasSent(row(token: 3)))
        try log.revoke(row(token: 3))
        #expect(try log.note(row(token: 4)))
        try log.revoke(row(token: 3))
        #expect(log.wasSent(row(token: 4)) && log.wasSent(row(token: 3)) && !log.wasSent(row(token: 5)))
    }

    // MARK: Limits

    private func path() throws -> String {
        try temporary.store.create()
        return temporary.directory.appending(path: "sent").path
    }

    private func row(_ id: Int64 = 1, token: Int64 = 1) -> ReplayRow {
        var row = ReplayRow(id: id)
        row.method = "POST"
        row.digest = id * 7
        row.state = .running
        row.reason = .claimed
        row.isHead = true
        row.token = token
        return row
    }

    @Test func `a process recognizes its newest sent jobs, however many it has sent`() throws {
        let log = SentLog(try path(), ownLimit: 4)
        for id in Int64(1)...20 {
            for recent in max(1, id - 3)...id { #expect(try log.note(row(recent)), "\(recent) after \(id)") }
        }
    }

    @Test func `a log file that is too long is cut to its newest 2,048 records by the next writer`() throws {
        let path = try path()
        let all = (Int64(1)...3000).reduce(into: Data()) { $0 += SentRecord(row($1)).bytes }
        try (Data([1, 2, 3]) + all).write(to: URL(filePath: path))
        let log = SentLog(path, limit: 1000)
        #expect(log.wasSent(row(3000)) && log.wasSent(row(953)) && !log.wasSent(row(952)))
        #expect(try Data(contentsOf: URL(filePath: path)).count == 3 + all.count)
        #expect(try log.note(row(3001)))
        #expect(try Data(contentsOf: URL(filePath: path)) == all.suffix(2048 * 32) + SentRecord(row(3001)).bytes)
        #expect(log.wasSent(row(3001)) && log.wasSent(row(954)))
        #expect(!FileManager.default.fileExists(atPath: path + ".new"))
    }

    // MARK: Failures

    @Test func `a job that cannot be recorded is not sent, and observers are notified`() async throws {
        let (activity, failures) = (Activity(), Guarded<[String]>([]))
        let observation = activity.observe { event in
            if case .queueFailed(let reason) = event { failures.withLock { $0.append(reason) } }
        }
        let queue = try ReplayQueue(temporary.store, clock: .still, activity: activity)
        let place = URL(filePath: temporary.store.sentPath)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        try await queue.enqueue(request(keyLifetime: nil))
        let owner = try await queue.owner.enter()
        let job = try #require(try await queue.claim(1, of: .all, by: owner)?.first)
        #expect(await !queue.begin(job))
        #expect(try queue.job(job.id)?.sentAt == nil)
        let told = failures.withLock { $0 }
        let reason = "job 1 is not sent, because its state cannot be written: \(place.path): "
        #expect(told.count == 1 && told[0].hasPrefix(reason), "\(told)")
        try FileManager.default.removeItem(at: place)
        #expect(await queue.begin(job))
        try FileManager.default.removeItem(at: place)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        await queue.markUnsent(job) { true }
        #expect(try queue.job(job.id)?.sentAt != nil)
        #expect(failures.withLock { $0.last?.hasPrefix("job 1 still counts as sent, because ") == true })
        withExtendedLifetime(observation) {}
    }
}
