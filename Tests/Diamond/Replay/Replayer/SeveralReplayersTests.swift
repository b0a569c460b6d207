import DiamondSQLite
import DiamondSchema
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Processes of the operating system on one queue, with a server that counts their requests.
@Suite("A queue that several processes use", .limit(minutes: 15, soaking: 120))
struct SeveralReplayersTests {
    let temporary = TemporaryStore()
    let run = UUID().uuidString

    struct Effects: Decodable {
        var texts: [String]
    }

    private func hammer(
        _ arguments: [String], fault: String? = nil, stops: Bool = false
    ) throws -> (process: ChildProcess, output: Pipe) {
        let output = Pipe()
        var environment = ProcessInfo.processInfo.environment
        environment["DIAMOND_FAULT"] = fault
        environment["DIAMOND_FAULT_STOPS"] = stops ? "1" : nil
        let process = try ChildProcess(
            BuiltTool("QueueHammer").url, arguments, environment: environment, output: .pipe(output))
        return (process, output)
    }

    private func producer(_ lane: String, _ server: SampleServer) throws -> (process: ChildProcess, output: Pipe) {
        try hammer(["produce", temporary.directory.path, server.base, run, lane])
    }

    /// A process that sends jobs: by a replayer of its own, or by an engine that replays automatically.
    enum Worker: String, CaseIterable {
        case work, serve
    }

    private func worker(
        _ worker: Worker = .work, fault: String? = nil, stops: Bool = false
    ) throws -> (process: ChildProcess, output: Pipe) {
        try hammer([worker.rawValue, temporary.directory.path], fault: fault, stops: stops)
    }

    /// The output of a producer in this run, whole lines only.
    private func acknowledged(_ output: Pipe) async -> [String] {
        let lines = String(decoding: await output.readAll(), as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        return lines.dropLast().compactMap { $0.split(separator: " ").last.map(String.init) }
    }

    /// Sends all remaining jobs, whatever time they wait for. None of them may be dead.
    private func drain() async throws {
        let engine = Engine(Engine.Configuration(store: temporary.store))
        let (queue, replayer) = (try engine.queue(), try engine.replayer())
        // The replayer runs at least once, to rescue the jobs of processes that died.
        repeat {
            // The task is canceled when the time limit of the test is over.
            try Task.checkCancellation()
            let blocked = try queue.counts().filter { [.dead, .needsReview, .held].contains($0.key) && $0.value > 0 }
            try #require(blocked.isEmpty)
            for job in try queue.jobs(ReplayFilter(states: [.waiting])) { try? await queue.retry(job.id) }
            await replayer.replay()
        } while try queue.counts().contains(where: { $0.key != .done && $0.value > 0 })
        await engine.close()
    }

    private func texts(_ server: SampleServer) async throws -> [String] {
        let engine = Engine(Engine.Configuration(store: nil))
        let effects = try await engine.send(Request(server.url("effects"))).decode(Effects.self)
        await engine.close()
        return effects.texts.filter { $0.hasPrefix(run) }
    }

    /// Checks that no acknowledged job is missing, none has happened twice, and each lane is in order.
    private func expectSound(_ acknowledged: Set<String>, _ server: SampleServer) async throws {
        let texts = try await texts(server)
        #expect(acknowledged.subtracting(texts).isEmpty)
        #expect(Set(texts).count == texts.count)
        for (lane, texts) in Dictionary(grouping: texts, by: { $0.split(separator: "/")[1] }) {
            let numbers = texts.compactMap { $0.split(separator: "/").last.flatMap { Int($0) } }
            #expect(numbers == numbers.sorted(), "lane \(lane)")
        }
        let database = try SQLiteDatabase(path: temporary.store.replayPath, configuration: DiamondSchema.replay)
        let integrity = try database.read { (connection) throws(SQLiteError) in
            let check = try connection.statement("PRAGMA integrity_check")
            return try check.step() ? check.text(0) : ""
        }
        #expect(integrity == "ok")
    }

    @Test func `a shared queue loses no job, does no job twice and keeps the order when processes are killed`()
        async throws
    {
        let server = try await SampleServer.shared
        var random = SplitMix(state: Effort.seed)
        var said: Set<String> = []
        var rounds = Effort.rounds(6, soaking: 60)
        // A slow machine needs more rounds.
        while rounds > 0 || said.count < 40 {
            try Task.checkCancellation()
            rounds -= 1
            let producers = [try producer("o1", server), try producer("s1", server)]
            let workers = try [Worker.work, .serve, .serve].map { try worker($0) }
            for (process, _) in workers {
                let delay = DispatchTimeInterval.milliseconds(.random(in: 150...500, using: &random))
                process.kill(after: delay)
            }
            // Producers are killed after their first output, so that each round adds some jobs.
            for (process, output) in producers {
                if let text = await output.firstLine().split(separator: " ").last { said.insert(String(text)) }
                let delay = DispatchTimeInterval.milliseconds(.random(in: 0...350, using: &random))
                process.kill(after: delay)
            }
            for (process, output) in producers {
                said.formUnion(await acknowledged(output))
                #expect(await process.ended() == .killed(by: SIGKILL), "DIAMOND_SEED=\(Effort.seed)")
            }
            for (process, output) in workers {
                _ = await output.readAll()
                let end = await process.ended()
                #expect(end == .killed(by: SIGKILL), "DIAMOND_SEED=\(Effort.seed)")
            }
        }
        try await drain()
        try await expectSound(said, server)
        // No file is left of the killed processes, wherever they were killed.
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.store.ownersDirectory.path).isEmpty)
    }

    @Test(arguments: ReplayFaultPoint.allCases, Worker.allCases)
    func `a shared queue is whole when a process ends in the middle of a job`(
        _ point: ReplayFaultPoint, _ kind: Worker
    ) async throws {
        let server = try await SampleServer.shared
        var said: Set<String> = []
        let queue = try ReplayQueue(temporary.store)
        for number in 0..<6 {
            let text = "\(run)/\(number % 2 == 0 ? "o1" : "s1")/\(number)"
            var request = Request(server.url("notes"), method: .post, body: .json(["text": .string(text)]))
            request.replay = ReplayPolicy(.durable, orderingKey: number % 2 == 0 ? "o1" : "s1")
            try await queue.enqueue(request)
            said.insert(text)
        }
        for time in 1...2 {
            let (process, output) = try worker(kind, fault: "\(point.rawValue):\(time)")
            _ = await output.readAll()
            #expect(await process.ended() == .killed(by: SIGKILL))
        }
        try await drain()
        try await expectSound(said, server)
    }

    @Test(arguments: [ReplayFaultPoint.afterClaim, .beforeSend, .afterSend, .beforeFinish], Worker.allCases)
    func `a shared queue ignores a process that was stopped for longer than a lease`(
        _ point: ReplayFaultPoint, _ kind: Worker
    ) async throws {
        let server = try await SampleServer.shared
        let queue = try ReplayQueue(temporary.store)
        let text = "\(run)/o1/0"
        var request = Request(server.url("notes"), method: .post, body: .json(["text": .string(text)]))
        request.replay = ReplayPolicy(.durable, orderingKey: "o1")
        let id = try #require(try await queue.enqueue(request))

        let (stopped, output) = try worker(kind, fault: "\(point.rawValue):1", stops: true)
        await untilTrue { stopped.isStopped }
        #expect(try queue.job(id)?.state == .running)
        // A minute later.
        try queue.database.write { (connection) throws(SQLiteError) in
            try connection.execute("UPDATE owner SET lease_until = 0")
        }
        try await drain()
        let job = try #require(try queue.job(id))
        #expect(job.state == .done)

        // The output about the first job precedes the output about another job.
        request.body = .json(["text": .string("\(run)/o1/1")])
        let next = try #require(try await queue.enqueue(request))
        stopped.kill(SIGCONT)
        try await untilTrue { try queue.job(next)?.state == .done }
        stopped.kill()
        _ = await output.readAll()
        #expect(await stopped.ended() == .killed(by: SIGKILL))
        #expect(try queue.job(id) == job)
        let finished = try queue.history(since: .distantPast).filter { $0.verb == "finish" }
        #expect(finished.reduce(0) { $0 + $1.count } == 2)
        try await expectSound([text, "\(run)/o1/1"], server)
    }
}
