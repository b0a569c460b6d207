import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Durable requests, and which component finally sends them.
@Suite("A durable request", .limit(minutes: 5)) struct DurableReplayTests {
    let fixture = ReplayFixture()

    @Test func `is on disk before its first byte is sent`() async throws {
        let engine = fixture.engine()
        let store = fixture.temporary.store
        fixture.serve { request throws(TransportError) in
            let jobs = (try? ReplayQueue(store).jobs()) ?? []
            #expect(jobs.map(\.state) == [.running])
            #expect(jobs.first?.sentAt != nil)
            #expect(jobs.first?.idempotencyKey == HTTPField.Name("Idempotency-Key").flatMap { request.headers[$0] })
            return .stub(status: 201)
        }
        let response = try await engine.send(fixture.note(.durable))
        #expect(response.status == .created)
        #expect(try engine.queue().jobs().map(\.state) == [.done])
        #expect(fixture.keys.compactMap(\.self).count == 1)
    }

    @Test func `a durable request that fails is replayed with its key by another engine`() async throws {
        fixture.serve { _ in .stub(status: 503) }
        let first = fixture.engine()
        let error = try await fixture.queued(fixture.note(.durable), by: first)
        #expect(error.response?.status == .serviceUnavailable)
        let id = try #require(error.jobID)
        #expect(try first.queue().job(id)?.state == .waiting)
        await first.close()

        fixture.serve { _ in .stub(status: 201) }
        fixture.clock.advance(by: .seconds(60))
        let second = fixture.engine()
        let summary = try await second.replayer().replay()
        #expect(summary.finished == 1)
        #expect(try second.queue().job(id)?.state == .done)
        #expect(fixture.keys.count == 2 && fixture.keys[0] != nil && fixture.keys[0] == fixture.keys[1])
    }

    @Test func `a durable request of a process taken for dead is queued, and sent by the replayer`() async throws {
        let engine = fixture.engine()
        let queue = try engine.queue()
        _ = try await queue.owner.enter()
        try queue.database.write { (connection) throws(SQLiteError) in try connection.execute("DELETE FROM owner") }
        let error = try await fixture.queued(fixture.note(.durable), by: engine)
        let id = try #require(error.jobID)
        #expect(try queue.job(id)?.state == .ready && fixture.transport.requests.isEmpty)
        // The next request is sent at once, under another owner.
        _ = try await engine.send(fixture.note(.durable))
        queue.owner.leave()
        #expect(try await engine.replayer().replay().finished == 1)
    }

    @Test func `a durable request that is refused does not affect the job with the same unique name`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine()
        let queue = try engine.queue()
        let old = ReplayPolicy(.durable, orderingKey: "a", unique: "note")
        let error = try await fixture.queued(fixture.note(old), by: engine)
        queue.maximumCount = 0
        let new = ReplayPolicy(.durable, orderingKey: "b", unique: "note", uniqueness: .replace)
        await #expect(throws: ConnectionError.self) { try await engine.send(fixture.note(new)) }
        #expect(try queue.jobs().map(\.id) == [try #require(error.jobID)])
        #expect(try queue.jobs().map(\.state) == [.waiting])
    }

    @Test func `waits for an earlier one with the same ordering key`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine()
        let policy = ReplayPolicy(.durable, orderingKey: "cart")
        let first = try await fixture.queued(fixture.note(policy), by: engine)
        let second = try await fixture.queued(fixture.note(policy), by: engine)
        #expect(fixture.transport.requests.count == 1)
        #expect(first.jobID == 1 && second.jobID == 2)
    }

    @Test func `a durable request whose caller is canceled is sent by the replayer`() async throws {
        let isThere = Gate()
        fixture.serve(ReplayFixture.silence(isThere, isSent: true))
        let engine = fixture.engine()
        let caller = Task { try await engine.send(fixture.note(.durable)) }
        await isThere.wait()
        caller.cancel()
        _ = await caller.result
        fixture.serve { _ in .stub(status: 201) }
        let queue = try engine.queue()
        await untilTrue { (try? queue.jobs().map(\.state)) != [.running] }
        #expect(try await engine.replayer().replay().finished == 1)
        #expect(fixture.keys.count == 2 && fixture.keys[0] == fixture.keys[1])
    }

    @Test func `a durable request under way returns to its queue when the queue closes, and its caller gets the job`()
        async throws
    {
        let isThere = Gate()
        fixture.serve(ReplayFixture.silence(isThere, isSent: true))
        let engine = fixture.engine()
        let request = fixture.note(.durable)
        let sending = Task { try await engine.send(request) }
        await isThere.wait()
        let queue = try engine.queue()
        await queue.close()
        let job = try #require(try queue.job(1))
        #expect(job.state == .ready && job.attempts == 0 && job.unknownSince != nil)
        // The request has already ended.
        sending.cancel()
        let error = await #expect(throws: ConnectionError.self) { try await sending.value }
        #expect(error?.code == .queued && error?.jobID == 1)
        fixture.serve { _ in .stub(status: 201) }
        #expect(try await fixture.engine().replayer().replay().finished == 1)
        #expect(fixture.keys.count == 2 && fixture.keys[0] == fixture.keys[1])
    }

    @Test func `a durable attempt ends before its lease does, though the renewal waits for the disk`() async throws {
        let (isThere, hasEnded) = (Gate(), Gate())
        fixture.serve { _ throws(TransportError) in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            hasEnded.open()
            throw TransportError(.cancelled, "canceled", serverMayHaveActed: true)
        }
        let engine = fixture.engine()
        let request = fixture.note(.durable)
        let sending = Task { try await engine.send(request) }
        await isThere.wait()
        let queue = try engine.queue()
        // A write that does not end.
        let (isHeld, mayEnd) = (Gate(), DispatchSemaphore(value: 0))
        holdWrites(to: queue, isHeld, mayEnd)
        await isHeld.wait()
        await untilTrue { [fixture] in
            if !hasEnded.isOpen { fixture.clock.advance(by: .seconds(1)) }
            return hasEnded.isOpen
        }
        #expect(hasEnded.isOpen)
        mayEnd.signal()
        let error = await #expect(throws: ConnectionError.self) { try await sending.value }
        #expect(error?.code == .queued && error?.jobID == 1)
    }

    @Test func `a durable request to a closed queue is stored, and sent by the next queue`() async throws {
        let engine = fixture.engine()
        let queue = try engine.queue()
        await queue.close()
        let error = try await fixture.queued(fixture.note(.durable), by: engine)
        let id = try #require(error.jobID)
        #expect(try queue.job(id)?.state == .ready && fixture.transport.requests.isEmpty)
        #expect(try await fixture.engine().replayer().replay().finished == 1)
    }

    @Test(arguments: [false, true])
    func `a connection restored from a snapshot leaves its job to the queue`(isPaused: Bool) async throws {
        let isThere = Gate()
        fixture.serve(ReplayFixture.silence(isThere))
        let first = fixture.engine()
        let connection = first.start(fixture.note(.durable))
        await isThere.wait()
        if isPaused { connection.pause() }
        let written = try connection.snapshot.json()
        let id = try #require(try first.queue().jobs().first?.id)
        // The cancellation stands for the end of the process.
        connection.cancel()
        await untilTrue { (try? first.queue().job(id)?.state) == .ready }
        await first.close()

        fixture.serve { _ in .stub(status: 201) }
        let second = fixture.engine()
        let again = second.connection(from: try ConnectionSnapshot(json: written))
        second.start(again)
        let error = await #expect(throws: ConnectionError.self) { try await again.response }
        #expect(error?.code == .queued && error?.jobID == id && again.isFinished)
        #expect(try await second.replayer().replay().finished == 1)
        #expect(fixture.keys.count == 2 && fixture.keys[0] != nil && fixture.keys[0] == fixture.keys[1])
    }
}
