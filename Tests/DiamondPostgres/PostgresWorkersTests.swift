#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondPostgres
import DiamondTestSupport
import Foundation
import Testing

/// Processes of the operating system on one queue, with a server that counts their requests.
@Suite(
    "Workers of a queue on PostgreSQL", .enabled(if: Effort.hasFleet, "needs a server: scripts/fleet starts one"),
    .limit(minutes: 10, soaking: 120)) struct PostgresWorkersTests
{
    private typealias Running = (process: ChildProcess, output: Pipe)

    private struct Effects: Decodable {
        var texts: [String]
    }

    private let place: PostgresPlace
    private let storage: PostgresReplayStorage
    private let queue: ReplayQueue
    private let server: SampleServer
    private let run = UUID().uuidString

    init() async throws {
        place = try await PostgresPlace()
        storage = try await place.storage()
        queue = ReplayQueue(storage: storage)
        server = try await SampleServer.shared
    }

    /// - Parameter ahead: the seconds by which the process's wall clock is ahead.
    private func hammer(
        _ arguments: [String], fault: String? = nil, stops: Bool = false, ahead: Int = 0
    ) throws -> Running {
        let output = Pipe()
        var environment = ProcessInfo.processInfo.environment
        environment["DIAMOND_FAULT"] = fault
        environment["DIAMOND_FAULT_STOPS"] = stops ? "1" : nil
        environment["DIAMOND_CLOCK_AHEAD"] = "\(ahead)"
        let process = try ChildProcess(
            BuiltTool("QueueHammer").url, arguments, environment: environment, output: .pipe(output))
        return (process, output)
    }

    private func producer(_ lane: String, ahead: Int) throws -> Running {
        try hammer(["produce", place.url, server.base, run, lane], ahead: ahead)
    }

    private func worker(fault: String? = nil, stops: Bool = false, ahead: Int = 0) throws -> Running {
        try hammer(["work", place.url], fault: fault, stops: stops, ahead: ahead)
    }

    private func expectKilled(_ running: Running) async {
        _ = await running.output.readAll()
        #expect(await running.process.ended() == .killed(by: SIGKILL), "DIAMOND_SEED=\(Effort.seed)")
    }

    /// Adds a note in a line.
    ///
    /// - Parameter base: the server as the workers reach it; `nil` for its own address.
    private func add(_ text: String, to line: String = "o1", at base: String? = nil) async throws -> ReplayJob.ID {
        var request = Request(
            "\(base ?? server.base)/notes", method: .post, body: .json(["text": .string("\(run)/\(line)/\(text)")]))
        request.replay = ReplayPolicy(.durable, orderingKey: line)
        return try #require(try await queue.enqueue(request))
    }

    /// Sends all remaining jobs.
    private func drain() async throws {
        let last = try worker()
        try await untilAllAreDone()
        last.process.kill()
        await expectKilled(last)
    }

    /// Waits until the workers have sent all jobs, whatever time these wait for. None of them may be dead.
    private func untilAllAreDone() async throws {
        var isDone = false
        while !isDone {
            try await untilTrue {
                let counts = try queue.counts().filter { $0.value > 0 }
                try #require([.dead, .needsReview, .held].allSatisfy { counts[$0] == nil }, "\(counts)")
                isDone = counts.allSatisfy { $0.key == .done }
                return isDone || counts[.waiting] != nil
            }
            try Task.checkCancellation()
            for job in try queue.jobs(ReplayFilter(states: [.waiting])) { try? await queue.retry(job.id) }
        }
    }

    /// Checks that no acknowledged job is missing, none has acted twice, and each line is in order.
    private func expectSound(_ acknowledged: Set<String>) async throws {
        let engine = Engine(Engine.Configuration(store: nil))
        let texts = try await engine.send(Request(server.url("effects"))).decode(Effects.self).texts
            .filter { $0.hasPrefix(run) }
        await engine.close()
        #expect(acknowledged.subtracting(texts).isEmpty)
        #expect(Set(texts).count == texts.count)
        for (line, texts) in Dictionary(grouping: texts, by: { $0.split(separator: "/")[1] }) {
            let numbers = texts.compactMap { $0.split(separator: "/").last.flatMap { Int($0) } }
            #expect(numbers == numbers.sorted(), "line \(line), DIAMOND_SEED=\(Effort.seed)")
        }
        #expect(try await storage.check() == [])
    }

    // MARK: Killed processes

    @Test(arguments: [0, 3_600])
    func `killed workers, half of them with a clock ahead, lose, repeat and reorder nothing`(ahead: Int) async throws {
        var random = SplitMix(state: Effort.seed)
        var said: Set<String> = []
        var rounds = Effort.rounds(2, soaking: 30)
        // A slow machine needs more rounds.
        while rounds > 0 || said.count < 20 {
            try Task.checkCancellation()
            rounds -= 1
            let producers = [try producer("o1", ahead: 0), try producer("s1", ahead: ahead)]
            let workers = try [0, ahead, ahead].map { try worker(ahead: $0) }
            for worker in workers {
                worker.process.kill(after: .milliseconds(.random(in: 150...600, using: &random)))
            }
            // Producers are killed after their first output, so that each round adds some jobs.
            for producer in producers {
                if let text = await producer.output.firstLine().split(separator: " ").last { said.insert(String(text)) }
                producer.process.kill(after: .milliseconds(.random(in: 0...350, using: &random)))
            }
            for producer in producers {
                let lines = String(decoding: await producer.output.readAll(), as: UTF8.self)
                    .split(separator: "\n", omittingEmptySubsequences: false)
                said.formUnion(lines.dropLast().compactMap { $0.split(separator: " ").last.map(String.init) })
                #expect(await producer.process.ended() == .killed(by: SIGKILL))
            }
            for worker in workers { await expectKilled(worker) }
        }
        try await drain()
        try await expectSound(said)
    }

    #if os(Linux)
    @Test(.enabled("hosts need root, ip and network namespaces", NetworkHosts.arePossible))
    func `hosts that lose their networks for a while lose, repeat and reorder nothing`() async throws {
        let hosts = try await NetworkHosts(count: 2)
        do { try await sendWhileCutting(hosts) } catch {
            await hosts.close()
            throw error
        }
        await hosts.close()
    }

    private func sendWhileCutting(_ hosts: NetworkHosts) async throws {
        let relay = try PostgresServer.relay(isPublic: true)
        let web = try FaultyRelay(to: .port(UInt16(server.port)), isPublic: true)
        let url = place.url + PostgresServer.parameters(of: relay, at: hosts.gateway)
        let workers = try (0..<2).map { host -> Running in
            let output = Pipe()
            let process = try hosts.start(
                BuiltTool("QueueHammer").url, ["work", url], on: host,
                environment: ProcessInfo.processInfo.environment, output: output)
            return (process, output)
        }
        var random = SplitMix(state: Effort.seed)
        var said: Set<String> = []
        for round in 0..<Effort.rounds(2, soaking: 40) {
            let before = try queue.counts()[.done] ?? 0
            for number in 0..<40 {
                let line = "o\(number % 4)"
                _ = try await add("\(round * 40 + number)", to: line, at: "http://\(hosts.gateway):\(web.port)")
                said.insert("\(run)/\(line)/\(round * 40 + number)")
            }
            let count = Int.random(in: 1...20, using: &random)
            try await untilTrue { try queue.counts()[.done] ?? 0 >= before + count }
            // The other host has sent its last jobs when this one is cut, so each of them has to work again.
            let lost = round % 2
            try await hosts.cut(lost)
            // A minute later.
            try await place.endLeases(of: workers[lost].process.number)
            try await untilAllAreDone()
            try await hosts.join(lost)
        }
        for worker in workers {
            worker.process.kill()
            await expectKilled(worker)
        }
        try await expectSound(said)
    }
    #endif

    @Test func `a process whose wall clock is to be ahead has it`() async throws {
        var tool = BuiltTool("QueueHammer")
        tool.environment["DIAMOND_CLOCK_AHEAD"] = "3600"
        let text = try await tool.run(["clock"]).text.trimmingCharacters(in: .newlines)
        let time = try #require(Double(text))
        #expect(abs(time - 3_600 - Date().timeIntervalSince1970) < 60)
    }

    @Test(arguments: ReplayFaultPoint.allCases)
    func `a queue is whole when a worker ends in the middle of a job`(_ point: ReplayFaultPoint) async throws {
        var said: Set<String> = []
        for number in 0..<6 {
            let line = number % 2 == 0 ? "o1" : "o2"
            _ = try await add("\(number)", to: line)
            said.insert("\(run)/\(line)/\(number)")
        }
        for time in 1...2 { await expectKilled(try worker(fault: "\(point.rawValue):\(time)")) }
        try await drain()
        try await expectSound(said)
    }

    @Test func `the job of a killed worker is sent again long before its lease ends`() async throws {
        var delays: [Duration] = []
        for number in 0..<5 {
            let id = try await add("\(number)", to: "o\(number)")
            let dying = try worker(fault: "after-send:1", stops: true)
            await untilTrue { dying.process.isStopped }
            #expect(try queue.job(id)?.state == .running)
            // Another one is at work, and has nothing more to do.
            let living = try worker()
            let other = try await add("\(number)", to: "other")
            try await untilTrue { try queue.job(other)?.state == .done }
            let start = ContinuousClock.now
            dying.process.kill()
            try await untilTrue { try queue.job(id)?.state == .done }
            delays.append(ContinuousClock.now - start)
            living.process.kill()
            for process in [dying, living] { await expectKilled(process) }
        }
        // About a second on an idle machine.
        #expect(try #require(delays.max()) < .seconds(30), "\(delays)")
        try await expectSound(Set((0..<5).map { "\(run)/o\($0)/\($0)" }))
    }

    @Test(arguments: [ReplayFaultPoint.afterClaim, .beforeSend, .afterSend, .beforeFinish])
    func `a worker that was stopped for longer than its lease changes nothing`(_ point: ReplayFaultPoint) async throws {
        let id = try await add("0")
        let stopped = try worker(fault: "\(point.rawValue):1", stops: true)
        await untilTrue { stopped.process.isStopped }
        #expect(try queue.job(id)?.state == .running)
        // A minute later. The stopped process still has its session.
        try await place.endLeases()
        try await drain()
        let job = try #require(try queue.job(id))
        #expect(job.state == .done)

        // What it says about its job comes before what it does with another one.
        let next = try await add("1")
        stopped.process.kill(SIGCONT)
        try await untilTrue { try queue.job(next)?.state == .done }
        stopped.process.kill()
        await expectKilled(stopped)
        #expect(try queue.job(id) == job)
        let finished = try queue.history(since: .distantPast).filter { $0.verb == "finish" }
        #expect(finished.reduce(0) { $0 + $1.count } == 2)
        try await expectSound(["\(run)/o1/0", "\(run)/o1/1"])
    }
}
#endif
