import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// App code waits at a gate that cancellation does not open.
@Suite("App code that does not return", .limit(minutes: 5)) struct HookDeadlineTests {
    /// Where the app code is called.
    enum HookPlace: CaseIterable { case adapt, adaptAlone, identity, identityOfStream, identityOfKept, secret, prepare }

    /// Counts calls that have begun and returned.
    private struct HookGate: Sendable {
        let gate = Gate()
        let entered = Guarded(0)
        let left = Guarded(0)

        func pass() async {
            entered.withLock { $0 += 1 }
            await gate.wait()
            left.withLock { $0 += 1 }
        }
    }

    private struct HeldInterceptor: Interceptor {
        let hold: HookGate
        /// The attempt that waits at the gate, for requests whose URL has this suffix.
        var attempt = 1
        var suffix = ""
        /// The number of errors that were to be reported to callers.
        let errors = Guarded(0)

        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            if attempt == self.attempt, request.url.hasSuffix(suffix) { await hold.pass() }
        }
        func transform(_ error: inout ConnectionError) async { errors.withLock { $0 += 1 } }
    }

    private struct HeldProvider: RefreshableCredentialProvider {
        let hold: HookGate
        let isHeldForIdentity: Bool
        /// The first secrets are returned at once.
        var known = Guarded(0)

        func identity(for request: Request) async throws -> String? {
            if isHeldForIdentity { await hold.pass() }
            return "anna"
        }
        func secret(_ name: String, for identity: String?) async throws -> String? {
            let isKnown = known.withLock { known in
                known -= 1
                return known >= 0
            }
            if !isKnown { await hold.pass() }
            return "t"
        }
        func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {}
    }

    private final class HeldConnection: Connection, @unchecked Sendable {
        var hold: HookGate?

        override func prepare(_ request: inout Request) async throws { await hold?.pass() }
    }

    private let temporary = TemporaryStore()
    private let clock = TestClock()
    private let hold = HookGate()

    private func engine(
        _ transport: StubTransport,
        _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        (configuration.transport, configuration.clock, configuration.width) = (transport, clock, 1)
        configuration.retry = RetryPolicy(deadline: .seconds(10))
        // No wait between attempts.
        configuration.draw = { 0 }
        change(&configuration)
        return Engine(configuration)
    }

    private func engine(
        _ transport: StubTransport,
        heldAt place: HookPlace,
        _ signer: HeldInterceptor,
        isLimited: Bool = true
    ) -> Engine {
        engine(transport) { configuration in
            if !isLimited { configuration.retry = .default }
            switch place {
            case .adapt, .adaptAlone: break
            case .identity, .identityOfStream, .identityOfKept:
                configuration.credentials = HeldProvider(hold: hold, isHeldForIdentity: true)
            case .secret: configuration.credentials = HeldProvider(hold: hold, isHeldForIdentity: false)
            case .prepare: break
            }
            configuration.interceptors = [signer]
        }
    }

    private func signer(heldAt place: HookPlace) -> HeldInterceptor {
        // No attempt waits at the gate if another call does.
        HeldInterceptor(hold: hold, attempt: place == .adapt || place == .adaptAlone ? 1 : 0)
    }

    private func status(from engine: Engine, heldAt place: HookPlace) async throws -> Int {
        var request = Request("http://h/")
        switch place {
        case .adapt, .identity: break
        case .adaptAlone: request.cache = .noStore
        case .identityOfStream: return try await engine.stream(request, sharing: true).status.code
        case .identityOfKept: request.replay = .onFailure
        case .secret:
            request.credentials = [.bearer(.secret("token"))]
            request.identity = "anna"
        case .prepare:
            let connection = HeldConnection(request)
            connection.hold = hold
            engine.start(connection)
            return try await connection.response.status.code
        }
        return try await engine.send(request).status.code
    }

    private func code(of task: Task<Int, any Error>) async -> ConnectionError.Code? {
        guard case .failure(let error) = await task.result else { return nil }
        return (error as? ConnectionError)?.code
    }

    /// Whether no trace of a request is left.
    private func settled(_ engine: Engine) async {
        await untilTrue { engine.lanes.running == 0 && engine.lanes.waiting == 0 && engine.activity.counts.isIdle }
    }

    @Test(arguments: HookPlace.allCases) func `app code is not waited for after the deadline`(place: HookPlace)
        async throws
    {
        let (transport, signer) = (StubTransport(), signer(heldAt: place))
        let engine = engine(transport, heldAt: place, signer)
        let recorder = ActivityRecorder(engine.activity)
        let task = Task { try await status(from: engine, heldAt: place) }
        await untilTrue { [clock] in clock.limits == [.seconds(10)] }
        await untilTrue { [hold] in hold.entered.withLock { $0 } == 1 }
        clock.advance(by: .seconds(10))
        #expect(await code(of: task) == .timedOut)
        #expect(transport.requests.isEmpty && hold.left.withLock { $0 } == 0)
        await settled(engine)
        let told = signer.errors.withLock { $0 }
        #expect(told <= 1)
        // The late result of the app code reaches no caller.
        hold.gate.open()
        await untilTrue { [hold] in hold.left.withLock { $0 } == 1 }
        #expect(try await status(from: engine, heldAt: place) == 200)
        #expect(transport.requests.count == 1 && signer.errors.withLock { $0 } == told)
        await untilTrue { [clock] in clock.limits.isEmpty && recorder.isBalanced }
        await engine.close()
    }

    @Test(arguments: [HookPlace.adapt, .adaptAlone, .identity, .secret, .prepare], [true, false])
    func `app code is not waited for after a cancel, with or without a deadline`(
        place: HookPlace,
        isLimited: Bool
    ) async throws {
        let transport = StubTransport()
        let engine = engine(transport, heldAt: place, signer(heldAt: place), isLimited: isLimited)
        let task = Task { try await status(from: engine, heldAt: place) }
        await untilTrue { [clock, hold] in
            clock.limits.count == (isLimited ? 1 : 0) && hold.entered.withLock { $0 } == 1
        }
        task.cancel()
        #expect(await code(of: task) == .cancelled)
        await settled(engine)
        #expect(transport.requests.isEmpty && hold.left.withLock { $0 } == 0)
        await untilTrue { [clock] in clock.limits.isEmpty }
        hold.gate.open()
    }

    @Test(arguments: [HookPlace.adapt, .adaptAlone, .identity, .secret])
    func `app code is not waited for after the engine is closed`(place: HookPlace) async throws {
        let transport = StubTransport()
        let engine = engine(transport, heldAt: place, signer(heldAt: place), isLimited: false)
        let task = Task { try await status(from: engine, heldAt: place) }
        await untilTrue { [hold] in hold.entered.withLock { $0 } == 1 }
        await engine.close()
        hold.gate.open()
        #expect(await code(of: task) == .noEngine)
        #expect(transport.requests.isEmpty)
        await settled(engine)
    }

    @Test(arguments: [HookPlace.adapt, .adaptAlone])
    func `app code is not called where the engine was closed before`(place: HookPlace) async throws {
        let transport = StubTransport()
        let engine = engine(transport, heldAt: place, signer(heldAt: place), isLimited: false)
        engine.lanes.pauseAll()
        let task = Task { try await status(from: engine, heldAt: place) }
        await untilTrue { engine.lanes.waiting == 1 }
        await engine.close()
        hold.gate.open()
        #expect(await code(of: task) == .noEngine)
        #expect(transport.requests.isEmpty && hold.entered.withLock { $0 } == 0)
    }

    /// Ten seconds for requests that are adapted.
    static let policies = [
        RetryPolicy(deadline: .seconds(10)), RetryPolicy(attemptTimeout: .seconds(10)),
        RetryPolicy(attemptTimeout: .seconds(10), deadline: .seconds(60)),
    ]

    @Test(arguments: policies) func `an interceptor that adapts is also bound by its attempt's time`(
        policy: RetryPolicy
    ) async throws {
        let transport = StubTransport()
        let engine = engine(transport) { ($0.interceptors, $0.retry) = ([HeldInterceptor(hold: hold)], policy) }
        let task = Task { try await engine.send(Request("http://h/")) }
        await untilTrue { [clock, hold] in
            clock.limits == [.seconds(10)] && hold.entered.withLock { $0 } == 1
        }
        clock.advance(by: .seconds(10))
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(error?.code == .timedOut && transport.requests.isEmpty && hold.left.withLock { $0 } == 0)
        await settled(engine)
        hold.gate.open()
        #expect(try await engine.send(Request("http://h/")).status == .ok)
    }

    /// Takes a set time to adapt a request.
    private struct SlowSigner: Interceptor {
        let clock: TestClock
        var time = Duration.seconds(4)

        func adapt(_ request: inout TransportRequest, attempt: Int) async throws { clock.advance(by: time) }
    }

    @Test(arguments: [false, true])
    func `an interceptor that returns late leaves less of its attempt's time`(isStreamed: Bool) async throws {
        let transport = StubTransport.silent()
        let engine = engine(transport) { configuration in
            configuration.interceptors = [SlowSigner(clock: clock)]
            configuration.retry = RetryPolicy(attempts: 1, attemptTimeout: .seconds(10))
        }
        let request = Request("http://h/")
        let task = Task {
            if isStreamed { try await engine.stream(request).status } else { try await engine.send(request).status }
        }
        await untilTrue { [clock] in transport.requests.count == 1 && clock.limits == [.seconds(6)] }
        clock.advance(by: .seconds(6))
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(error?.code == .timedOut && error?.message.contains("10000 ms") == true)
        await settled(engine)
    }

    @Test(arguments: policies) func `an interceptor that returns after its attempt's time sends nothing`(
        policy: RetryPolicy
    ) async throws {
        let transport = StubTransport()
        // The interceptor does not suspend, so that no other code notices how late it is.
        let engine = engine(transport) {
            ($0.interceptors, $0.retry) = ([SlowSigner(clock: clock, time: .seconds(10))], policy)
        }
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(Request("http://h/")) }
        #expect(error?.code == .timedOut && transport.requests.isEmpty)
        await settled(engine)
    }

    /// Returns a transport that gives a 503, or that fails to connect if nothing is to be sent.
    private func failing(isSent: Bool) -> StubTransport {
        StubTransport { _ throws(TransportError) in
            if !isSent { throw TransportError(.cannotConnect, "refused") }
            return .stub(status: 503)
        }
    }

    @Test(arguments: [true, false])
    func `the error of an interceptor that returns too late says whether an attempt may have been sent`(
        isSent: Bool
    ) async throws {
        let transport = failing(isSent: isSent)
        let engine = engine(transport) { $0.interceptors = [SlowSigner(clock: clock)] }
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(Request("http://h/")) }
        #expect(error?.code == .timedOut && transport.requests.count == 2)
        #expect((error?.cause as? TransportError)?.serverMayHaveActed == isSent)
        await settled(engine)
    }

    @Test(arguments: policies, [true, false])
    func `a retry whose interceptor does not return times out, with the attempts before it in the error`(
        policy: RetryPolicy,
        isSent: Bool
    ) async throws {
        let transport = failing(isSent: isSent)
        let engine = engine(transport) {
            ($0.interceptors, $0.retry) = ([HeldInterceptor(hold: hold, attempt: 2)], policy)
        }
        let task = Task { try await engine.send(Request("http://h/")) }
        await untilTrue { [clock, hold] in
            clock.limits == [.seconds(10)] && hold.entered.withLock { $0 } == 1
        }
        clock.advance(by: .seconds(10))
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(error?.code == .timedOut && error?.attempts.map(\.reason?.code) == [isSent ? .status : .unprocessed])
        #expect((error?.cause as? TransportError)?.serverMayHaveActed == isSent)
        #expect(transport.requests.count == 1)
        hold.gate.open()
        await settled(engine)
    }

    @Test func `an interceptor after a redirect has the time that is left`() async throws {
        let transport = StubTransport { [clock] request throws(TransportError) in
            guard request.url.hasSuffix("/start") else { return .stub() }
            clock.advance(by: .seconds(4))
            return .stub(status: 307, headers: [.location: "/end"])
        }
        let provider = HeldProvider(hold: hold, isHeldForIdentity: false, known: Guarded(1))
        let engine = engine(transport) { $0.credentials = provider }
        var request = Request("http://h/start")
        request.identity = "anna"
        request.credentials = [.header(.authorization, .secret("token"))]
        let task = Task { [request] in try await engine.send(request) }
        await untilTrue { [clock, hold] in
            clock.limits == [.seconds(6)] && hold.entered.withLock { $0 } == 1
        }
        clock.advance(by: .seconds(6))
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(error?.code == .timedOut && transport.requests.count == 1)
        hold.gate.open()
        await settled(engine)
    }

    @Test(arguments: policies)
    func `an interceptor after a redirect does not mark an earlier hop as unsent`(policy: RetryPolicy) async throws {
        let transport = StubTransport(status: 303, headers: [.location: "/end"])
        let engine = engine(transport) {
            ($0.interceptors, $0.retry) = ([HeldInterceptor(hold: hold, suffix: "/end")], policy)
        }
        var request = Request("http://h/start", method: .post)
        request.replay = ReplayPolicy(.onFailure, keyLifetime: nil)
        let task = Task { [request] in try await engine.send(request) }
        await untilTrue { [clock, hold] in
            clock.limits == [.seconds(10)] && hold.entered.withLock { $0 } == 1
        }
        clock.advance(by: .seconds(10))
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        let id = try #require(error?.jobID)
        #expect(try engine.queue().job(id)?.state == .needsReview && transport.requests.map(\.method) == [.post])
        hold.gate.open()
        await settled(engine)
    }

    @Test func `a credential provider that does not return after a 401 makes the 401 the response`() async throws {
        let transport = StubTransport(status: 401)
        let provider = HeldProvider(hold: hold, isHeldForIdentity: false, known: Guarded(1))
        let engine = engine(transport) { $0.credentials = provider }
        var request = Request("http://h/")
        request.identity = "anna"
        request.credentials = [.header(.authorization, .secret("token"))]
        let task = Task { [request] in try await engine.send(request) }
        await untilTrue { [clock, hold] in
            clock.limits == [.seconds(10), .seconds(10)] && hold.entered.withLock { $0 } == 1
        }
        clock.advance(by: .seconds(10))
        let response = try await task.value
        #expect(response.status == .unauthorized && response.attempts.map(\.reason?.code) == [.outOfTime])
        #expect(transport.requests.count == 1)
        hold.gate.open()
        await settled(engine)
    }
}

extension TestClock {
    /// The durations of the sleeping tasks, without the task that polls for holds every second. It polls if the system
    /// allows no further file observers, because many tests run at the same time.
    fileprivate var limits: [Duration] { sleeping.filter { $0 != .seconds(1) } }
}
