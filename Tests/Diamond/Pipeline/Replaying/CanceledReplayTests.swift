import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Queued requests that are canceled", .limit(minutes: 5)) struct CanceledReplayTests {
    let fixture = ReplayFixture()

    /// The state of the connection when it is canceled.
    enum Canceled: CaseIterable { case onTheWire, paused, calledBack, sentInSerialLane }

    @Test(arguments: Canceled.allCases)
    func `a caller that cancels a durable request receives its job, and can discard it`(canceled: Canceled) async throws
    {
        let isThere = Gate()
        fixture.serve(ReplayFixture.silence(isThere))
        let engine = fixture.engine { $0.lanes = ["api": .serial] }
        var request = fixture.note(.durable, method: .put)
        let error: ConnectionError?
        switch canceled {
        case .onTheWire, .paused, .calledBack:
            let told = Guarded<ConnectionError?>(nil)
            let connection =
                canceled == .calledBack
                ? engine.send(request) { result in
                    if case .failure(let error) = result { told.withLock { $0 = error } }
                } : engine.start(request)
            await isThere.wait()
            if canceled == .paused { connection.pause() }
            connection.cancel()
            let thrown = await #expect(throws: ConnectionError.self) { try await connection.response }
            if canceled == .calledBack { await untilTrue { told.withLock { $0 } != nil } }
            error = canceled == .calledBack ? told.withLock { $0 } : thrown
        case .sentInSerialLane:
            request.lane = "api"
            let caller = Task { [request] in try await engine.send(request) }
            await isThere.wait()
            caller.cancel()
            error = await #expect(throws: ConnectionError.self) { try await caller.value }
        }
        #expect(error?.code == .cancelled)
        let (queue, id) = (try engine.queue(), try #require(error?.jobID))
        await untilTrue { (try? queue.job(id)?.state) == .ready }
        try await queue.discard(id)
        #expect(try await engine.replayer().replay() == Replayer.Summary())
        #expect(fixture.transport.requests.count == 1)
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `a caller that cancels while the job is created receives the job`(mode: ReplayPolicy.Mode) async throws {
        fixture.serve(ReplayFixture.lost)
        let engine = fixture.engine()
        let connection = engine.connection(for: fixture.note(ReplayPolicy(mode), method: .put))
        let observation = engine.activity.observe { event in
            if case .job(let transition) = event, transition.verb == .enqueue { connection.cancel() }
        }
        engine.start(connection)
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        withExtendedLifetime(observation) {}
        #expect(error?.code == .cancelled)
        #expect(try engine.queue().jobs().map(\.id) == [try #require(error?.jobID)])
    }

    /// Runs a closure before it returns the identity.
    private struct DelayedIdentityProvider: CredentialProvider {
        let act: @Sendable () -> Void

        func identity(for request: Request) async throws -> String? {
            act()
            return "anna"
        }

        func secret(_ name: String, for identity: String?) async throws -> String? { nil }
    }

    @Test func `a request canceled before its job is created creates none`() async throws {
        let connection = Connection(fixture.note(.durable))
        let engine = fixture.engine { $0.credentials = DelayedIdentityProvider { connection.cancel() } }
        engine.start(connection)
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(error?.code == .cancelled && error?.jobID == nil)
        await untilTrue { connection.isFinished }
        #expect(try engine.queue().jobs().isEmpty && fixture.transport.requests.isEmpty)
    }

    @Test func `a durable connection that is canceled after its answer arrived is completed`() async throws {
        let engine = fixture.engine()
        let connection = engine.connection(for: fixture.note(.durable))
        fixture.serve { _ in
            connection.cancel()
            return .stub(status: 201)
        }
        engine.start(connection)
        await untilTrue { connection.isFinished }
        #expect(try engine.queue().jobs().map(\.state) == [.done])
    }

    /// Throws as though its task were canceled.
    private struct CancelingInterceptor: Interceptor {
        func transform(_ response: inout Response) async throws { throw CancellationError() }
    }

    @Test(arguments: [201, 503])
    func `a response that has arrived decides the job when its caller is canceled in the transform`(status: Int)
        async throws
    {
        fixture.serve { _ in .stub(status: status) }
        let engine = fixture.engine { $0.interceptors = [CancelingInterceptor()] }
        let request = fixture.note(.durable)
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(request) }
        #expect(error?.code == .cancelled)
        let job = try engine.queue().job(try #require(error?.jobID))
        #expect(job?.state == (status == 201 ? .done : .waiting) && job?.status == status)
    }
}
