import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// What surely was not processed, and what may have been.
@Suite(.timeLimit(.minutes(5))) struct UnprocessedReplayTests {
    let fixture = ReplayFixture()

    @Test func `what no attempt has brought to the server is innocent, however often it was tried`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine {
            $0.retry = RetryPolicy(attempts: 3, baseDelay: .zero, window: nil)
            $0.clock = ContinuousClock()
        }
        let policy = ReplayPolicy(.durable, keyLifetime: nil)
        let error = try await fixture.queued(fixture.note(policy), by: engine)
        #expect(fixture.transport.requests.count > 1)
        let job = try engine.queue().jobs()[0]
        #expect(job.id == error.jobID && job.state == .waiting && job.unknownSince == nil)
    }

    /// Answers nothing until it is canceled.
    private func hang(until isThere: Gate, isSent: Bool) {
        fixture.serve(ReplayFixture.silence(isThere, isSent: isSent))
    }

    private func untilGivenBack(_ queue: ReplayQueue) async {
        await untilTrue { (try? queue.jobs().map(\.state)) != [.running] }
    }

    @Test(arguments: [false, true], [Duration.seconds(3_600), nil])
    func `what its replayer's end cuts off is innocent where it has not left`(isSent: Bool, lifetime: Duration?)
        async throws
    {
        let isThere = Gate()
        hang(until: isThere, isSent: isSent)
        let engine = fixture.engine()
        let (queue, replayer) = (try engine.queue(), try engine.replayer())
        let id = try #require(try await queue.enqueue(fixture.note(ReplayPolicy(.durable, keyLifetime: lifetime))))
        let run = Task { await replayer.run() }
        await isThere.wait()
        run.cancel()
        _ = await run.value
        let job = try queue.job(id)
        #expect(job?.state == (isSent && lifetime == nil ? .needsReview : .ready))
        #expect((job?.unknownSince != nil) == isSent && job?.attempts == 0)
    }

    @Test(arguments: [false, true])
    func `what the caller of a durable request cuts off is innocent where it has not left`(isSent: Bool) async throws {
        let isThere = Gate()
        hang(until: isThere, isSent: isSent)
        let engine = fixture.engine()
        let request = fixture.note(ReplayPolicy(.durable, keyLifetime: nil))
        let caller = Task { try await engine.send(request) }
        await isThere.wait()
        caller.cancel()
        _ = await caller.result
        let queue = try engine.queue()
        await untilGivenBack(queue)
        let job = try queue.job(1)
        #expect(job?.state == (isSent ? .needsReview : .ready) && (job?.unknownSince != nil) == isSent)
    }

    @Test(arguments: [false, true])
    func `a durable request that is canceled between its attempts is as innocent as those`(isSent: Bool) async throws {
        fixture.serve { _ throws(TransportError) in
            throw TransportError(.connectionLost, "lost", requestMayHaveBeenSent: isSent)
        }
        let engine = fixture.engine { $0.draw = { 0.5 } }
        var request = fixture.note(ReplayPolicy(.durable, keyLifetime: nil))
        // At once after the first of those that may have been sent.
        request.retry = RetryPolicy(attempts: 3, baseDelay: .seconds(8), retriesUnsafeMethods: true)
        let connection = engine.enqueue(request)
        await untilTrue { if case .waiting = connection.state { true } else { false } }
        connection.cancel()
        let queue = try engine.queue()
        await untilGivenBack(queue)
        let job = try queue.job(1)
        #expect(job?.state == (isSent ? .needsReview : .ready) && (job?.unknownSince != nil) == isSent)
    }

    @Test func `what a pause has cut off may have acted, though what was canceled behind it has not left`()
        async throws
    {
        let (isThere, isThereAgain) = (Gate(), Gate())
        hang(until: isThere, isSent: true)
        let engine = fixture.engine()
        var request = fixture.note(ReplayPolicy(.durable, keyLifetime: nil))
        // Else a pause would not cut it off.
        request.retry = RetryPolicy(attempts: 1, retriesUnsafeMethods: true)
        let connection = engine.enqueue(request)
        await isThere.wait()
        connection.pause()
        hang(until: isThereAgain, isSent: false)
        connection.resume()
        await isThereAgain.wait()
        connection.cancel()
        let queue = try engine.queue()
        await untilGivenBack(queue)
        #expect(try queue.jobs().map(\.state) == [.needsReview])
    }

    @Test(arguments: [false, true])
    func `a durable request that closing the queue cuts off is innocent where it has not left`(isSent: Bool)
        async throws
    {
        let isThere = Gate()
        hang(until: isThere, isSent: isSent)
        let engine = fixture.engine()
        let request = fixture.note(ReplayPolicy(.durable, keyLifetime: nil))
        let sending = Task { try await engine.send(request) }
        await isThere.wait()
        let queue = try engine.queue()
        await queue.close()
        let job = try queue.job(1)
        #expect(job?.state == (isSent ? .needsReview : .ready) && (job?.unknownSince != nil) == isSent)
        sending.cancel()
        _ = await sending.result
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `what a server asks to be sent again waits as long as it says, without a key too`(mode: ReplayPolicy.Mode)
        async throws
    {
        fixture.serve { _ in .stub(status: 503, headers: [.retryAfter: "30"]) }
        let engine = fixture.engine()
        let request = fixture.note(ReplayPolicy(mode, keyLifetime: nil))
        _ = try await fixture.queued(request, by: engine)
        let job = try engine.queue().jobs()[0]
        #expect(job.state == .waiting && job.reason == .retryAfter && job.unknownSince == nil)
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure], [TransportError.Code.timedOut, .connectionLost])
    func `what has not left waits, whatever it failed with`(mode: ReplayPolicy.Mode, code: TransportError.Code)
        async throws
    {
        fixture.serve { _ throws(TransportError) in throw TransportError(code, "nothing was sent") }
        let engine = fixture.engine()
        let request = fixture.note(ReplayPolicy(mode, keyLifetime: nil))
        _ = try await fixture.queued(request, by: engine)
        let job = try engine.queue().jobs()[0]
        #expect(job.state == .waiting && job.reason == .backoff && job.unknownSince == nil)
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `what breaks in the midst of a redirect has left, whatever the transport says`(mode: ReplayPolicy.Mode)
        async throws
    {
        fixture.serve { _ in
            let pieces = AsyncThrowingStream<Data, any Error> { continuation in
                continuation.finish(throwing: TransportError(.connectionLost, "lost"))
            }
            return TransportResponse(
                status: .temporaryRedirect, headers: [.location: "/elsewhere"], body: BodyStream(pieces))
        }
        let engine = fixture.engine()
        let request = fixture.note(ReplayPolicy(mode, keyLifetime: nil))
        let error = try await fixture.queued(request, by: engine)
        let id = try #require(error.jobID)
        #expect(try engine.queue().job(id)?.state == .needsReview)
    }

    /// Has asked another engine for something, which has kept that.
    private struct QueuedElsewhere: Interceptor {
        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            var error = ConnectionError(.queued, "kept elsewhere")
            error.jobID = 1
            throw error
        }
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `what another request is queued for is kept itself`(mode: ReplayPolicy.Mode) async throws {
        let engine = fixture.engine { $0.interceptors = [QueuedElsewhere()] }
        let request = fixture.note(ReplayPolicy(mode, keyLifetime: nil))
        let error = try await fixture.queued(request, by: engine)
        let job = try engine.queue().job(try #require(error.jobID))
        #expect(job?.state == .waiting && job?.reason == .backoff && job?.unknownSince == nil)
        #expect(fixture.transport.requests.isEmpty)
    }

    /// Has nothing to sign a second attempt with.
    private struct SignedOnce: Interceptor {
        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            if attempt > 1 { throw CocoaError(.fileReadNoPermission) }
        }
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `an attempt that fails before it leaves makes those before no less innocent`(mode: ReplayPolicy.Mode)
        async throws
    {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine {
            $0.interceptors = [SignedOnce()]
            $0.clock = ContinuousClock()
        }
        var request = fixture.note(ReplayPolicy(mode, keyLifetime: nil))
        request.retry = RetryPolicy(attempts: 3, baseDelay: .zero, window: nil)
        let error = try await fixture.queued(request, by: engine)
        let job = try engine.queue().job(try #require(error.jobID))
        #expect(job?.state == .waiting && job?.reason == .backoff && job?.unknownSince == nil)
        #expect(fixture.transport.requests.count == 1)
    }

    /// What it makes anew is the same.
    private struct Renewing: RefreshableCredentialProvider {
        func identity(for request: Request) async throws -> String? { "anna" }
        func secret(_ name: String, for identity: String?) async throws -> String? { "token" }
        func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {}
    }

    @Test(arguments: [true, false])
    func `an attempt with a newer credential counts alone`(isReachable: Bool) async throws {
        let isFirst = Guarded(true)
        fixture.serve { _ throws(TransportError) in
            let wasFirst = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if wasFirst { return .stub(status: 401) }
            throw TransportError(.cannotConnect, "refused")
        }
        let engine = fixture.engine {
            ($0.credentials, $0.reachability) = (Renewing(), FakeNetwork(isReachable: isReachable))
        }
        var request = fixture.note(ReplayPolicy(.onFailure, keyLifetime: nil))
        request.credentials = [.bearer(.secret("api"))]
        let queue = try engine.queue()
        let id = try #require(try await queue.enqueue(request))
        try await engine.replayer().replay()
        #expect(fixture.transport.requests.count == 2)
        let job = try queue.job(id)
        #expect(job?.state == .waiting && job?.reason == (isReachable ? .backoff : .offline))
        #expect(job?.attempts == (isReachable ? 1 : 0) && job?.unknownSince == nil)
    }

    @Test func `a job whose newer credential cannot be signed was not processed by the server that refused the first`()
        async throws
    {
        fixture.serve { _ in .stub(status: 401) }
        let engine = fixture.engine {
            $0.credentials = Renewing()
            $0.interceptors = [SignedOnce()]
        }
        var request = fixture.note(ReplayPolicy(.durable, keyLifetime: nil))
        request.credentials = [.bearer(.secret("api"))]
        let queue = try engine.queue()
        let id = try #require(try await queue.enqueue(request))
        try await engine.replayer().replay()
        #expect(fixture.transport.requests.count == 1)
        let job = try queue.job(id)
        #expect(job?.state == .waiting && job?.reason == .backoff && job?.unknownSince == nil)
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `an attempt that a circuit refuses has not left`(mode: ReplayPolicy.Mode) async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine {
            $0.circuit = CircuitPolicy(minimumCalls: 2, openTime: .seconds(60))
            $0.draw = { 0.5 }
        }
        var request = fixture.note(ReplayPolicy(mode, keyLifetime: nil))
        request.retry = RetryPolicy(attempts: 2, baseDelay: .seconds(8))
        let connection = engine.enqueue(request)
        await untilTrue { [fixture] in fixture.clock.sleeping.contains(.seconds(4)) }
        // It opens the circuit.
        _ = try? await engine.send(Request("http://api.test/"))
        fixture.clock.advance(by: .seconds(4))
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(error?.code == .queued && fixture.transport.requests.count == 2)
        let job = try engine.queue().jobs()[0]
        #expect(job.state == .waiting && job.unknownSince == nil)
    }

    @Test func `a job that may not leave after all is not what a server is tried again with`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine { $0.circuit = CircuitPolicy(minimumCalls: 1, openTime: .seconds(5)) }
        _ = try? await engine.send(Request("http://api.test/"))
        fixture.clock.advance(by: .seconds(5))
        fixture.serve { _ in .stub() }
        // Nobody has claimed it.
        let job = ReplayTable.Claimed(id: 1, token: 1, request: Data())
        let attempt = JobAttempt(of: .job(job), fixture.note(.durable), isReplay: true, in: try engine.queue())
        _ = await JobSender(pipeline: engine.pipeline).replay(attempt)
        #expect(fixture.transport.requests.count == 1)
        #expect(try await engine.send(Request("http://api.test/")).status == .ok)
    }
}
