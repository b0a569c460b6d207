import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Durable requests whose final answer or error a caller gets: there is one outcome, and no job to review.
@Suite("A refused durable request", .limit(minutes: 5)) struct DeliveredRefusalTests {
    let fixture = ReplayFixture()

    /// The ways in which a caller waits for a request.
    enum Wait: CaseIterable { case send, submit, connection, callback, batch }

    private func status(of request: Request, by engine: Engine, _ wait: Wait) async throws -> Int? {
        switch wait {
        case .send: return try await engine.send(request).status.code
        case .submit:
            guard case .sent(let response) = try await engine.submit(request) else { return nil }
            return response.status.code
        case .connection: return try await engine.connection(for: request).response.status.code
        case .callback:
            let (called, status) = (Gate(), Guarded<Int?>(nil))
            engine.send(request, on: .global) { result in
                status.withLock { $0 = try? result.get().status.code }
                called.open()
            }
            await called.wait()
            return status.withLock { $0 }
        case .batch: return try await engine.batch([request]).results[0].get().status.code
        }
    }

    private func jobs(_ engine: Engine) throws -> [ReplayJob] { try engine.queue().jobs() }

    @Test(arguments: Wait.allCases) func `leaves no dead job if its caller waits`(wait: Wait)
        async throws
    {
        fixture.serve { _ in .stub(status: 422) }
        let first = fixture.engine()
        #expect(try await status(of: fixture.note(.durable), by: first, wait) == 422)
        #expect(try jobs(first).map(\.state) == [.done])
        await first.close()

        let second = fixture.engine()
        let job = try #require(try jobs(second).first)
        #expect(job.state == .done && job.reason == .refused && job.status == 422)
        #expect(try second.queue().failures(of: job.id).map(\.code) == ["status 422"])
        #expect(try await second.replayer().replay() == Replayer.Summary())
        #expect(fixture.transport.requests.count == 1)
    }

    /// The reasons for which nobody gets the answer.
    enum Absence: CaseIterable { case notAwaited, canceled, replayed }

    @Test(arguments: Absence.allCases)
    func `leaves a dead job if no caller gets the answer`(absence: Absence) async throws {
        let checkpoint = Checkpoint()
        fixture.serve { _ in
            await checkpoint.pass()
            return .stub(status: 422)
        }
        let first = fixture.engine()
        let request = fixture.note(.durable)
        switch absence {
        case .notAwaited:
            let connection = first.start(request)
            checkpoint.open()
            await untilTrue { connection.isFinished }
        case .canceled:
            let connection = first.start(request)
            await checkpoint.reached()
            connection.cancel()
            checkpoint.open()
            await untilTrue { connection.isFinished }
            _ = try await first.replayer().replay(until: fixture.clock.date + 60, ignoringBackoff: true)
        case .replayed:
            checkpoint.open()
            _ = try await first.queue().enqueue(request)
            _ = try await first.replayer().replay()
        }
        #expect(try jobs(first).map(\.state) == [.dead])
        await first.close()
        let second = fixture.engine()
        #expect(try jobs(second).map(\.state) == [.dead] && jobs(second).map(\.reason) == [.refused])
    }

    @Test func `a refused durable request in strict order stays dead, and later jobs wait`() async throws {
        fixture.serve { _ in .stub(status: 422) }
        let engine = fixture.engine()
        let policy = ReplayPolicy(.durable, orderingKey: "notes", order: .strict)
        #expect(try await engine.send(fixture.note(policy)).status.code == 422)
        let error = try await fixture.queued(fixture.note(policy), by: engine)
        #expect(try jobs(engine).map(\.state) == [.dead, .ready] && error.jobID == jobs(engine).last?.id)
    }

    @Test func `a durable request that uses up its attempts while its caller waits leaves no dead job`() async throws {
        fixture.serve { _ in .stub(status: 503) }
        let engine = fixture.engine()
        #expect(try await engine.send(fixture.note(.with(attempts: 1))).status.code == 503)
        #expect(try jobs(engine).map(\.state) == [.done] && jobs(engine).map(\.reason) == [.attemptsUsed])
    }

    @Test func `a refused durable request whose body is lost leaves a dead job, because its caller gets no status`()
        async throws
    {
        fixture.serve { _ in
            let pieces = AsyncThrowingStream<Data, any Error> { body in
                body.finish(throwing: TransportError(.connectionLost, "lost", serverMayHaveActed: true))
            }
            return TransportResponse(status: .init(code: 422), headers: [:], body: BodyStream(pieces))
        }
        let engine = fixture.engine()
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(fixture.note(.durable)) }
        #expect(error?.code == .connectionLost)
        #expect(try jobs(engine).map(\.state) == [.dead])
    }
}
