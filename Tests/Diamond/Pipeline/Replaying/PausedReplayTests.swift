import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Queued requests that are paused and resumed", .limit(minutes: 5)) struct PausedReplayTests {
    let fixture = ReplayFixture()

    @Test func `a paused durable connection keeps its running job, and completes it after a resume`() async throws {
        let isThere = Gate()
        fixture.serve(ReplayFixture.silence(isThere, isSent: true))
        let engine = fixture.engine()
        let connection = engine.start(fixture.note(.durable, method: .put))
        await isThere.wait()
        connection.pause()
        fixture.serve { _ in .stub(status: 200) }
        #expect(try engine.queue().jobs().map(\.state) == [.running])
        connection.resume()
        #expect(try await connection.response.status == .ok)
        #expect(try engine.queue().jobs().map(\.state) == [.done])
    }

    /// The results of the attempt after the pause.
    static let ends: [@Sendable (TransportRequest) async throws(TransportError) -> TransportResponse] = [
        ReplayFixture.refused, { _ in .stub(status: 429, headers: [.retryAfter: "30"]) }, { _ in .stub(status: 401) },
    ]

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure], ends.indices)
    func `a request that a pause interrupted may have been processed, whatever happens afterwards`(
        mode: ReplayPolicy.Mode, end: Int
    ) async throws {
        let isThere = Gate()
        fixture.serve(ReplayFixture.silence(isThere, isSent: true))
        let engine = fixture.engine()
        var request = fixture.note(ReplayPolicy(mode, keyLifetime: nil))
        request.identity = "anna"
        // Otherwise a pause would not interrupt it.
        request.retry = RetryPolicy(attempts: 1, retriesUnsafeMethods: true)
        let connection = engine.start(request)
        await isThere.wait()
        connection.pause()
        fixture.serve(Self.ends[end])
        connection.resume()
        let outcome = await Task { try await connection.response }.result
        // An on-failure request is not queued for a 401.
        if mode == .onFailure, case .success(let response) = outcome {
            #expect(response.status == .unauthorized && end == 2)
            return
        }
        let jobs = try engine.queue().jobs()
        #expect(jobs.map(\.state) == [.needsReview] && jobs.map(\.reason) == [.outcomeUnknown])
        #expect(fixture.transport.requests.count == 2)
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `a request that was paused before it was sent is sent again`(mode: ReplayPolicy.Mode) async throws {
        let engine = fixture.engine()
        fixture.serve(ReplayFixture.refused)
        let connection = Connection(fixture.note(ReplayPolicy(mode, keyLifetime: nil)))
        connection.pause()
        engine.start(connection)
        connection.resume()
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        let id = try #require(error?.jobID)
        let job = try engine.queue().job(id)
        #expect(job?.state == .waiting && job?.unknownSince == nil)
    }

    /// The lifetime of the key, the length of the pause in seconds, and the reason of the job's state afterwards.
    static let pauses: [(lifetime: Duration?, seconds: Int, reason: ReplayReason)] = [
        (.seconds(20), 19, .finished), (.seconds(20), 21, .keyExpired), (nil, 1, .outcomeUnknown),
    ]

    @Test(arguments: pauses)
    func `a request that a pause interrupted is sent again as long as the server knows its key`(
        _ pause: (lifetime: Duration?, seconds: Int, reason: ReplayReason)
    ) async throws {
        let (isThere, whenSentAgain) = (Gate(), Guarded<Date?>(nil))
        fixture.serve(ReplayFixture.silence(isThere, isSent: true))
        let engine = fixture.engine()
        var request = fixture.note(ReplayPolicy(.durable, keyLifetime: pause.lifetime))
        request.headers[try #require(HTTPField.Name("Idempotency-Key"))] = "mine"
        let connection = engine.start(request)
        await isThere.wait()
        let sentAt = fixture.clock.date
        connection.pause()
        fixture.clock.advance(by: .seconds(pause.seconds))
        let queue = try engine.queue()
        fixture.serve { _ in
            let job = (try? queue.jobs())?.first
            whenSentAgain.withLock { $0 = job?.unknownSince }
            return .stub(status: 201)
        }
        connection.resume()
        let outcome = await Task { try await connection.response }.result
        let job = try #require(try engine.queue().jobs().first)
        let isSentAgain = pause.reason == .finished
        switch outcome {
        case .success(let response): #expect(response.status == .created && isSentAgain)
        case .failure(let error as ConnectionError):
            #expect(error.code == .queued && error.jobID == job.id && !isSentAgain)
        case .failure(let error): Issue.record(error)
        }
        #expect(job.state == (isSentAgain ? .done : .needsReview) && job.reason == pause.reason)
        #expect(job.unknownSince == sentAt && whenSentAgain.withLock { $0 } == (isSentAgain ? sentAt : nil))
        #expect(fixture.transport.requests.count == (isSentAgain ? 2 : 1))
    }

    @Test(arguments: [false, true])
    func `a durable DELETE that a pause has interrupted is completed by a 404`(
        isCutOff: Bool
    ) async throws {
        let isThere = Gate()
        fixture.serve(ReplayFixture.silence(isThere, isSent: true))
        let engine = fixture.engine()
        var request = Request("http://api.test/notes/1", method: .delete)
        request.replay = .durable
        let connection = engine.connection(for: request)
        if isCutOff {
            engine.start(connection)
            await isThere.wait()
            connection.pause()
        }
        fixture.serve { _ in .stub(status: 404) }
        if isCutOff { connection.resume() }
        #expect(try await connection.response.status == .notFound)
        #expect(try engine.queue().jobs().map(\.reason) == [isCutOff ? .gone : .refused])
    }

    /// When the pause begins, and whether the first response is lost.
    static let moments: [(mode: ReplayPolicy.Mode, verb: ReplayTransition.Verb, isLost: Bool)] = [
        (.onFailure, .enqueue, true), (.durable, .enqueue, false), (.durable, .finish, false), (.durable, .fail, true),
    ]

    @Test(arguments: moments)
    func `a pause while a job is written repeats no request, and creates no second job`(
        _ moment: (mode: ReplayPolicy.Mode, verb: ReplayTransition.Verb, isLost: Bool)
    ) async throws {
        let engine = fixture.engine()
        let (answers, pauses) = (Guarded(0), Guarded(0))
        fixture.serve { _ throws(TransportError) in
            let isFirst = answers.withLock {
                $0 += 1; return $0 == 1
            }
            guard moment.isLost, isFirst else { return .stub(status: 200) }
            throw TransportError(.connectionLost, "lost", serverMayHaveActed: true)
        }
        let connection = engine.connection(for: fixture.note(ReplayPolicy(moment.mode), method: .put))
        let observation = engine.activity.observe { event in
            guard case .job(let transition) = event, transition.verb == moment.verb else { return }
            let isFirst = pauses.withLock {
                $0 += 1; return $0 == 1
            }
            guard isFirst else { return }
            connection.pause()
            connection.resume()
        }
        engine.start(connection)
        let outcome = await Task { try await connection.response }.result
        withExtendedLifetime(observation) {}
        switch outcome {
        case .success(let response): #expect(response.status == .ok && !moment.isLost)
        case .failure(let error): #expect((error as? ConnectionError)?.code == .queued && moment.isLost)
        }
        await untilTrue { connection.isFinished }
        #expect(try engine.queue().jobs().map(\.state) == [moment.isLost ? .waiting : .done])
        #expect(fixture.transport.requests.count == 1 && pauses.withLock { $0 } == 1)
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `a request paused between two attempts that were not sent is sent again`(
        mode: ReplayPolicy.Mode
    ) async throws {
        let engine = fixture.engine { $0.draw = { 0.5 } }
        fixture.serve(ReplayFixture.refused)
        var request = fixture.note(ReplayPolicy(mode, keyLifetime: nil))
        request.retry = .default
        let connection = engine.start(request)
        // The reader of holds sleeps for a second by the same clock.
        let isWaiting = { @Sendable [fixture] in fixture.clock.sleeping.first.map { $0 < .seconds(1) } ?? false }
        await untilTrue { isWaiting() }
        connection.pause()
        fixture.clock.advance(by: .seconds(2))
        await untilTrue { connection.core.withLock { $0.run == nil } }
        #expect(connection.isPaused && fixture.transport.requests.count == 1)
        connection.resume()
        await untilTrue { [fixture] in
            if isWaiting() { fixture.clock.advance(by: .seconds(2)) }
            return connection.isFinished
        }
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        let id = try #require(error?.jobID)
        let job = try engine.queue().job(id)
        #expect(job?.state == .waiting && job?.unknownSince == nil)
    }
}
