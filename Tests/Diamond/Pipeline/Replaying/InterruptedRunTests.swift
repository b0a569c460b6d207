import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Queued requests whose runs end early: by a pause, by a cancel, or by the end of the queue.
@Suite("Queued requests whose runs end early", .limit(minutes: 5)) struct InterruptedRunTests {
    typealias Answer = StubTransport.Answer

    private let fixture = ReplayFixture()
    private var temporary: TemporaryStore { fixture.temporary }
    private var clock: TestClock { fixture.clock }
    private var transport: StubTransport { fixture.transport }

    private func serve(_ answer: @escaping Answer) { fixture.serve(answer) }

    private func engine() -> Engine { fixture.engine { $0.draw = { 0.5 } } }

    /// - Parameter isRepeated: whether it waits for another attempt after a failure.
    private func note(
        _ mode: ReplayPolicy.Mode,
        _ method: HTTPRequest.Method = .post,
        keyLifetime: Duration? = nil,
        isRepeated: Bool = false
    ) -> Request {
        var request = Request("http://api.test/notes/1", method: method, body: .json(["text": "a"]))
        request.replay = ReplayPolicy(mode, keyLifetime: keyLifetime)
        if isRepeated { request.retry = RetryPolicy(attempts: 3, baseDelay: .seconds(8), window: nil) }
        return request
    }

    private static let refused: Answer = { _ throws(TransportError) in
        throw TransportError(.cannotConnect, "refused")
    }

    /// Does not answer until the request is canceled.
    private static func silence(_ isThere: Gate) -> Answer {
        { _ throws(TransportError) in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw TransportError(.cancelled, "canceled", serverMayHaveActed: true)
        }
    }

    private func untilItWaits(_ connection: Connection) async {
        await untilTrue { if case .waiting = connection.state { true } else { false } }
    }

    private func outcome(of connection: Connection) async -> Result<Response, any Error> {
        await Task { try await connection.response }.result
    }

    // MARK: In line

    @Test(arguments: [29, 31])
    func `a job that expires while it waits for a permit fails as timed out, not as queued`(
        seconds: Int
    ) async throws {
        serve { _ in .stub(status: 201) }
        let engine = engine()
        engine.lanes.pauseAll()
        var request = note(.durable)
        request.replay.expiry = .seconds(30)
        let connection = engine.start(request)
        await untilTrue { engine.lanes.waiting == 1 }
        clock.advance(by: .seconds(seconds))
        engine.lanes.resumeAll()
        let outcome = await outcome(of: connection)
        guard seconds > 30 else { return #expect(try outcome.get().status == .created) }
        let error = #expect(throws: ConnectionError.self) { try outcome.get() }
        let job = try #require(try engine.queue().jobs().first)
        #expect(error?.code == .timedOut && error?.jobID == job.id)
        #expect(job.state == .dead && job.reason == .expired && transport.requests.isEmpty)
    }

    // MARK: Between two attempts

    @Test func `a PUT that reached no server is not completed by a 404 after a pause`()
        async throws
    {
        serve(Self.refused)
        let engine = engine()
        let connection = engine.start(note(.durable, .put, isRepeated: true))
        await untilItWaits(connection)
        serve { _ in .stub(status: 404) }
        // The connection is resumed at once, when the first run may not have ended yet.
        connection.pause()
        connection.resume()
        #expect(try await connection.response.status == .notFound)
        let job = try #require(try engine.queue().jobs().first)
        #expect(job.reason == .refused && job.unknownSince == nil)
    }

    @Test func `a job without a network waits as offline after a pause between two attempts`() async throws {
        serve(Self.refused)
        let engine = engine()
        let connection = engine.start(note(.onFailure, .put, isRepeated: true))
        await untilItWaits(connection)
        serve { _ throws(TransportError) in throw TransportError(.cannotResolveHost, "nowhere") }
        connection.pause()
        connection.resume()
        await untilTrue { [clock] in
            if case .waiting = connection.state { clock.advance(by: .seconds(10)) }
            return connection.isFinished
        }
        let job = try #require(try engine.queue().jobs().first)
        #expect(job.state == .waiting && job.reason == .offline && job.unknownSince == nil)
    }

    @Test(arguments: [false, true])
    func `a job that waits after an unsent attempt is also stored as unsent`(
        isPaused: Bool
    ) async throws {
        serve(Self.refused)
        let engine = engine()
        let connection = engine.start(note(.durable, isRepeated: true))
        await untilItWaits(connection)
        let queue = try engine.queue()
        await untilTrue { [clock] in clock.sleeping.contains(.seconds(4)) }
        if isPaused {
            connection.pause()
            clock.advance(by: .seconds(4))
            await untilTrue { connection.core.withLock { $0.run == nil } }
        }
        await untilTrue { (try? queue.jobs().first?.sentAt == nil) ?? false }
        let job = try #require(try queue.jobs().first)
        #expect(job.state == .running)
        // As though its process had died.
        let owner = try #require(queue.owner.id)
        try await queue.writer.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.removeOwner(owner, jobsMayBeCause: true, on: connection, ledger: &ledger)
        }
        #expect(try queue.jobs().map(\.state) == [.ready])
        connection.cancel()
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure], [19, 21])
    func `a possibly processed job is not retried if its key has expired between attempts`(
        mode: ReplayPolicy.Mode, seconds: Int
    ) async throws {
        serve { _ in .stub(status: 500) }
        let engine = engine()
        let sentAt = clock.date
        let connection = engine.start(note(mode, keyLifetime: .seconds(20), isRepeated: true))
        await untilTrue { [clock] in clock.sleeping.contains(.seconds(4)) }
        let (queue, whenSentAgain) = (try engine.queue(), Guarded<Date?>(nil))
        serve { _ in
            let job = (try? queue.jobs())?.first
            whenSentAgain.withLock { $0 = job?.sentAt }
            return .stub(status: 201)
        }
        clock.advance(by: .seconds(seconds))
        let outcome = await outcome(of: connection)
        guard seconds > 20 else {
            #expect(try outcome.get().status == .created && transport.requests.count == 2)
            #expect(whenSentAgain.withLock { $0 } == (mode == .durable ? sentAt : nil))
            return
        }
        #expect(throws: ConnectionError.self) { try outcome.get() }
        let job = try #require(try engine.queue().jobs().first)
        #expect(job.state == .needsReview && job.reason == .keyExpired && job.unknownSince == sentAt)
        #expect(transport.requests.count == 1)
    }

    // MARK: On the wire

    @Test(arguments: [19, 21])
    func `a paused job goes to review where its key has expired, also in on-failure mode`(
        seconds: Int
    ) async throws {
        let isThere = Gate()
        serve(Self.silence(isThere))
        let engine = engine()
        var request = note(.onFailure, keyLifetime: .seconds(20))
        // Otherwise a pause would not interrupt it.
        request.headers[try #require(HTTPField.Name("Idempotency-Key"))] = "mine"
        let connection = engine.start(request)
        await isThere.wait()
        let sentAt = clock.date
        connection.pause()
        clock.advance(by: .seconds(seconds))
        serve { _ in .stub(status: 201) }
        connection.resume()
        let outcome = await outcome(of: connection)
        guard seconds > 20 else {
            #expect(try outcome.get().status == .created && transport.requests.count == 2)
            return
        }
        #expect(throws: ConnectionError.self) { try outcome.get() }
        let job = try #require(try engine.queue().jobs().first)
        #expect(job.state == .needsReview && job.reason == .keyExpired && job.unknownSince == sentAt)
        #expect(transport.requests.count == 1)
    }

    @Test func `a queue that a canceled task closes waits for the requests on the wire`() async throws {
        let isThere = Gate()
        let engine = engine()
        let queue = try engine.queue()
        // The request ends some time after its cancellation, later than the job could be returned to the queue. The
        // delay runs on its own thread, because a task may wait too long for a thread while many tests run.
        serve { _ throws(TransportError) in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    for _ in 0..<200 where (try? queue.jobs().map(\.state)) != [.running] { break }
                    continuation.resume()
                }
            }
            return .stub(status: 201)
        }
        let sending = Task { try await engine.send(note(.durable)) }
        await isThere.wait()
        let closing = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await queue.close()
        }
        await closing.value
        #expect(try queue.jobs().map(\.state) == [.done])
        #expect(try await sending.value.status == .created)
    }

    // MARK: Owners

    @Test func `a process does not become an owner of a queue that is closed meanwhile`() async throws {
        let (isArmed, isEntering) = (Guarded(false), Gate())
        var time = ReplayClock.system
        // Called after the check whether the queue is closed, and before the row is written.
        time.uptime = {
            if isArmed.withLock({ $0 }) { isEntering.open() }
            return .now
        }
        let queue = try ReplayQueue(temporary.store, clock: time)
        // This delays the write of the owner's row.
        let (isHeld, mayEnd) = (Gate(), DispatchSemaphore(value: 0))
        holdWrites(to: queue, isHeld, mayEnd)
        await isHeld.wait()
        isArmed.withLock { $0 = true }
        let entering = Task { try await queue.owner.enter() }
        await isEntering.wait()
        await queue.close()
        mayEnd.signal()
        let error = await #expect(throws: ReplayError.self) { try await entering.value }
        #expect(error?.code == .closed && queue.owner.id == nil)
        #expect(try queue.read { (connection) throws(SQLiteError) in try ReplayTable.owners(on: connection) }.isEmpty)
    }

    @Test(arguments: [false, true]) func `an owner's attempt ends only with the lease of that owner`(isItsOwn: Bool)
        async throws
    {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        let first = try await queue.owner.enter()
        queue.owner.dropOwner(first)
        let second = try await queue.owner.enter()
        let checkpoint = Checkpoint()
        let attempt = Task {
            await queue.owner.runAttempt { isEndedByOwner in
                await checkpoint.pass()
                return isEndedByOwner()
            }
        }
        await checkpoint.reached()
        queue.owner.endAttempts(of: first, leasedUntil: .max)
        // The lease as it was before its renewal.
        queue.owner.endAttempts(of: second, leasedUntil: Uptime(rawValue: ReplayOwner.lease - 1))
        if isItsOwn { queue.owner.endAttempts(of: second, leasedUntil: Uptime(rawValue: ReplayOwner.lease)) }
        checkpoint.open()
        #expect(await attempt.value == isItsOwn)
        queue.owner.leave()
        queue.owner.leave()
    }

    // MARK: Drafts that are not added

    @Test func `a discarded draft has no id`() async throws {
        let queue = try ReplayQueue(temporary.store)
        let draft = try await queue.draft(of: note(.durable))
        #expect(try await queue.add([draft]) { _ in false } == [nil])
        #expect(try queue.jobs().isEmpty)
    }

    // MARK: The count

    @Test func `a run counts all of its own exchanges, and the open exchanges of other runs`() {
        var exchanges = SentExchanges()
        let (first, second) = (exchanges.beginRun(), exchanges.beginRun())
        exchanges.beginExchange(in: first, at: 1)
        exchanges.noteUnprocessed(in: first)
        #expect(exchanges.hasBegun(in: first) && exchanges.unknownSince() == nil)
        #expect(exchanges.count(atEndOf: first) == 1 && exchanges.count(atEndOf: second) == 0)
        exchanges.beginExchange(in: first, at: 2)
        exchanges.beginExchange(in: first, at: 3)
        exchanges.noteUnprocessed(in: first)
        #expect(exchanges.unknownSince(ignoring: second) == 2 && exchanges.unknownSince(ignoring: first) == nil)
        exchanges.beginExchange(in: second, at: 4)
        #expect(exchanges.count(atEndOf: second) == 2 && exchanges.unknownSince() == 2)
        exchanges.undoBegin(in: second)
        #expect(!exchanges.hasBegun(in: second) && exchanges.count(atEndOf: second) == 1)
    }

    @Test func `an exchange that was not sent keeps the interrupted response to the exchange before it`() {
        let answer = ReplayOutcome.answered(status: 201)
        var exchanges = SentExchanges()
        let (first, second, third) = (exchanges.beginRun(), exchanges.beginRun(), exchanges.beginRun())
        exchanges.beginExchange(in: first, at: 1)
        exchanges.note(interruptedAnswer: answer)
        exchanges.beginExchange(in: second, at: 2)
        #expect(exchanges.interruptedAnswer == nil)
        exchanges.undoBegin(in: second)
        #expect(exchanges.interruptedAnswer == answer)
        exchanges.beginExchange(in: second, at: 3)
        exchanges.beginExchange(in: third, at: 4)
        exchanges.undoBegin(in: second)
        #expect(exchanges.interruptedAnswer == nil)
    }
}
