import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A replayer", .limit(minutes: 5)) struct ReplayerTests {
    let temporary = TemporaryStore()
    let time = TestClock()
    let network = StubReachability()

    private var clock: ReplayClock {
        var clock = ReplayClock.system
        clock.now = { [time] in time.wallTime }
        clock.uptime = { [time] in time.uptime }
        (clock.sleep, clock.draw) = (time, { 0 })
        // Where many tests run, a task may wait for seconds.
        clock.endTimeout = .seconds(600)
        return clock
    }

    private func queue() throws -> ReplayQueue { try ReplayQueue(temporary.store, clock: clock) }

    private func request(_ key: String? = nil) -> Request {
        var request = Request("http://api.test/notes", method: .put, body: .json(["text": "a"]))
        request.replay = ReplayPolicy(.durable, orderingKey: key)
        return request
    }

    private func replayer(
        _ queue: ReplayQueue, width: Int = 4, _ send: @escaping @Sendable (Int64) async -> ReplayOutcome
    ) -> Replayer {
        Replayer(queue, width: width, reachability: network) { attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            return JobResult(outcome: await send(attempt.id ?? 0))
        }
    }

    @Test func `sends all jobs, no more at a time than its width, and returns`() async throws {
        let queue = try queue()
        try await queue.enqueue((0..<20).map { _ in request() })
        let (now, most) = (Guarded(0), Guarded(0))
        let replayer = replayer(queue, width: 3) { _ in
            let count = now.withLock {
                $0 += 1; return $0
            }
            most.withLock { $0 = max($0, count) }
            await Task.yield()
            now.withLock { $0 -= 1 }
            return .success
        }
        #expect(await replayer.replay().finished == 20)
        #expect(most.withLock { (1...3).contains($0) })
        #expect(try queue.counts()[.done] == 20)
    }

    @Test func `asks whether there is work only if the last claim has left room`() async throws {
        let storage = CountingStorage(try queue().storage)
        let queue = ReplayQueue(storage: storage, clock: clock)
        try await queue.enqueue((0..<5).map { _ in request() })
        #expect(await replayer(queue, width: 1) { _ in .success }.replay().finished == 5)
        #expect(storage.questions.withLock { $0 } == 1)
        // The last one finds that there are no more.
        #expect(storage.claims.withLock { $0 } == 6)
    }

    @Test(
        arguments: [
            (true, 499, 0), (true, 500, 500), (true, 3_000, 3_000), (true, 9_000, 5_000), (false, 3_000, 0),
        ])
    func `waits for more room as long as the last claim took, if that is long, and there are more jobs`(
        claim: (isFull: Bool, microseconds: Int64, wait: Int64)
    ) {
        let last = Replayer.LastClaim(time: .microseconds(claim.microseconds), isFull: claim.isFull)
        #expect(last.patience == .microseconds(claim.wait))
    }

    @Test func `jobs of one ordering key are sent in turn, and jobs of other keys at the same time`() async throws {
        let queue = try queue()
        try await queue.enqueue((0..<12).map { request($0 % 3 == 0 ? nil : "key \($0 % 3)") })
        let order = Guarded<[Int64]>([])
        let replayer = replayer(queue) { id in
            order.withLock { $0.append(id) }
            return .success
        }
        await replayer.replay()
        for key in 1...2 {
            let ids = order.withLock { $0.filter { ($0 - 1) % 3 == Int64(key) } }
            #expect(ids == ids.sorted() && ids.count == 4)
        }
    }

    @Test func `also counts jobs that it finds expired`() async throws {
        let queue = try queue()
        var late = request()
        late.replay.expiry = .seconds(1)
        try await queue.enqueue(late)
        var copy = ReplayCopy(Request("http://api.test/notes", method: .post, body: .json(1)))
        copy.request.replay = ReplayPolicy(.durable)
        copy.request.replay.keyLifetime = nil
        copy.unknownSince = time.date
        try await queue.enqueue([copy])
        time.advance(by: .seconds(2))
        let summary = await replayer(queue) { _ in .success }.replay()
        #expect(summary == Replayer.Summary(dead: 1, needsReview: 1))
    }

    @Test func `a job that is added, or becomes due, is sent while the replayer runs`() async throws {
        let queue = try queue()
        let sent = Guarded<[Int64]>([])
        let replayer = replayer(queue) { id in
            sent.withLock {
                $0.append(id); return $0.count == 1 ? .unsent : .success
            }
        }
        let run = Task { await replayer.run() }
        try await queue.enqueue(request())
        await untilTrue { sent.withLock { $0.count } == 1 }
        await untilTrue { (try? queue.job(1)?.state) == .waiting }
        await untilTrue { [time] in
            // The clock is advanced only while the replayer sleeps. During a claim, its lease could end.
            let isAsleep = time.sleeping.contains { $0 <= .seconds(1) }
            if isAsleep, (try? queue.job(1)?.state) == .waiting { time.advance(by: .milliseconds(500)) }
            return sent.withLock { $0.count } == 2
        }
        await untilTrue { (try? queue.job(1)?.state) == .done }
        replayer.stop()
        #expect(await run.value == Replayer.Summary(finished: 1, postponed: 1))
    }

    @Test func `a job that waits for the network is sent as soon as the network is back`() async throws {
        let queue = try queue()
        try await queue.enqueue([request("a"), request()])
        network.isReachable = false
        let replayer = replayer(queue) { [network] _ in
            network.isReachable
                ? .success : .failed(.offline, code: "cannotConnect", message: "the network is away")
        }
        let run = Task { await replayer.run() }
        await untilTrue { (try? queue.counts()[.waiting]) == 2 }
        #expect(try queue.jobs().allSatisfy { $0.reason == .offline && $0.attempts == 0 })
        // The first change is not a return of the network.
        network.isReachable = false
        network.isReachable = true
        await untilTrue { (try? queue.counts()[.done]) == 2 }
        replayer.stop()
        #expect(await run.value == Replayer.Summary(finished: 2, postponed: 2))
    }

    @Test func `a job that waited for the network when its process ended is sent first`() async throws {
        let queue = try queue()
        try await queue.enqueue(request())
        network.isReachable = false
        let offline = ReplayOutcome.failed(.offline, code: "cannotConnect", message: "the network is away")
        await replayer(queue) { _ in offline }.replay()
        #expect(try queue.job(1)?.reason == .offline)
        network.isReachable = true
        #expect(await replayer(queue) { _ in .success }.replay().finished == 1)
    }

    @Test func `a network that returns repeatedly causes no more than one attempt in five seconds`() async throws {
        let queue = try queue()
        try await queue.enqueue(request())
        let tries = Guarded(0)
        let offline = ReplayOutcome.failed(.offline, code: "cannotResolveHost", message: "nobody knows the name")
        let replayer = replayer(queue) { [network] _ in
            tries.withLock { $0 += 1 }
            network.isReachable = true
            return offline
        }
        let run = Task { await replayer.run() }
        let steps = Guarded(0)
        await untilTrue { [time] in
            guard tries.withLock({ $0 < 8 }) else { return true }
            // The replayer may have read the time before this step, and sleep after it. Then another step follows.
            if (try? queue.job(1)?.state) == .waiting, !time.sleeping.isEmpty {
                steps.withLock { $0 += 1 }
                time.advance(by: .seconds(5))
            }
            return false
        }
        // Two attempts need no step: the first one, and one at the first return of the network.
        #expect(tries.withLock { $0 } <= steps.withLock { $0 } + 2)
        replayer.stop()
        _ = await run.value
    }

    @Test func `a network change before the first attempt is handled without a delay`() {
        let network = NetworkReturn()
        #expect(network.delay(at: 1_000_000) == 0)
        network.noteChange()
        #expect(network.delay(at: 1_000_000) == 0)
    }

    @Test @MainActor func `a write from the main actor does not run on the main thread`() async throws {
        let queue = try queue()
        for _ in 0..<20 {
            let isMain = try await queue.writer.write { (_, _) throws(SQLiteError) in Thread.isMainThread }
            #expect(!isMain)
        }
    }

    @Test func `a job that waits for the end of a queue's hold is sent at once, whatever ends it`() async throws {
        let (queue, other) = (try queue(), try queue())
        try await queue.hold(.queue)
        try await queue.enqueue(request())
        let looks = Guarded(0)
        let replayer = Replayer(
            other, width: 4, reachability: network,
            identities: {
                looks.withLock { $0 += 1 }
                return .all
            },
            send: { attempt in JobResult(outcome: await attempt.begin() ? .success : .notBegun) })
        let run = Task { await replayer.run() }
        // The replayer has looked twice, and has waited for a notification in between.
        await untilTrue {
            if looks.withLock({ $0 }) == 1 { replayer.wake() }
            return looks.withLock { $0 } > 1
        }
        #expect(try queue.job(1)?.state == .ready)
        try await queue.release(.queue)
        await untilTrue { [time] in
            // The replayer polls every second if the system allows no further file observers, as with many tests.
            if time.sleeping.contains(.seconds(1)) { time.advance(by: .seconds(1)) }
            return (try? queue.job(1)?.state) == .done
        }
        replayer.stop()
        #expect(await run.value.finished == 1)
    }

    @Test func `a replayer taken for dead continues at once as another owner`() async throws {
        let queue = try queue()
        try await queue.enqueue([request("a"), request("a")])
        let isFirst = Guarded(true)
        let replayer = replayer(queue) { _ in
            guard isFirst.withLock({ $0 }) else { return .success }
            isFirst.withLock { $0 = false }
            try? queue.database.write { (connection) throws(SQLiteError) in
                try connection.execute("DELETE FROM owner")
                try connection.execute("UPDATE job SET state = 0, owner = NULL, token = 9 WHERE id = 1")
                try ReplayTable.reseal(on: connection)
            }
            return .success
        }
        let run = Task { await replayer.run() }
        await untilTrue { (try? queue.counts()[.done]) == 2 }
        replayer.stop()
        #expect(await run.value.finished == 2)
    }

    @Test func `a replayer of an older program sends nothing after a migration, and loses no job`()
        async throws
    {
        let queue = try queue()
        try await queue.enqueue([request("a"), request("b")])
        let newer = Guarded<SQLiteDatabase?>(nil)
        let replayer = replayer(queue, width: 1) { _ in
            var schema = queue.store.replaySchema
            schema.migrations.append("ALTER TABLE job ADD COLUMN note TEXT NOT NULL DEFAULT 'new'")
            let database = try? SQLiteDatabase(path: queue.store.replayPath, configuration: schema)
            newer.withLock { $0 = database }
            return .success
        }
        let error = await replayer.run().error
        #expect(error?.code == .newerStore && error?.description.contains("update this program") == true)
        await #expect(throws: ReplayError.self) { try await queue.enqueue(request()) }
        #expect(try queue.jobs().map(\.state) == [.running, .ready])
        // Outcomes that the older program could not write return with its owner, whose lock is free.
        let owner = try #require(
            try queue.read { (connection) throws(SQLiteError) in
                try ReplayTable.owners(on: connection).first
            })
        #expect(OwnerLock.isFree(owner.name, in: queue.store.ownersDirectory))
        let states = try newer.withLock { $0 }?.write { (connection) throws(SQLiteError) in
            var ledger = ReplayLedger(now: QueueTime(correct: clock.now()), uptime: clock.uptime())
            try ReplayTable.removeOwner(owner.id, jobsMayBeCause: true, on: connection, ledger: &ledger)
            return try [1, 2].map { (id) throws(SQLiteError) in
                try ReplayTable.job(id, at: ledger.moment, on: connection)?.state
            }
        }
        #expect(states == [.ready, .ready])
    }

    @Test func `a stopped replayer lets running jobs end and claims no more`() async throws {
        let queue = try queue()
        try await queue.enqueue((0..<5).map { _ in request("a") })
        let checkpoint = Checkpoint()
        let replayer = replayer(queue) { _ in
            await checkpoint.pass()
            return .success
        }
        let run = Task { await replayer.run() }
        await checkpoint.reached()
        replayer.stop()
        checkpoint.open()
        let finished = await run.value.finished
        // A claim that had begun may add one more job.
        #expect((1...2).contains(finished))
        #expect(try queue.counts()[.ready] == 5 - finished)
    }

    @Test func `a canceled replayer returns its unsent jobs`() async throws {
        let queue = try queue()
        try await queue.enqueue(request())
        let isThere = Gate()
        let replayer = replayer(queue) { _ in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            return .interrupted
        }
        let run = Task { await replayer.run() }
        await isThere.wait()
        run.cancel()
        let postponed = await run.value.postponed
        // A claim that had begun may claim and return the job once more.
        #expect((1...2).contains(postponed))
        #expect(try queue.job(1).map { [$0.state.description, "\($0.attempts)"] } == ["ready", "0"])
    }

    @Test(arguments: [false, true])
    func `a running job ends at the deadline when its replayer is stopped, or the queue fails`(hasFailed: Bool)
        async throws
    {
        let queue = try queue()
        try await queue.enqueue(request())
        // The replayer sleeps until the time of this job or until the deadline.
        try await queue.enqueue(request(), after: .seconds(3))
        let isThere = Gate()
        let replayer = replayer(queue) { _ in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            return .interrupted
        }
        let deadline = time.date + 5
        let run = Task { await replayer.replay(until: deadline) }
        await isThere.wait()
        if hasFailed {
            try queue.database.write { (connection) throws(SQLiteError) in
                try connection.execute("ALTER TABLE owner RENAME TO someone")
            }
            replayer.wake()
        } else {
            replayer.stop()
        }
        await untilTrue { [time] in time.sleeping.contains(.seconds(5)) }
        time.advance(by: .seconds(4))
        for _ in 0..<100 { await Task.yield() }
        #expect(replayer.running.withLock { $0 } == 1)
        while replayer.running.withLock({ $0 }) > 0, !Task.isCancelled {
            time.advance(by: .seconds(1))
            await untilTrue { [time] in
                replayer.running.withLock { $0 } == 0 || time.sleeping.contains { $0 <= .seconds(5) }
            }
        }
        let summary = await run.value
        #expect((summary.error != nil) == hasFailed && summary.postponed == 1)
    }

    @Test func `several replayers send each job once`() async throws {
        let (one, other) = (try queue(), try queue())
        try await one.enqueue((0..<60).map { request($0 % 2 == 0 ? "a" : nil) })
        let sent = Guarded<[Int64]>([])
        let replayers = [one, one, other].map { queue in
            replayer(queue) { id in
                sent.withLock { $0.append(id) }
                return .success
            }
        }
        await withTaskGroup { group in
            for replayer in replayers { group.addTask { await replayer.replay() } }
        }
        #expect(sent.withLock { $0.sorted() } == Array(1...60))
    }

    @Test func `jobs of a dead owner are sent at once`() async throws {
        do {
            let dead = try queue()
            try await dead.enqueue(request())
            let owner = try await dead.owner.enter()
            let job = try #require(try await dead.claim(1, of: .all, by: owner)?.first)
            #expect(await dead.begin(job))
            // The owner's lock is released with its queue, and its row stays.
        }
        let heir = try queue()
        #expect(try heir.job(1)?.state == .running)
        #expect(await replayer(heir) { _ in .success }.replay().finished == 1)
    }

    @Test func `an owner that was stopped for longer than its lease has lost its job`() async throws {
        let (slow, fast) = (try queue(), try queue())
        try await slow.enqueue(request())
        let checkpoint = Checkpoint()
        // With a greater width, this replayer would claim the job again as another owner.
        let late = replayer(slow, width: 1) { _ in
            await checkpoint.pass()
            return .success
        }
        let run = Task { await late.replay() }
        await checkpoint.reached()
        // The lease is not renewed, as in a stopped process.
        let owners = try slow.read { (connection) throws(SQLiteError) in try ReplayTable.owners(on: connection) }
        let jump = Duration.milliseconds(ReplayOwner.lease + 1)
        var other = clock
        other.uptime = { [time] in time.uptime + jump }
        let heir = try ReplayQueue(temporary.store, clock: other)
        let summary = await replayer(heir) { _ in .answered(status: 204) }.replay()
        #expect(summary == Replayer.Summary(finished: 1))
        checkpoint.open()
        #expect(await run.value.finished == 0)
        #expect(try fast.job(1)?.status == 204)
        #expect(owners.count == 1)
    }

    @Test func `an attempt ends before its lease does, though the renewal waits for the disk`() async throws {
        let queue = try queue()
        try await queue.enqueue(request())
        let (isThere, hasEnded) = (Gate(), Gate())
        let replayer = replayer(queue) { _ in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            hasEnded.open()
            return .lost
        }
        let run = Task { await replayer.run() }
        await isThere.wait()
        // A write that does not end.
        let (isHeld, mayEnd) = (Gate(), DispatchSemaphore(value: 0))
        holdWrites(to: queue, isHeld, mayEnd)
        await isHeld.wait()
        await untilTrue { [time] in
            if !hasEnded.isOpen { time.advance(by: .seconds(1)) }
            return hasEnded.isOpen
        }
        #expect(hasEnded.isOpen)
        mayEnd.signal()
        replayer.stop()
        _ = await run.value
    }

    @Test func `a running job of a closed queue ends before another owner may send it`() async throws {
        let queue = try queue()
        try await queue.enqueue(request())
        let (isThere, hasEnded) = (Gate(), Gate())
        let replayer = replayer(queue) { _ in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            hasEnded.open()
            return .success
        }
        let run = Task { await replayer.run() }
        await isThere.wait()
        await queue.close()
        // The outcome of the job is stored, too.
        #expect(hasEnded.isOpen)
        #expect(try self.queue().job(1)?.state == .done)
        run.cancel()
        #expect(await run.value.finished == 1)
    }

    @Test func `a job whose request cannot be decoded is tried once more, and is then dead`() async throws {
        let queue = try queue()
        try await queue.enqueue(request())
        try queue.database.write { (connection) throws(SQLiteError) in
            try connection.execute("UPDATE payload SET request = CAST('{\"version\": 9}' AS BLOB)")
            try ReplayTable.reseal(on: connection)
        }
        try await queue.enqueue(request())
        let replayer = replayer(queue) { _ in .success }
        #expect(await replayer.replay() == Replayer.Summary(finished: 1, postponed: 1))
        time.advance(by: .seconds(3600))
        #expect(await replayer.replay().dead == 1)
        #expect(try queue.job(1)?.reason == .undecodable)
    }

    @Test func `a queue that is held sends nothing, in any process`() async throws {
        let queue = try queue()
        try await queue.enqueue(request())
        try await queue.hold(.queue, reason: "maintenance")
        let other = try self.queue()
        #expect(await replayer(other) { _ in .success }.replay() == Replayer.Summary())
        #expect(try other.holds().map(\.reason) == ["maintenance"])
        try await other.release(.queue)
        #expect(await replayer(queue) { _ in .success }.replay().finished == 1)
    }

    @Test func `a queue refuses jobs beyond its limit, with an error that says so`() async throws {
        let queue = try queue()
        queue.maximumCount = 2
        try await queue.enqueue([request(), request()])
        let error = await #expect(throws: ReplayError.self) { try await queue.enqueue(request()) }
        #expect(error?.code == .queueFull)
        #expect(try queue.counts()[.ready] == 2)
    }

    @Test func `several jobs that are added together are either all added or not at all`() async throws {
        let queue = try queue()
        queue.maximumCount = 3
        await #expect(throws: ReplayError.self) { try await queue.enqueue((0..<4).map { _ in request() }) }
        #expect(try queue.jobs().isEmpty)
        #expect(try queue.history(since: .distantPast).isEmpty)
    }

    @Test func `a hundred concurrent producers lose nothing`() async throws {
        let queue = try queue()
        await withTaskGroup { group in
            for _ in 0..<100 {
                group.addTask { for _ in 0..<5 { _ = try? await queue.enqueue(request("k")) } }
            }
        }
        #expect(try queue.counts()[.ready] == 500)
        #expect(try queue.keys().map(\.count) == [500])
    }

    // MARK: Unique names

    private func unique(_ text: String, _ uniqueness: ReplayPolicy.Uniqueness, method: HTTPRequest.Method = .patch)
        -> Request
    {
        var request = Request("http://api.test/me", method: method, body: .json(["text": .string(text)]))
        if method == .delete { request.body = nil }
        request.replay = ReplayPolicy(.durable, unique: "profile", uniqueness: uniqueness)
        return request
    }

    @Test(arguments: [
        (ReplayPolicy.Uniqueness.keep, "old", false), (.replace, "new", true), (.preserveSchedule, "new", false),
        (.merge, "new", true),
    ])
    func `two jobs of one unique name become one job`(_ mode: ReplayPolicy.Uniqueness, _ text: String, _ isMoved: Bool)
        async throws
    {
        let queue = try queue()
        let first = try await queue.enqueue(unique("old", mode), after: .seconds(60))
        let second = try await queue.enqueue(unique("new", mode), after: .seconds(600))
        #expect(first == second)
        let job = try #require(try queue.jobs().first)
        #expect(try queue.request(of: job.id)?.body == .json(["text": .string(text)]))
        #expect(job.runAt == time.date + (isMoved ? 600 : 60))
        #expect(try queue.jobs().count == 1)
    }

    @Test func `a possibly sent job is not replaced by a job with its unique name`() async throws {
        let queue = try queue()
        try await queue.enqueue(unique("old", .replace))
        await replayer(queue) { _ in .lost }.replay()
        try await queue.enqueue(unique("new", .replace))
        #expect(try queue.jobs().count == 2)
        #expect(try queue.request(of: 1)?.body == .json(["text": "old"]))
    }

    @Test(arguments: [
        (["POST", "PATCH"], #"POST {"a":1,"b":3,"c":4}"#), (["PATCH", "PATCH"], #"PATCH {"a":1,"b":3,"c":4}"#),
        (["PUT", "PUT"], #"PUT {"b":3,"c":4}"#), (["PATCH", "DELETE"], "DELETE "), (["POST", "DELETE"], ""),
    ])
    func `a creation merged with a change stays a creation, and merged with a deletion leaves no job`(
        _ methods: [String], _ result: String
    ) async throws {
        let queue = try queue()
        for (method, body) in zip(methods, [["a": 1, "b": 2], ["b": 3, "c": 4]] as [JSONValue]) {
            var request = unique("", .merge, method: HTTPRequest.Method(method) ?? .get)
            if method != "DELETE" { request.body = .json(body) }
            try await queue.enqueue(request)
        }
        let left = try queue.jobs().filter { !$0.state.isEnd }
        let texts = try left.map { job in
            let body = try queue.request(of: job.id)?.body?.encoded() ?? Data()
            return "\(job.method) \(String(decoding: body, as: UTF8.self))"
        }
        #expect(texts == (result.isEmpty ? [] : [result]))
    }

    @Test(arguments: [
        ("POST", #"POST {"a":1,"d":{"f":2}}"#), ("PUT", #"PUT {"a":1,"d":{"f":2}}"#),
        ("PATCH", #"PATCH {"a":1,"b":null,"d":{"e":null,"f":2}}"#),
    ])
    func `a null removes its member from a creation, and stays in a change`(_ method: String, _ result: String)
        async throws
    {
        let queue = try queue()
        let bodies: [JSONValue] = [["a": 1, "b": 2, "d": ["e": 1, "f": 2]], ["b": nil, "d": ["e": nil]]]
        for (method, body) in zip([method, "PATCH"], bodies) {
            var request = unique("", .merge, method: try #require(HTTPRequest.Method(method)))
            request.body = .json(body)
            try await queue.enqueue(request)
        }
        let job = try #require(try queue.jobs().first { !$0.state.isEnd })
        let body = try queue.request(of: job.id)?.body?.encoded() ?? Data()
        #expect("\(job.method) \(String(decoding: body, as: UTF8.self))" == result)
    }

    @Test func `a merge that is impossible is refused, and changes nothing`() async throws {
        let queue = try queue()
        try await queue.enqueue(unique("", .merge, method: .delete))
        let error = await #expect(throws: ReplayError.self) { try await queue.enqueue(unique("new", .merge)) }
        #expect(error?.code == .cannotMerge)
        #expect(try queue.jobs().map(\.method) == ["DELETE"])
    }

    // MARK: Actions

    @Test func `an edited job has its new request, under a key of its own`() async throws {
        let queue = try queue()
        var request = request()
        request.method = .post
        try await queue.enqueue(request)
        let key = try queue.job(1)?.idempotencyKey
        #expect(try await queue.edit(1) { $0.body = .json(["text": "b"]) } == 1)
        #expect(try queue.request(of: 1)?.body == .json(["text": "b"]))
        #expect(try key != nil && queue.job(1)?.idempotencyKey != key)
        await replayer(queue) { _ in .lost }.replay()
        #expect(try await queue.edit(1) { $0.body = .json(["text": "c"]) } == 2)
        #expect(try queue.request(of: 1)?.body == .json(["text": "b"]))
    }

    @Test func `an action on a job that is missing or in another state is an error`() async throws {
        let queue = try queue()
        try await queue.enqueue(request())
        let wrong = await #expect(throws: ReplayError.self) { try await queue.redrive(1) }
        #expect(wrong?.code == .wrongState)
        let missing = await #expect(throws: ReplayError.self) { try await queue.hold(7) }
        #expect(missing?.code == .noJob)
        try await queue.hold(1)
        #expect(try queue.job(1)?.state == .held)
        try await queue.release(1)
        try await queue.discard(1)
        #expect(try queue.job(1).map { [$0.state.description, $0.reason.description] } == ["done", "discarded"])
    }
}

/// A storage that counts what a replayer asks of it.
private final class CountingStorage: ReplayStorageWrapper {
    let base: any ReplayStorage
    let (questions, claims) = (Guarded(0), Guarded(0))

    init(_ base: any ReplayStorage) { self.base = base }

    func hasReady(in lanes: ReplaySelection.Lanes) async throws(ReplayError) -> Bool {
        questions.withLock { $0 += 1 }
        return try await base.hasReady(in: lanes)
    }

    func claim(
        _ limit: Int, _ selection: ReplaySelection, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> ReplayClaims? {
        claims.withLock { $0 += 1 }
        return try await base.claim(limit, selection, by: owner)
    }
}
