import DiamondSQLite
import DiamondSchema
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection

/// Sleeps end at once, except those that wait for a heartbeat, which never end.
struct ImmediateClock: Clock {
    let pass: @Sendable (Swift.Duration) -> Void
    let now = ContinuousClock.now
    let minimumResolution = Swift.Duration.zero

    init(_ pass: @escaping @Sendable (Swift.Duration) -> Void) { self.pass = pass }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Swift.Duration?) async throws {
        guard deadline - now >= ReplayOwner.renewal else { return pass(deadline - now) }
        let (never, end) = AsyncStream<Never>.makeStream()
        for await _ in never {}
        withExtendedLifetime(end) {}
        try Task.checkCancellation()
    }
}

@Suite("The queue on a failing disk", .limit(minutes: 10)) struct ReplayFaultTests {
    /// A sequence of operations of a queue, on a disk of its own, with those that were acknowledged.
    private struct QueueScenario {
        let temporary = TemporaryStore()
        let disk: FaultDisk
        /// The acknowledged jobs: the text of the request by id.
        private(set) var added: [Int64: String] = [:]
        private(set) var finished: Set<Int64> = []
        private(set) var discarded: Set<Int64> = []
        private(set) var refusals: [ReplayError] = []

        init() { disk = FaultDisk(directory: temporary.directory) }

        mutating func run() async throws {
            await use()
            await disk.closed()
        }

        private mutating func use() async {
            var store = temporary.store
            store.vfs = disk.vfs
            let queue: ReplayQueue
            do throws(ReplayError) { queue = try ReplayQueue(store, clock: .still) } catch {
                return refusals.append(error)
            }
            for number in 0..<4 { await add(["\(number)"], to: queue) }
            await add((4..<9).map(String.init), to: queue)
            await replay(queue)
            await discard(3, in: queue)
            for number in 9..<12 { await add(["\(number)"], to: queue) }
        }

        private mutating func add(_ texts: [String], to queue: ReplayQueue) async {
            let requests = texts.map { text in
                var request = Request("http://api.test/notes", method: .post, body: .json(["text": .string(text)]))
                request.replay = ReplayPolicy(.durable, orderingKey: text == "0" ? nil : "line")
                return request
            }
            do throws(ReplayError) {
                for (id, text) in zip(try await queue.enqueue(requests), texts) { if let id { added[id] = text } }
            } catch { refusals.append(error) }
        }

        private mutating func replay(_ queue: ReplayQueue) async {
            do throws(ReplayError) {
                let owner = try await queue.owner.enter()
                defer { queue.owner.leave() }
                for job in try await queue.claim(2, of: .all, by: owner) ?? [] {
                    guard await queue.begin(job) else { continue }
                    let state = try await queue.writer.write { (connection, ledger) throws(SQLiteError) in
                        try ReplayTable.finish(
                            job.id, token: job.token, ReplayReport(.answered(status: 201), draw: 0), on: connection,
                            ledger: &ledger)
                    }
                    if state == .done { finished.insert(job.id) }
                }
            } catch { refusals.append(error) }
        }

        private mutating func discard(_ id: Int64, in queue: ReplayQueue) async {
            do throws(ReplayError) {
                try await queue.discard(id)
                discarded.insert(id)
            } catch { refusals.append(error) }
        }
    }

    /// The disk calls that a fault can strike. The quick tier tries one in 20, others in each run.
    private func calls(_ fault: FaultDisk.Fault) async throws -> StrideThrough<Int> {
        var life = QueueScenario()
        try await life.run()
        #expect(life.refusals.isEmpty)
        #expect(life.added.count == 12 && life.finished.count == 2 && life.discarded.count == 1)
        return Effort.places(to: life.disk.calls(fitting: fault), oneIn: 20)
    }

    /// Checks that no acknowledged change is missing or undone, and that the queue still works.
    private func checkAfterwards(_ life: QueueScenario, _ place: String) async throws {
        let queue = try ReplayQueue(life.temporary.store, clock: .still)
        for (id, text) in life.added {
            #expect(try queue.request(of: id)?.body == .json(["text": .string(text)]), "job \(id), \(place)")
        }
        for id in life.finished.union(life.discarded) { #expect(try queue.job(id)?.state == .done, "\(place)") }
        let diagnosis = try #require(ReplayDiagnosis(of: life.temporary.store))
        #expect(diagnosis.problems.isEmpty, "\(place): \(diagnosis.problems)")
        let replayer = Replayer(queue, width: 4, reachability: StubReachability()) { attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            return JobResult(outcome: .answered(status: 200))
        }
        for job in try queue.jobs(ReplayFilter(states: [.waiting])) { try await queue.retry(job.id) }
        await replayer.replay()
        #expect(try queue.jobs().allSatisfy { $0.state == .done }, "\(place)")
    }

    @Test(arguments: FaultDisk.Fault.survivable, [false, true])
    func `a queue keeps its acknowledged jobs after a fault, and works again`(fault: FaultDisk.Fault, lasting: Bool)
        async throws
    {
        for call in try await calls(fault) {
            var life = QueueScenario()
            life.disk.fail(fault, atCall: call, lasting: lasting)
            try await life.run()
            life.disk.heal()
            try await checkAfterwards(life, "\(call)")
        }
    }

    @Test(arguments: [false, true])
    func `a queue keeps its acknowledged jobs after a power failure`(keepsSome: Bool) async throws {
        for call in try await calls(.powerLoss) {
            var life = QueueScenario()
            life.disk.fail(.powerLoss, atCall: call)
            try await life.run()
            try life.disk.cutPower(seed: keepsSome ? Effort.seed &+ UInt64(call) : nil)
            try await checkAfterwards(life, "\(call)")
        }
    }

    @Test func `an outcome is written when the disk works again, unless another owner has the job`()
        async throws
    {
        let life = QueueScenario()
        var store = life.temporary.store
        store.vfs = life.disk.vfs
        let (uptime, pauses) = (Guarded<Uptime>(0), Guarded<[Duration]>([]))
        var clock = ReplayClock.still
        clock.uptime = { uptime.withLock { $0 } }
        // The disk works again after 90 seconds; a lease lasts 60.
        clock.sleep = ImmediateClock { pause in
            pauses.withLock { $0.append(pause) }
            let now = uptime.withLock { uptime in
                uptime += pause.milliseconds
                return uptime
            }
            if now >= 90_000 { life.disk.heal() }
        }
        let queue = try ReplayQueue(store, clock: clock)
        let id = try #require(try await queue.enqueue(Request("http://api.test/notes", method: .post, body: .json(1))))
        let owner = try await queue.owner.enter()
        let job = try #require(try await queue.claim(1, of: .all, by: owner)?.first)
        #expect(await queue.begin(job))
        life.disk.fail(.writeError, atCall: 1, lasting: true)
        #expect(await queue.finish(job, outcome: .success) == .done)
        #expect(try queue.job(id)?.state == .done)
        #expect(pauses.withLock { $0.prefix(3) == [.seconds(1), .seconds(2), .seconds(3)] })
        queue.owner.leave()
        await queue.close()
        withExtendedLifetime(life) {}
    }

    @Test func `a queue is replayed again when its process can open files again`() async throws {
        let (temporary, activity) = (TemporaryStore(), Activity())
        var clock = ReplayClock.still
        clock.sleep = ImmediateClock { _ in }
        let queue = try ReplayQueue(temporary.store, clock: clock, activity: activity)
        let owners = temporary.store.ownersDirectory
        try FileManager.default.removeItem(at: owners)
        try Data().write(to: owners)
        let failures = Guarded(0)
        let observation = activity.observe { event in
            guard case .queueFailed = event else { return }
            // After the second failure, files can be opened again.
            let count = failures.withLock { failures in
                failures += 1
                return failures
            }
            guard count == 2 else { return }
            try? FileManager.default.removeItem(at: owners)
            try? FileManager.default.createDirectory(at: owners, withIntermediateDirectories: true)
        }
        let request = Request("http://api.test/notes", method: .put, body: .json(1))
        let id = try #require(try await queue.enqueue(request))
        let replayer = Replayer(queue, width: 1, reachability: StubReachability()) { attempt in
            JobResult(outcome: await attempt.begin() ? .success : .notBegun)
        }
        let run = Task { await replayer.run() }
        _ = try await queue.end(of: id)
        replayer.stop()
        #expect(await run.value.error == nil)
        #expect(failures.withLock { $0 } >= 2)
        withExtendedLifetime(observation) {}
    }

    @Test(arguments: [0..<8192, 47..<48])
    func `a damaged file is refused, and left as it is`(places: Range<Int>) throws {
        let temporary = TemporaryStore()
        try ReplayQueue(temporary.store).database.emptyLog()
        var damaged = try Data(contentsOf: URL(filePath: temporary.store.replayPath))
        damaged.replaceSubrange(places, with: repeatElement(0x5A, count: places.count))
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: temporary.store.replayPath + suffix)
        }
        try damaged.write(to: URL(filePath: temporary.store.replayPath))
        let error = #expect(throws: ReplayError.self) { try ReplayQueue(temporary.store) }
        #expect(error?.code == .corrupt && error?.message.contains("cachectl queue export") == true)
        #expect(try Data(contentsOf: URL(filePath: temporary.store.replayPath)) == damaged)
    }

    @Test func `a queue of a newer version is refused, and left as it is`() throws {
        let temporary = TemporaryStore()
        _ = try ReplayQueue(temporary.store).database.write { (connection) throws(SQLiteError) in
            try connection.execute("PRAGMA user_version = 9")
        }
        let error = #expect(throws: ReplayError.self) { try ReplayQueue(temporary.store) }
        #expect(error?.code == .newerStore)
    }
}
