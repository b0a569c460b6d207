import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An outcome that cannot be written", .limit(minutes: 5)) struct UnwrittenOutcomeTests {
    private let temporary = TemporaryStore()
    private let disk: FaultDisk
    private let activity = Activity()
    private let time = TestClock()
    private let sent = Guarded(0)
    private let failures = Guarded<[String]>([])

    init() { disk = FaultDisk(directory: temporary.directory) }

    private func queue(_ change: (inout ReplayClock) -> Void = { _ in }) throws -> ReplayQueue {
        var store = temporary.store
        store.vfs = disk.vfs
        var clock = clock { [time] in time.wallTime }
        change(&clock)
        return try ReplayQueue(store, clock: clock, activity: activity)
    }

    private func clock(_ wallTime: @escaping @Sendable () -> WallTime) -> ReplayClock {
        var clock = ReplayClock.still
        clock.now = wallTime
        clock.uptime = { Uptime(rawValue: wallTime().rawValue) }
        clock.sleep = time
        return clock
    }

    private func observe() -> ActivityObservation {
        activity.observe { [failures] event in
            if case .queueFailed(let reason) = event { failures.withLock { $0.append(reason) } }
        }
    }

    private var hasFailed: Bool { failures.withLock { !$0.isEmpty } }

    /// Returns a replayer that sends a job, after which the disk accepts no writes.
    private func replayer(_ queue: ReplayQueue) -> Replayer {
        Replayer(queue, width: 1, reachability: StubReachability()) { [disk, sent] attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            sent.withLock { $0 += 1 }
            disk.fail(.full, atCall: 1, lasting: true)
            return JobResult(outcome: .success)
        }
    }

    private func enqueue(in queue: ReplayQueue) async throws -> Int64 {
        try #require(try await queue.enqueue(Request("http://h/", method: .post, body: .json(1))))
    }

    /// Checks that the outcome is written when there is space again, and that nothing was sent twice.
    private func expectWritten(_ id: Int64, in queue: ReplayQueue) async throws {
        #expect(try queue.job(id)?.state == .running)
        disk.heal()
        await untilTrue { [time] in
            if let next = time.sleeping.first { time.advance(by: next) }
            return (try? queue.job(id)?.state) == .done
        }
        #expect(sent.withLock { $0 } == 1)
        await queue.close()
    }

    @Test func `is reported at once, with the file and the remedy`() async throws {
        let (queue, observation) = (try queue(), observe())
        let id = try await enqueue(in: queue)
        let run = Task { [self] in await replayer(queue).run() }
        await untilTrue { hasFailed }
        let reason = try #require(failures.withLock { $0.first })
        #expect(
            reason.hasPrefix("the outcome of job \(id) cannot be written: \(temporary.store.replayPath): ")
                && reason.hasSuffix(": free space on the disk"), "\(reason)")
        run.cancel()
        #expect(await run.value.error?.code == .diskFull)
        try await expectWritten(id, in: queue)
        withExtendedLifetime(observation) {}
    }

    @Test func `does not hold up a run beyond its deadline`() async throws {
        let (queue, observation) = (try queue(), observe())
        let id = try await enqueue(in: queue)
        let (replayer, deadline) = (replayer(queue), time.date + 600)
        let run = Task { await replayer.replay(until: deadline) }
        await untilTrue { hasFailed }
        time.advance(by: .seconds(600))
        replayer.wake()
        let summary = await run.value
        #expect(summary.finished == 0 && summary.error?.code == .diskFull)
        try await expectWritten(id, in: queue)
        withExtendedLifetime(observation) {}
    }

    @Test(arguments: [false, true])
    func `does not hold up a replayer that is stopped`(isWatching: Bool) async throws {
        let (queue, observation) = (try queue(), observe())
        let id = try await enqueue(in: queue)
        let replayer = replayer(queue)
        let run = Task { isWatching ? await replayer.run() : await replayer.replay() }
        await untilTrue { hasFailed }
        replayer.stop()
        #expect(await run.value.error?.message.contains("the outcome of job \(id)") == true)
        try await expectWritten(id, in: queue)
        withExtendedLifetime(observation) {}
    }

    @Test func `an outcome is written although its request outlasts the timeout of a stopped replayer`() async throws {
        let end = TestClock()
        let queue = try queue { $0.endClock = end }
        let id = try await enqueue(in: queue)
        let checkpoint = Checkpoint()
        let replayer = Replayer(queue, width: 1, reachability: StubReachability()) { attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            await checkpoint.pass()
            return JobResult(outcome: .success)
        }
        let run = Task { await replayer.replay() }
        await checkpoint.reached()
        replayer.stop()
        for _ in 0..<1000 { await Task.yield() }
        end.advance(by: .seconds(10))
        checkpoint.open()
        #expect(await run.value == Replayer.Summary(finished: 1))
        #expect(try queue.job(id)?.state == .done)
        await queue.close()
    }

    /// An answer, and the state of its job if the outcome cannot be written before the process ends.
    struct LastWord: CustomTestStringConvertible {
        let testDescription: String
        var outcome = ReplayOutcome.answered(status: 201)
        var policy = ReplayPolicy.durable
        var state: ReplayState
    }

    private static let lastWords = [
        LastWord(testDescription: "success", state: .done),
        LastWord(testDescription: "refusal", outcome: .answered(status: 422), state: .dead),
        LastWord(
            testDescription: "success without a key", policy: ReplayPolicy(.durable, keyLifetime: nil), state: .done),
        LastWord(
            testDescription: "refusal without a key", outcome: .answered(status: 403),
            policy: ReplayPolicy(.durable, keyLifetime: nil), state: .dead),
        LastWord(
            testDescription: "a failing server", outcome: .answered(status: 503, isTransient: true), state: .ready),
        LastWord(testDescription: "no answer", outcome: .lost, state: .ready),
    ]

    @Test(arguments: lastWords)
    func `is known to the process that rescues its job`(last: LastWord) async throws {
        let first = try queue { $0.endTimeout = .milliseconds(1) }
        var request = Request("http://h/", method: .post, body: .json(1))
        request.replay = last.policy
        let id = try #require(try await first.enqueue(request))
        let replayer = Replayer(first, width: 1, reachability: StubReachability()) { [disk] attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            disk.fail(.full, atCall: 1, lasting: true)
            return JobResult(outcome: last.outcome)
        }
        let observation = observe()
        let run = Task { await replayer.replay() }
        await untilTrue { hasFailed }
        replayer.stop()
        #expect(await run.value.error?.code == .diskFull)
        // As after the death of the process: another owner finds the lease at its end.
        disk.heal()
        let second = try ReplayQueue(temporary.store, clock: clock { [time] in time.wallTime + 120_000 })
        _ = try await second.owner.rescue { _ in }
        #expect(try second.job(id)?.state == last.state)
        await second.close()
        await first.close()
        withExtendedLifetime(observation) {}
    }

    @Test(
        arguments: [nil, AESGCMSeal.first] as [AESGCMSeal?],
        [(size: 10, state: ReplayState.done), (size: 20_000, state: .done), (size: 40_000, state: .ready)])
    func `an unwritten answer is known to the process that rescues its job, unless it is long`(
        seal: AESGCMSeal?, last: (size: Int, state: ReplayState)
    ) async throws {
        var store = temporary.store
        store.vfs = disk.vfs
        var short = clock { [time] in time.wallTime }
        short.endTimeout = .milliseconds(1)
        let first = try ReplayQueue(store, seal: seal, clock: short, activity: activity)
        var request = Request("http://h/", method: .post, body: .json(1))
        request.replay = .durable
        request.replay.storesAnswer = true
        let id = try #require(try await first.enqueue(request))
        let body = Data(String(repeating: "an-answer ", count: last.size / 10).utf8)
        let replayer = Replayer(first, width: 1, reachability: StubReachability()) { [disk] attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            disk.fail(.full, atCall: 1, lasting: true)
            let answer = ReplayAnswer(
                status: .created, location: "/1", headers: [.contentType: "text/plain"], body: body)
            return JobResult(outcome: .answered(status: 201), answer: answer)
        }
        let observation = observe()
        let run = Task { await replayer.replay() }
        await untilTrue { hasFailed }
        replayer.stop()
        #expect(await run.value.error?.code == .diskFull)
        disk.heal()
        let log = { try Data(contentsOf: URL(filePath: store.answersPath)) }
        // The first bytes of the body, in Base64.
        let isInClear = try log().firstRange(of: Data("YW4tYW5zd2Vy".utf8)) != nil
        #expect(isInClear == (seal == nil && last.state == .done))
        let later = clock { [time] in time.wallTime + 120_000 }
        let second = try ReplayQueue(temporary.store, seal: seal, clock: later)
        _ = try await second.owner.rescue { _ in }
        #expect(try second.job(id)?.state == last.state)
        let answer = try second.answeredJob(id)?.answer
        #expect(answer?.body == (last.state == .done ? body : nil))
        #expect(answer?.location == (last.state == .done ? "/1" : nil))
        // What the log had is overwritten when a queue is closed.
        await second.close()
        #expect(try log().dropFirst(4_000).allSatisfy { $0 == 0 })
        await first.close()
        withExtendedLifetime(observation) {}
    }

    @Test func `an outcome that cannot be written since another program has sealed the queue is known to that program`()
        async throws
    {
        let first = try queue()
        var request = Request("http://h/", method: .post, body: .json(1))
        request.replay = ReplayPolicy(.durable, keyLifetime: nil)
        let id = try #require(try await first.enqueue(request))
        let replayer = Replayer(first, width: 1, reachability: StubReachability()) { [temporary] attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            _ = try? ReplayQueue(temporary.store, seal: AESGCMSeal.first)
            return JobResult(outcome: .answered(status: 201))
        }
        #expect(await replayer.replay().finished == 0)
        let second = try ReplayQueue(
            temporary.store, seal: AESGCMSeal.first, clock: clock { [time] in time.wallTime })
        // The first program has dropped its owner, whose lease has not ended.
        _ = try await second.owner.rescue { _ in }
        #expect(try second.job(id)?.state == .done)
        await second.close()
        await first.close()
    }

    @Test(arguments: [nil, AESGCMSeal.first]) func `is known after the queue was sealed again`(
        seal: AESGCMSeal?
    ) async throws {
        let first = try ReplayQueue(temporary.store, seal: seal, clock: clock { [time] in time.wallTime })
        let id = try await enqueue(in: first)
        let owner = try await first.owner.enter()
        let claimed = try #require(try await first.claim(1, of: .all, by: owner)?.first)
        #expect(await first.begin(claimed))
        let row = try first.read { (connection) throws(SQLiteError) in try ReplayTable.row(id, on: connection) }
        first.answerLog.note(201, of: try #require(row))
        let second = try ReplayQueue(
            temporary.store, seal: AESGCMSeal.second, clock: clock { [time] in time.wallTime + 120_000 })
        _ = try await second.owner.rescue { _ in }
        #expect(try second.job(id)?.state == .done)
        await second.close()
        await first.close()
    }

    @Test(arguments: [nil, AESGCMSeal.first] as [AESGCMSeal?], [false, true])
    func `a waiting job gets the id in an unwritten answer from the process that rescues the creating job`(
        seal: AESGCMSeal?, storesAnswer: Bool
    ) async throws {
        let first = try ReplayQueue(temporary.store, seal: seal, clock: clock { [time] in time.wallTime })
        let localID = "local:96001A3D-0000-4000-8000-000000000001"
        var creation = Request("http://h/tasks", method: .post, body: .json(["title": "a"]))
        creation.replay = .durable
        creation.replay.storesAnswer = storesAnswer
        creation.replay.creates = ReplayCreation(localID, paths: [["id"]])
        _ = try await first.enqueue(creation)
        var remark = Request("http://h/remarks", method: .post, body: .json(["task": .string(localID)]))
        remark.replay = .durable
        remark.replay.awaits = remark.localIDs
        let waiting = try #require(try await first.enqueue(remark))
        let owner = try await first.owner.enter()
        let claimed = try #require(try await first.claim(1, of: .all, by: owner)?.first)
        #expect(await first.begin(claimed))
        let answer = ReplayAnswer(
            status: .created, body: Data(#"{"id": 7}"#.utf8))
        let (row, content) = try first.read { (connection) throws(SQLiteError) in
            (try ReplayTable.row(claimed.id, on: connection), try connection.logged(answer, of: claimed.id))
        }
        first.answerLog.note(201, content: content, of: try #require(row))
        let second = try ReplayQueue(
            temporary.store, seal: seal, clock: clock { [time] in time.wallTime + 120_000 })
        _ = try await second.owner.rescue { _ in }
        #expect(try second.job(claimed.id)?.state == .done)
        #expect(try second.job(waiting)?.state == .ready)
        #expect(try second.request(of: waiting)?.body == .json(["task": 7]))
        await second.close()
        await first.close()
    }

    @Test func `holds up the remaining jobs by default, until it is written`() async throws {
        let (queue, observation) = (try queue(), observe())
        for _ in 0..<2 { _ = try await enqueue(in: queue) }
        let replayer = Replayer(queue, width: 1, reachability: StubReachability()) { [disk, sent] attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            let count = sent.withLock {
                $0 += 1; return $0
            }
            if count == 1 { disk.fail(.full, atCall: 1, lasting: true) }
            return JobResult(outcome: .success)
        }
        let run = Task { await replayer.replay() }
        await untilTrue { hasFailed }
        disk.heal()
        await untilTrue { [time] in
            if let next = time.sleeping.first(where: { $0 < .seconds(15) }) { time.advance(by: next) }
            return (try? queue.counts()[.done]) == 2
        }
        #expect(await run.value == Replayer.Summary(finished: 2))
        #expect(sent.withLock { $0 } == 2)
        await queue.close()
        withExtendedLifetime(observation) {}
    }

    @Test(arguments: [false, true])
    func `an outcome that can never be written ends its run, and its job stays claimed until the queue is closed`(
        isWatching: Bool
    ) async throws {
        let (queue, observation) = (try queue(), observe())
        let id = try await enqueue(in: queue)
        let trigger = """
            CREATE TRIGGER no BEFORE UPDATE OF state ON job WHEN new.state = 4 BEGIN SELECT RAISE(ABORT, 'no'); END
            """
        try queue.database.write { (connection) throws(SQLiteError) in try connection.execute(trigger) }
        let replayer = Replayer(queue, width: 1, reachability: StubReachability()) { [sent] attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            sent.withLock { $0 += 1 }
            return JobResult(outcome: .success)
        }
        let summary = isWatching ? await replayer.run() : await replayer.replay()
        #expect(summary.finished == 0 && summary.error?.message.contains("the outcome of job \(id)") == true)
        #expect(try queue.job(id)?.state == .running)
        #expect(failures.withLock { $0.count } == 1)
        await queue.close()
        // The job may be repeated, because it has a key.
        #expect(try queue.job(id)?.state == .ready)
        #expect(sent.withLock { $0 } == 1)
        withExtendedLifetime(observation) {}
    }

    @Test func `does not keep the caller of a durable request waiting`() async throws {
        let fixture = ReplayFixture()
        let disk = FaultDisk(directory: fixture.temporary.directory)
        fixture.serve { [sent] _ throws(TransportError) in
            sent.withLock { $0 += 1 }
            disk.fail(.full, atCall: 1, lasting: true)
            return .stub(status: 201)
        }
        let engine = fixture.engine { configuration in
            configuration.store?.vfs = disk.vfs
            configuration.cancellationTimeout = .milliseconds(1)
        }
        var request = Request("http://h/", method: .post, body: .json(1))
        request.replay = .durable
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(request) }
        #expect(error?.code == .queued && error?.response?.status.code == 201)
        let id = try #require(error?.jobID)
        disk.heal()
        let queue = try engine.queue()
        await untilTrue {
            if let next = fixture.clock.sleeping.first { fixture.clock.advance(by: next) }
            return (try? queue.job(id)?.state) == .done
        }
        #expect(sent.withLock { $0 } == 1)
        await engine.close()
    }

    @Test func `is not lost with the closing of its queue`() async throws {
        let fixture = ReplayFixture()
        let disk = FaultDisk(directory: fixture.temporary.directory)
        fixture.serve { [sent] _ throws(TransportError) in
            sent.withLock { $0 += 1 }
            disk.fail(.full, atCall: 1, lasting: true)
            return .stub(status: 201)
        }
        func engine() -> Engine {
            fixture.engine { configuration in
                configuration.store?.vfs = disk.vfs
                configuration.cancellationTimeout = .milliseconds(1)
            }
        }
        let (first, second) = (engine(), engine())
        let queue = try second.queue()
        var request = Request("http://h/", method: .post, body: .json(1))
        request.replay = ReplayPolicy(.durable, keyLifetime: nil)
        let error = await #expect(throws: ConnectionError.self) { try await first.send(request) }
        let id = try #require(error?.jobID)
        await first.close()
        disk.heal()
        // Other owners claim jobs whose owner holds no lock.
        _ = try await queue.owner.rescue { _ in }
        await untilTrue {
            if let next = fixture.clock.sleeping.first { fixture.clock.advance(by: next) }
            return (try? queue.job(id)?.state.isEnd) == true
        }
        #expect(try queue.job(id)?.state == .done)
        #expect(sent.withLock { $0 } == 1)
        await second.close()
    }
}
