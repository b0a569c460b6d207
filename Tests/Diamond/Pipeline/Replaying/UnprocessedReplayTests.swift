import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Requests that were certainly not processed, and requests that may have been.
@Suite("Requests that were not processed, or may have been", .limit(minutes: 5)) struct UnprocessedReplayTests {
    let fixture = ReplayFixture()

    @Test func `a request that reached no server is unprocessed, however often it was tried`() async throws {
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

    /// Serves no response until the request is canceled.
    private func hang(until isThere: Gate, isSent: Bool) {
        fixture.serve(ReplayFixture.silence(isThere, isSent: isSent))
    }

    private func untilGivenBack(_ queue: ReplayQueue) async {
        await untilTrue { (try? queue.jobs().map(\.state)) != [.running] }
    }

    @Test(arguments: [false, true], [Duration.seconds(3_600), nil])
    func `an unsent request that its replayer's end interrupts is unprocessed`(isSent: Bool, lifetime: Duration?)
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
    func `an unsent durable request whose caller cancels it is unprocessed`(isSent: Bool) async throws {
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
    func `a durable request canceled between attempts is unprocessed if none was sent`(isSent: Bool) async throws {
        fixture.serve { _ throws(TransportError) in
            throw TransportError(.connectionLost, "lost", serverMayHaveActed: isSent)
        }
        let engine = fixture.engine { $0.draw = { 0.5 } }
        var request = fixture.note(ReplayPolicy(.durable, keyLifetime: nil))
        // A first attempt that may have been sent is retried at once.
        request.retry = RetryPolicy(attempts: 3, baseDelay: .seconds(8), retriesUnsafeMethods: true)
        let connection = engine.start(request)
        await untilTrue { if case .waiting = connection.state { true } else { false } }
        connection.cancel()
        let queue = try engine.queue()
        await untilGivenBack(queue)
        let job = try queue.job(1)
        #expect(job?.state == (isSent ? .needsReview : .ready) && (job?.unknownSince != nil) == isSent)
    }

    @Test func `a request that a pause interrupted may be processed, though a later attempt was unsent`()
        async throws
    {
        let (isThere, isThereAgain) = (Gate(), Gate())
        hang(until: isThere, isSent: true)
        let engine = fixture.engine()
        var request = fixture.note(ReplayPolicy(.durable, keyLifetime: nil))
        // Otherwise a pause would not interrupt it.
        request.retry = RetryPolicy(attempts: 1, retriesUnsafeMethods: true)
        let connection = engine.start(request)
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
    func `an unsent durable request that the closing of its queue interrupts is unprocessed`(isSent: Bool)
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
    func `a request with a Retry-After waits as long as the server asks, even without a key`(
        mode: ReplayPolicy.Mode
    )
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
    func `an unsent request waits, whatever its error`(mode: ReplayPolicy.Mode, code: TransportError.Code)
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
    func `a request whose redirect breaks counts as sent, whatever the transport says`(mode: ReplayPolicy.Mode)
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

    /// Throws the error of another request, which was queued.
    private struct QueueingInterceptor: Interceptor {
        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            var error = ConnectionError(.queued, "kept elsewhere")
            error.jobID = 1
            throw error
        }
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `a request is queued even if its interceptor has queued another request`(mode: ReplayPolicy.Mode) async throws
    {
        let engine = fixture.engine { $0.interceptors = [QueueingInterceptor()] }
        let request = fixture.note(ReplayPolicy(mode, keyLifetime: nil))
        let error = try await fixture.queued(request, by: engine)
        let job = try engine.queue().job(try #require(error.jobID))
        #expect(job?.state == .waiting && job?.reason == .backoff && job?.unknownSince == nil)
        #expect(fixture.transport.requests.isEmpty)
    }

    /// Fails to sign a second attempt.
    private struct OneTimeSigningInterceptor: Interceptor {
        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            if attempt > 1 { throw CocoaError(.fileReadNoPermission) }
        }
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `an attempt that fails before it is sent leaves the earlier ones unprocessed`(mode: ReplayPolicy.Mode)
        async throws
    {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine {
            $0.interceptors = [OneTimeSigningInterceptor()]
            $0.clock = ContinuousClock()
        }
        var request = fixture.note(ReplayPolicy(mode, keyLifetime: nil))
        request.retry = RetryPolicy(attempts: 3, baseDelay: .zero, window: nil)
        let error = try await fixture.queued(request, by: engine)
        let job = try engine.queue().job(try #require(error.jobID))
        #expect(job?.state == .waiting && job?.reason == .backoff && job?.unknownSince == nil)
        #expect(fixture.transport.requests.count == 1)
    }

    /// Its refreshed token equals the old one.
    private struct UnchangedRefreshProvider: RefreshableCredentialProvider {
        func identity(for request: Request) async throws -> String? { "anna" }
        func secret(_ name: String, for identity: String?) async throws -> String? { "token" }
        func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {}
    }

    @Test(arguments: [true, false])
    func `an unsent attempt with a newer credential leaves the job unprocessed`(isReachable: Bool) async throws {
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
            ($0.credentials, $0.reachability) = (UnchangedRefreshProvider(), StubReachability(isReachable: isReachable))
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

    @Test func `a job that cannot be signed with a newer credential stays unprocessed after a 401`()
        async throws
    {
        fixture.serve { _ in .stub(status: 401) }
        let engine = fixture.engine {
            $0.credentials = UnchangedRefreshProvider()
            $0.interceptors = [OneTimeSigningInterceptor()]
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
    func `an attempt that a circuit breaker refuses was not sent`(mode: ReplayPolicy.Mode) async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine {
            $0.circuit = CircuitPolicy(minimumCalls: 2, openTime: .seconds(60))
            $0.draw = { 0.5 }
        }
        var request = fixture.note(ReplayPolicy(mode, keyLifetime: nil))
        request.retry = RetryPolicy(attempts: 2, baseDelay: .seconds(8))
        let connection = engine.start(request)
        await untilTrue { [fixture] in fixture.clock.sleeping.contains(.seconds(4)) }
        // This opens the circuit.
        _ = try? await engine.send(Request("http://api.test/"))
        fixture.clock.advance(by: .seconds(4))
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(error?.code == .queued && fixture.transport.requests.count == 2)
        let job = try engine.queue().jobs()[0]
        #expect(job.state == .waiting && job.unknownSince == nil)
    }

    @Test func `a job that is not claimed any more does not probe an open circuit breaker`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine { $0.circuit = CircuitPolicy(minimumCalls: 1, openTime: .seconds(5)) }
        _ = try? await engine.send(Request("http://api.test/"))
        fixture.clock.advance(by: .seconds(5))
        fixture.serve { _ in .stub() }
        // The job is not claimed any more.
        let job = ReplayClaim(id: 1, token: 1, request: Data())
        let attempt = JobAttempt(of: .job(job), fixture.note(.durable), isReplay: true, in: try engine.queue())
        _ = await JobSender(pipeline: engine.pipeline).replay(attempt)
        #expect(fixture.transport.requests.count == 1)
        #expect(try await engine.send(Request("http://api.test/")).status == .ok)
    }
}
