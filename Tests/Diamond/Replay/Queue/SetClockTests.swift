import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("A queue on a machine whose clock is wrong, and is corrected", .limit(minutes: 5)) struct SetClockTests {
    /// The machine's clocks, which the test moves.
    final class Machine: Sendable {
        struct Clocks {
            var boot = "first"
            var uptime: Uptime = 5_000_000
            var wall: WallTime = 1_767_225_600_000
        }

        let clocks = Guarded(Clocks())

        var clock: ReplayClock {
            var clock = ReplayClock.system
            clock.now = { [clocks] in clocks.withLock { $0.wall } }
            clock.uptime = { [clocks] in clocks.withLock { $0.uptime } }
            clock.boot = clocks.withLock { $0.boot }
            clock.draw = { 0 }
            return clock
        }

        var date: Date { clocks.withLock { $0.wall }.date }

        func pass(_ time: Duration) {
            clocks.withLock { clocks in
                clocks.uptime += time.milliseconds
                clocks.wall += time.milliseconds
            }
        }

        func set(_ change: Duration) { clocks.withLock { $0.wall += change.milliseconds } }

        /// - Parameter change: the change of the wall clock while the machine is off.
        func restart(_ change: Duration) {
            clocks.withLock { clocks in
                clocks.boot += "'"
                clocks.uptime = 20_000
                clocks.wall += change.milliseconds
            }
        }
    }

    /// How the wall clock becomes wrong, or right.
    enum Way: Sendable, CaseIterable { case set, setForAnotherProcess, restarted }

    static let (hour, day, year) = (Duration.seconds(3600), Duration.seconds(86_400), Duration.seconds(365 * 86_400))

    let temporary = TemporaryStore()
    let machine = Machine()
    let outcomes = Guarded<[ReplayOutcome]>([])
    let sent = Guarded<[Int64]>([])

    private func queue() throws -> ReplayQueue { try ReplayQueue(temporary.store, clock: machine.clock) }

    private func request(_ policy: ReplayPolicy = .durable, method: HTTPRequest.Method = .put) -> Request {
        var request = Request("http://api.test/notes", method: method, body: .json(["text": "a"]))
        request.replay = policy
        return request
    }

    /// Sends the jobs that are due, as another program would. Their outcome is the test's, or a success.
    @discardableResult
    private func replay(_ outcomes: ReplayOutcome...) async throws -> [Int64] {
        self.outcomes.withLock { $0 = outcomes }
        sent.withLock { $0 = [] }
        let queue = try queue()
        let replayer = Replayer(queue, width: 1, reachability: StubReachability()) {
            [outcomes = self.outcomes, sent] attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            sent.withLock { $0.append(attempt.id ?? 0) }
            return JobResult(outcome: outcomes.withLock { $0.isEmpty ? .success : $0.removeFirst() })
        }
        await replayer.replay()
        await queue.close()
        return sent.withLock { $0 }
    }

    private func move(_ change: Duration, _ way: Way) {
        if way == .restarted { machine.restart(change) } else { machine.set(change) }
    }

    private func job(_ id: Int64 = 1) throws -> ReplayJob { try #require(try queue().job(id)) }

    // MARK: Waiting

    @Test(arguments: Way.allCases, [year, .seconds(9 * 86_400), .seconds(2 * 3600)])
    func `a job that fails while the clock is ahead is sent within an hour of its correction`(
        _ way: Way, _ jump: Duration
    ) async throws {
        let policy = ReplayPolicy(.durable, orderingKey: "key")
        try await queue().enqueue([request(policy), request(policy)])
        move(jump, way)
        #expect(try await replay(.unsent, .unsent, .unsent) == [1])
        machine.pass(.seconds(10))
        move(.zero - jump, way)
        machine.pass(Self.hour)
        #expect(try await replay() == [1, 2])
    }

    @Test func `a queue that is created while the clock is ahead sends within an hour of its correction`() async throws
    {
        machine.set(Self.year)
        try await queue().enqueue([request()])
        try await replay(.unsent)
        machine.set(.zero - Self.year)
        machine.pass(Self.hour)
        #expect(try await replay() == [1])
    }

    @Test(arguments: Way.allCases)
    func `a job does not wait any longer if the clock is set back`(_ way: Way) async throws {
        try await queue().enqueue([request()])
        try await replay(.unsent)
        move(.seconds(-5 * 86_400), way)
        machine.pass(.seconds(4))
        #expect(try await replay() == [1])
    }

    @Test(arguments: [Self.year, .zero - Self.year])
    func `a delay and a server's Retry-After do not depend on changes of the clock`(_ jump: Duration) async throws {
        let queue = try queue()
        try await queue.enqueue(request(), after: .seconds(600))
        try await queue.enqueue(request())
        try await replay(.answered(status: 503, isTransient: true, pushBack: .seconds(600)))
        machine.set(jump)
        machine.pass(.seconds(590))
        #expect(try await replay().isEmpty)
        machine.pass(.seconds(20))
        #expect(try await replay() == [1, 2])
    }

    @Test func `a date is as far ahead as the clock says when the job is added`() async throws {
        try await queue().enqueue(request())
        machine.set(Self.year)
        _ = try await queue().enqueue(request(), at: machine.date + 600)
        #expect(try job(2).runAt == machine.date + 600)
        machine.pass(.seconds(590))
        #expect(try await replay() == [1])
        machine.pass(.seconds(20))
        #expect(try await replay() == [2])
    }

    @Test func `nine hours without power count as waiting time`() async throws {
        try await queue().enqueue(request(), after: .seconds(8 * 3600))
        machine.restart(.seconds(9 * 3600))
        #expect(try await replay() == [1])
    }

    @Test func `ten days without power count as waiting time once the clock has been right for an hour`() async throws {
        try await queue().enqueue(request(), after: Self.day)
        machine.restart(.seconds(10 * 86_400))
        #expect(try await replay().isEmpty)
        machine.pass(Self.hour)
        #expect(try await replay() == [])
        #expect(try job().reason == .expired)
    }

    // MARK: Ending

    @Test(arguments: Way.allCases) func `no job expires by a clock that is set ahead`(_ way: Way) async throws {
        try await queue().enqueue([request(), request(ReplayPolicy(.durable, expiry: .seconds(60)))])
        try await queue().hold(1)
        try await queue().hold(2)
        move(Self.year, way)
        try await replay()
        #expect(try job(1).state == .held && job(2).state == .held)
        // The queue's time advances as usual.
        machine.pass(.seconds(70))
        try await replay()
        #expect(try job(1).state == .held && job(2).reason == .expired)
    }

    @Test(arguments: Way.allCases) func `a job expires in its time though the clock was set back`(_ way: Way)
        async throws
    {
        try await queue().enqueue([request(ReplayPolicy(.durable, expiry: .seconds(60)))])
        try await queue().hold(1)
        move(.zero - Self.year, way)
        machine.pass(.seconds(70))
        try await replay()
        #expect(try job().reason == .expired)
    }

    @Test(arguments: Way.allCases)
    func `no job that has ended is deleted by a clock that is set ahead`(_ way: Way) async throws {
        try await queue().enqueue([request(), request()])
        try await replay(.answered(status: 400), .success)
        move(Self.year, way)
        try await replay()
        #expect(try job(1).state == .dead && job(2).state == .done)
        machine.pass(Self.day + Self.hour)
        try await replay()
        #expect(try queue().job(2) == nil)
    }

    @Test(arguments: Way.allCases)
    func `the lifetime of a key does not depend on changes of the clock`(_ way: Way) async throws {
        try await queue().enqueue(request(method: .post))
        try await replay(.lost)
        move(Self.year, way)
        machine.pass(.seconds(60))
        #expect(try await replay(.lost) == [1])
        move(.zero - Self.year, way)
        machine.pass(.seconds(60))
        #expect(try await replay(.lost) == [1])
        machine.pass(Self.day)
        #expect(try await replay() == [])
        #expect(try job().reason == .keyExpired)
    }

    @Test(arguments: [(Self.year, true), (.zero - Self.year, true)])
    func `deaths count for 72 hours, whatever the clock is set to`(_ jump: Duration, _ isPoison: Bool) async throws {
        let queue = try queue()
        try await queue.enqueue(request())
        for number in 1...3 {
            let owner = try await queue.writer.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.addOwner(
                    "owner \(number)", boot: "first", process: 1, program: "test", lease: 60_000, on: connection,
                    ledger: ledger)
            }
            let job = try #require(try await queue.claim(1, of: .all, by: owner)?.first)
            try await queue.writer.write { (connection, ledger) throws(SQLiteError) in
                _ = try ReplayTable.begin(job.id, token: job.token, by: owner, on: connection, ledger: &ledger)
                try ReplayTable.removeOwner(owner, jobsMayBeCause: true, on: connection, ledger: &ledger)
            }
            machine.set(number == 1 ? jump : .zero)
            machine.pass(.seconds(60))
        }
        #expect(try queue.job(1)?.reason == .poison)
    }

    // MARK: Reports

    @Test(arguments: [Self.year, .zero - Self.year])
    func `times are reported as the wall clock has them`(_ jump: Duration) async throws {
        try await queue().enqueue(request(), after: .seconds(600))
        try await queue().hold(.lane("images"))
        machine.set(jump)
        let queue = try queue()
        for job in try [job(), #require(queue.jobs().first), #require(queue.waiting(limit: 1).first)] {
            #expect(job.enqueuedAt == machine.date && job.runAt == machine.date + 600)
            #expect(job.expiresAt == machine.date + 7 * 86_400)
        }
        #expect(try queue.holds().map(\.since) == [machine.date])
        #expect(try queue.history(since: machine.date - 7200).map(\.verb) == ["enqueue"])
        machine.pass(.seconds(60))
        #expect(try queue.count(ReplayFilter(enqueuedBefore: machine.date - 30)) == 1)
        #expect(try queue.count(ReplayFilter(enqueuedBefore: machine.date - 90)) == 0)
        let moved = Guarded<[Date]>([])
        let number = queue.listeners.add { transitions in moved.withLock { $0 += transitions.map(\.at) } }
        try await queue.retry(1)
        queue.listeners.remove(number)
        #expect(moved.withLock { $0 } == [machine.date])
    }

    @Test func `followers receive changes that happen after the clock was set back`() async throws {
        let queue = try queue()
        var follower = try JobPoller(queue)
        machine.set(.zero - Self.year)
        try await queue.enqueue(request())
        #expect(try follower.next().map(\.changedAt) == [machine.date])
    }

    // MARK: Impossible times

    @Test func `an impossible time in the future is corrected, and reported`() async throws {
        let queue = try queue()
        try await queue.enqueue([request(), request()])
        try await queue.enqueue(request(), after: Self.year)
        try await replay(.unsent, .answered(status: 503, isTransient: true, pushBack: Self.day))
        #expect(ReplayDiagnosis(of: temporary.store, clock: machine.clock)?.untimelyJobs == 0)
        try queue.database.write { (connection) throws(SQLiteError) in
            try connection.execute("UPDATE job SET run_at = run_at + 31536000000 WHERE id < 3")
            try ReplayTable.reseal(on: connection)
        }
        let diagnosis = try #require(ReplayDiagnosis(of: temporary.store, clock: machine.clock))
        #expect(
            diagnosis.untimelyJobs == 2
                && diagnosis.problems.contains { $0.what.contains("jobs with impossible times in the future: 2") })
        try await replay()
        machine.pass(Self.hour)
        #expect(try await replay() == [1, 2])
        #expect(try job(3).state == .waiting)
    }

    @Test func `a copied job whose sending time is in the future counts as sent now`() async throws {
        let copy = ReplayCopy(request(method: .post), unknownSince: machine.date + 86_400)
        try await queue().enqueue([copy])
        #expect(try job(1).unknownSince == machine.date)
    }
}
