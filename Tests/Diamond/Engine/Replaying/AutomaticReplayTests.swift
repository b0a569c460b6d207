import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Engines that replay without a line of the app", .limit(minutes: 5)) struct AutomaticReplayTests {
    let fixture = ReplayFixture()

    private func automatic(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        fixture.engine { configuration in
            configuration.replays = .automatically
            change(&configuration)
        }
    }

    /// Leaves jobs, as an earlier process would.
    @discardableResult
    private func leave(_ count: Int = 1, _ policy: ReplayPolicy = .durable) async throws -> [ReplayJob.ID] {
        let engine = fixture.engine()
        let ids = try await engine.queue().enqueue((0..<count).map { _ in fixture.note(policy) }).compactMap(\.self)
        await engine.close()
        return ids
    }

    private func isDone(_ id: ReplayJob.ID, _ engine: Engine) async throws {
        try await untilTrue { try engine.queue().job(id)?.state == .done }
    }

    @Test func `an engine sends the jobs of an earlier process as soon as it exists`() async throws {
        let id = try await leave()[0]
        let engine = automatic()
        try await isDone(id, engine)
        #expect(fixture.transport.requests.count == 1)
        await engine.close()
    }

    @Test func `an engine sends no jobs by default`() async throws {
        let id = try await leave()[0]
        let engine = fixture.engine()
        _ = try await engine.send(fixture.note(.never))
        #expect(try engine.queue().job(id)?.state == .ready)
    }

    @Test func `a request that fails is sent again when its job is due`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = automatic { $0.draw = { 0 } }
        guard case .queued(let job) = try await engine.submit(fixture.note(.durable)) else {
            Issue.record("it is not queued")
            return
        }
        fixture.serve { _ in .stub(status: 201) }
        try await untilTrue { [clock = fixture.clock] in
            let isAsleep = clock.sleeping.contains { $0 <= .seconds(1) }
            if isAsleep, try engine.queue().job(job.id)?.state == .waiting { clock.advance(by: .milliseconds(500)) }
            return try engine.queue().job(job.id)?.state == .done
        }
        await engine.close()
    }

    @Test func `a job that waits for the network is sent when that returns`() async throws {
        let network = StubReachability(isReachable: false)
        fixture.serve { _ throws(TransportError) in
            guard network.isReachable else { throw TransportError(.cannotConnect, "the network is away") }
            return .stub(status: 201)
        }
        let engine = automatic { $0.reachability = network }
        guard case .queued(let job) = try await engine.submit(fixture.note(.durable)) else {
            Issue.record("it is not queued")
            return
        }
        #expect(job.reason == .offline)
        network.isReachable = true
        try await isDone(job.id, engine)
        await engine.close()
    }

    @Test func `several engines with one store send each job once`() async throws {
        let ids = try await leave(30)
        let engines = (0..<3).map { _ in automatic() }
        for id in ids { try await isDone(id, engines[0]) }
        #expect(fixture.transport.requests.count == 30 && Set(fixture.keys).count == 30)
        for engine in engines { await engine.close() }
    }

    @Test func `a closed engine sends no more jobs, and neither does a released one`() async throws {
        let first = automatic()
        try await isDone(try #require(try await first.queue().enqueue(fixture.note(.durable))), first)
        await first.close()

        var second: Engine? = automatic()
        weak let pipeline = second?.pipeline
        let queue = try #require(try second?.queue())
        let id = try #require(try await queue.enqueue(fixture.note(.durable)))
        try await untilTrue { try queue.job(id)?.state == .done }
        second = nil
        // The replayer has ended.
        await untilTrue { pipeline == nil }
        let count = fixture.transport.requests.count
        let last = try #require(try await queue.enqueue(fixture.note(.durable)))
        #expect(try queue.job(last)?.state == .ready && fixture.transport.requests.count == count)
    }

    @Test func `a replayer stopped before its run has begun claims no job`() async throws {
        try await leave()
        for _ in 0..<20 {
            weak let pipeline = automatic { $0.replayPass = { _ in Issue.record("it claims a job") } }.pipeline
            // The engine is released at once, before its run can have claimed a job.
            await untilTrue { pipeline == nil }
        }
    }

    @Test func `a handler of the configuration receives the outputs of jobs of an earlier process`() async throws {
        fixture.serve(ReplayFixture.refused)
        let first = fixture.engine()
        guard case .queued(let job) = try await first.submit(ReplayedOutputTests.CreateNote(text: "a")) else {
            Issue.record("it is not queued")
            return
        }
        await first.close()
        fixture.serve { _ in .stub(status: 201, body: #"{"id":7,"text":"a"}"#) }
        fixture.clock.advance(by: .seconds(60))
        let (outputs, output) = AsyncStream<Int>.makeStream()
        let second = automatic { configuration in
            configuration.onReplay(ReplayedOutputTests.CreateNote.self) { id, result in
                #expect(id == job.id)
                if case .success(let note) = result { output.yield(note.id) }
            }
        }
        #expect(await outputs.first { _ in true } == 7)
        await second.close()
    }

    @Test func `a queue that cannot be opened at launch is opened later`() async throws {
        let path = fixture.temporary.store.replayPath
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let failures = Guarded(0)
        let engine = automatic { configuration in
            configuration.observers = [
                ActivityListener { if case .queueFailed = $0 { failures.withLock { $0 += 1 } } }
            ]
        }
        await untilTrue { [clock = fixture.clock] in clock.sleeping.contains(.seconds(60)) }
        #expect(failures.withLock { $0 } > 0)
        try FileManager.default.removeItem(atPath: path)
        let id = try await leave()[0]
        fixture.clock.advance(by: .seconds(60))
        try await isDone(id, engine)
        await engine.close()
    }
}

/// An observer that calls a closure.
struct ActivityListener: ActivityObserver {
    let listen: @Sendable (ActivityEvent) -> Void

    init(_ listen: @escaping @Sendable (ActivityEvent) -> Void) { self.listen = listen }

    func receive(_ event: ActivityEvent) { listen(event) }
}
