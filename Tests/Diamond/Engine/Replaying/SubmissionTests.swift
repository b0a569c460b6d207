import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Outcomes of requests that may be queued", .limit(minutes: 5)) struct SubmissionTests {
    let fixture = ReplayFixture()

    private struct CreateNote: Endpoint {
        struct Output: Decodable, Equatable { let id: Int }

        var isDurable = true

        var request: Request {
            var request = Request("http://api.test/notes", method: .post, body: .json(["text": "a"]))
            request.replay = isDurable ? .durable : .onFailure
            return request
        }
    }

    private func job<Value>(_ submission: Submission<Value>) throws -> ReplayJob {
        guard case .queued(let job) = submission else {
            Issue.record("\(submission) is not queued")
            throw ConnectionError(.other, "it is not queued")
        }
        return job
    }

    @Test(arguments: [ReplayPolicy.never, .onFailure, .durable])
    func `a submitted request that is answered is reported as sent`(policy: ReplayPolicy) async throws {
        guard case .sent(let response) = try await fixture.engine().submit(fixture.note(policy)) else {
            Issue.record("it is not sent")
            return
        }
        #expect(response.status == .created)
    }

    @Test(arguments: [ReplayPolicy.onFailure, .durable])
    func `a submitted request that cannot be sent becomes a job for the replayer`(policy: ReplayPolicy) async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine()
        let job = try job(try await engine.submit(fixture.note(policy)))
        #expect(job.state == .waiting && job.reason == .backoff && job.attempts == 1)
        #expect(try engine.queue().failures(of: job.id).map(\.code) == ["cannotConnect"])
        fixture.serve { _ in .stub(status: 201) }
        fixture.clock.advance(by: .seconds(60))
        #expect(try await engine.replayer().replay().finished == 1)
    }

    @Test func `a job behind others of its ordering key is ready`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine()
        let policy = ReplayPolicy(.durable, orderingKey: "cart")
        _ = try await engine.submit(fixture.note(policy))
        #expect(try job(try await engine.submit(fixture.note(policy))).state == .ready)
    }

    @Test func `a submitted request that must not be queued fails with its error`() async throws {
        fixture.serve(ReplayFixture.refused)
        let (engine, note) = (fixture.engine(), fixture.note(.never))
        let error = await #expect(throws: ConnectionError.self) { try await engine.submit(note) }
        #expect(error?.code == .cannotConnect)
    }

    @Test func `a submitted request that is answered with a permanent error is reported as sent`() async throws {
        fixture.serve { _ in .stub(status: 422) }
        let engine = fixture.engine()
        guard case .sent(let response) = try await engine.submit(fixture.note(.durable)) else {
            Issue.record("it is not sent")
            return
        }
        #expect(response.status == .unprocessableContent)
    }

    @Test func `a merge that leaves nothing to send throws the error queued without a job ID`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine()
        try await engine.queue().hold(.queue)
        let policy = ReplayPolicy(.durable, orderingKey: "note", unique: "note", uniqueness: .merge)
        var creation = fixture.note(policy)
        creation.url = "http://api.test/notes/1"
        _ = try await engine.submit(creation)
        var deletion = fixture.note(policy, method: .delete)
        deletion.url = "http://api.test/notes/1"
        deletion.body = nil
        let error = await #expect(throws: ConnectionError.self) { try await engine.submit(deletion) }
        #expect(error?.code == .queued && error?.jobID == nil)
    }

    @Test(arguments: [false, true])
    func `a submitted call returns its output, or becomes a job of its kind`(isDurable: Bool) async throws {
        let engine = fixture.engine()
        let call = CreateNote(isDurable: isDurable)
        #expect(try await engine.submit(call) == .sent(CreateNote.Output(id: 1)))
        fixture.serve(ReplayFixture.refused)
        #expect(try job(try await engine.submit(call)).kind == CreateNote.kind)
    }
}
