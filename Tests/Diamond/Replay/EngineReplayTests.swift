import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// An engine that keeps what it cannot send, and a server that comes and goes.
@Suite(.timeLimit(.minutes(5))) struct EngineReplayTests {
    typealias Answer = StubTransport.Answer

    /// Who is signed in, with a token for each.
    final class Login: CredentialProvider {
        let current = Guarded<String?>(nil)
        /// Whether it cannot say.
        let isLocked = Guarded(false)

        func identity(for request: Request) async throws -> String? {
            guard !isLocked.withLock({ $0 }) else { throw CocoaError(.fileReadNoPermission) }
            return current.withLock { $0 }
        }

        func secret(_ name: String, for identity: String?) async throws -> String? {
            guard let identity, identity == current.withLock({ $0 }) else { return nil }
            return "token-of-\(identity)"
        }
    }

    let temporary = TemporaryStore()
    let clock = TestClock()
    let answer = Guarded<Answer>({ _ in .stub(status: 201, body: #"{"id":1,"text":"a"}"#) })
    let transport: StubTransport

    init() {
        transport = StubTransport { [answer] request throws(TransportError) in
            try await answer.withLock { $0 }(request)
        }
    }

    private func serve(_ answer: @escaping Answer) { self.answer.withLock { $0 = answer } }

    private func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        configuration.now = { [clock] in clock.date }
        configuration.clock = clock
        configuration.uptime = { [clock] in clock.date.milliseconds }
        configuration.retry = .never
        configuration.reachability = FakeNetwork(isReachable: true)
        change(&configuration)
        return Engine(configuration)
    }

    private func note(_ replay: ReplayPolicy, method: HTTPRequest.Method = .post) -> Request {
        var request = Request("http://api.test/notes", method: method, body: .json(["text": "a"]))
        request.replay = replay
        return request
    }

    private static let refused: Answer = { _ throws(TransportError) in
        throw TransportError(.cannotConnect, "refused")
    }
    private static let lost: Answer = { _ throws(TransportError) in
        throw TransportError(.connectionLost, "lost", requestMayHaveBeenSent: true)
    }

    /// Until it is canceled.
    private static func silence(_ isThere: Gate) -> Answer {
        { _ throws(TransportError) in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw TransportError(.cancelled, "canceled", requestMayHaveBeenSent: false)
        }
    }

    private var keys: [String?] {
        transport.requests.map { request in HTTPField.Name("Idempotency-Key").flatMap { request.headers[$0] } }
    }

    private func queued(_ body: () async throws(ConnectionError) -> Void) async throws -> ConnectionError {
        do {
            try await body()
        } catch {
            #expect(error.code == .queued, "\(error)")
            return error
        }
        throw ConnectionError(.other, "it was not queued")
    }

    // MARK: Durable

    @Test func `a durable request is on disk before its first byte leaves`() async throws {
        let engine = engine()
        let store = temporary.store
        serve { request throws(TransportError) in
            let jobs = (try? ReplayQueue(store).jobs()) ?? []
            #expect(jobs.map(\.state) == [.running])
            #expect(jobs.first?.sentAt != nil)
            #expect(jobs.first?.idempotencyKey == HTTPField.Name("Idempotency-Key").flatMap { request.headers[$0] })
            return .stub(status: 201)
        }
        let response = try await engine.send(note(.durable))
        #expect(response.status == .created)
        #expect(try engine.queue().jobs().map(\.state) == [.done])
        #expect(keys.compactMap(\.self).count == 1)
    }

    @Test func `a durable request that fails is replayed with its key by another engine`() async throws {
        serve { _ in .stub(status: 503) }
        let first = engine()
        let error = try await queued { () throws(ConnectionError) in _ = try await first.send(note(.durable)) }
        #expect(error.response?.status == .serviceUnavailable)
        let id = try #require(error.jobID)
        #expect(try first.queue().job(id)?.state == .waiting)
        await first.close()

        serve { _ in .stub(status: 201) }
        clock.advance(by: .seconds(60))
        let second = engine()
        let summary = try await second.replayer().replay()
        #expect(summary.finished == 1)
        #expect(try second.queue().job(id)?.state == .done)
        #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
    }

    @Test func `what no attempt has brought to the server is innocent, however often it was tried`() async throws {
        serve(Self.refused)
        let engine = engine {
            $0.retry = RetryPolicy(attempts: 3, baseDelay: .zero, window: nil)
            $0.clock = ContinuousClock()
        }
        let policy = ReplayPolicy(.durable, keyLifetime: nil)
        let error = try await queued { () throws(ConnectionError) in _ = try await engine.send(note(policy)) }
        #expect(transport.requests.count > 1)
        let job = try engine.queue().jobs()[0]
        #expect(job.id == error.jobID && job.state == .waiting && job.unknownSince == nil)
    }

    @Test func `a durable request of a process that was taken for dead is kept, and sent by the replayer`() async throws
    {
        let engine = engine()
        let queue = try engine.queue()
        _ = try await queue.owner.enter()
        try queue.database.write { (connection) throws(SQLiteError) in try connection.execute("DELETE FROM owner") }
        let error = try await queued { () throws(ConnectionError) in _ = try await engine.send(note(.durable)) }
        let id = try #require(error.jobID)
        #expect(try queue.job(id)?.state == .ready && transport.requests.isEmpty)
        // The next one goes out at once, as another owner's.
        _ = try await engine.send(note(.durable))
        queue.owner.leave()
        #expect(try await engine.replayer().replay().finished == 1)
    }

    @Test func `a durable request that is refused leaves alone the one whose name it wanted`() async throws {
        serve(Self.refused)
        let engine = engine()
        let queue = try engine.queue()
        let old = ReplayPolicy(.durable, orderingKey: "a", unique: "note")
        let error = try await queued { () throws(ConnectionError) in _ = try await engine.send(note(old)) }
        queue.maximumCount = 0
        let new = ReplayPolicy(.durable, orderingKey: "b", unique: "note", uniqueness: .replace)
        await #expect(throws: ConnectionError.self) { try await engine.send(note(new)) }
        #expect(try queue.jobs().map(\.id) == [try #require(error.jobID)])
        #expect(try queue.jobs().map(\.state) == [.waiting])
    }

    @Test func `a durable request behind another of its key waits for its turn`() async throws {
        serve(Self.refused)
        let engine = engine()
        let policy = ReplayPolicy(.durable, orderingKey: "cart")
        let first = try await queued { () throws(ConnectionError) in _ = try await engine.send(note(policy)) }
        let second = try await queued { () throws(ConnectionError) in _ = try await engine.send(note(policy)) }
        #expect(transport.requests.count == 1)
        #expect(first.jobID == 1 && second.jobID == 2)
    }

    @Test func `a durable request whose caller goes away is sent by the replayer`() async throws {
        let isThere = Gate()
        serve { _ throws(TransportError) in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw TransportError(.cancelled, "canceled", requestMayHaveBeenSent: true)
        }
        let engine = engine()
        let caller = Task { try await engine.send(note(.durable)) }
        await isThere.wait()
        caller.cancel()
        _ = await caller.result
        serve { _ in .stub(status: 201) }
        let queue = try engine.queue()
        await untilTrue { (try? queue.jobs().map(\.state)) != [.running] }
        #expect(try await engine.replayer().replay().finished == 1)
        #expect(keys.count == 2 && keys[0] == keys[1])
    }

    @Test func `a durable request on its way when the queue is closed goes back to it, and its caller is told`()
        async throws
    {
        let isThere = Gate()
        serve { _ throws(TransportError) in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw TransportError(.cancelled, "canceled", requestMayHaveBeenSent: true)
        }
        let engine = engine()
        let request = note(.durable)
        let sending = Task { try await engine.send(request) }
        await isThere.wait()
        let queue = try engine.queue()
        await queue.close()
        let job = try #require(try queue.job(1))
        #expect(job.state == .ready && job.attempts == 0 && job.unknownSince != nil)
        // Over by now.
        sending.cancel()
        let error = await #expect(throws: ConnectionError.self) { try await sending.value }
        #expect(error?.code == .queued && error?.jobID == 1)
        serve { _ in .stub(status: 201) }
        #expect(try await self.engine().replayer().replay().finished == 1)
        #expect(keys.count == 2 && keys[0] == keys[1])
    }

    @Test func `a durable attempt ends before its lease does, though the renewal waits for the disk`() async throws {
        let (isThere, hasEnded) = (Gate(), Gate())
        serve { _ throws(TransportError) in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            hasEnded.open()
            throw TransportError(.cancelled, "canceled", requestMayHaveBeenSent: true)
        }
        let engine = engine()
        let request = note(.durable)
        let sending = Task { try await engine.send(request) }
        await isThere.wait()
        let queue = try engine.queue()
        // A write that does not come to its end.
        let (isHeld, mayEnd) = (Gate(), DispatchSemaphore(value: 0))
        Thread {
            try? queue.database.write { (_) throws(SQLiteError) in
                isHeld.open()
                mayEnd.wait()
            }
        }.start()
        await isHeld.wait()
        while !hasEnded.isOpen {
            clock.advance(by: .seconds(1))
            await Task.yield()
        }
        mayEnd.signal()
        let error = await #expect(throws: ConnectionError.self) { try await sending.value }
        #expect(error?.code == .queued && error?.jobID == 1)
    }

    @Test func `a durable request to a queue that is closed is kept, and sent by the next`() async throws {
        let engine = engine()
        let queue = try engine.queue()
        await queue.close()
        let error = try await queued { () throws(ConnectionError) in _ = try await engine.send(note(.durable)) }
        let id = try #require(error.jobID)
        #expect(try queue.job(id)?.state == .ready && transport.requests.isEmpty)
        #expect(try await self.engine().replayer().replay().finished == 1)
    }

    @Test func `a paused durable connection keeps its job, and goes on with its key`() async throws {
        let isThere = Gate()
        serve(Self.silence(isThere))
        let engine = engine()
        let connection = engine.enqueue(note(.durable, method: .put))
        await isThere.wait()
        connection.pause()
        serve { _ in .stub(status: 200) }
        #expect(try engine.queue().jobs().map(\.state) == [.running])
        connection.resume()
        #expect(try await connection.response.status == .ok)
        #expect(try engine.queue().jobs().map(\.state) == [.done])
    }

    /// What comes of it after the pause.
    static let ends: [@Sendable (TransportRequest) async throws(TransportError) -> TransportResponse] = [
        refused, { _ in .stub(status: 429, headers: [.retryAfter: "30"]) }, { _ in .stub(status: 401) },
    ]

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure], ends.indices)
    func `what a pause has cut off may have acted, whatever comes of it afterwards`(
        mode: ReplayPolicy.Mode, end: Int
    ) async throws {
        let isThere = Gate()
        serve(Self.silence(isThere))
        let engine = engine()
        var request = note(ReplayPolicy(mode, keyLifetime: nil))
        request.identity = "anna"
        // Else a pause would not cut it off.
        request.retry = RetryPolicy(attempts: 1, retriesUnsafeMethods: true)
        let connection = engine.enqueue(request)
        await isThere.wait()
        connection.pause()
        serve(Self.ends[end])
        connection.resume()
        let outcome = await Task { try await connection.response }.result
        // Nobody has kept it where nothing can come of that.
        if mode == .onFailure, case .success(let response) = outcome {
            #expect(response.status == .unauthorized && end == 2)
            return
        }
        let jobs = try engine.queue().jobs()
        #expect(jobs.map(\.state) == [.needsReview] && jobs.map(\.reason) == [.outcomeUnknown])
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `what was paused before it has left is sent again`(mode: ReplayPolicy.Mode) async throws {
        let engine = engine()
        serve(Self.refused)
        let connection = Connection(note(ReplayPolicy(mode, keyLifetime: nil)))
        connection.pause()
        engine.enqueue(connection)
        connection.resume()
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        let id = try #require(error?.jobID)
        let job = try engine.queue().job(id)
        #expect(job?.state == .waiting && job?.unknownSince == nil)
    }

    // MARK: What surely was not processed

    /// Answers nothing until it is canceled.
    private func hang(until isThere: Gate, isSent: Bool) {
        serve { _ throws(TransportError) in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw TransportError(.cancelled, "canceled", requestMayHaveBeenSent: isSent)
        }
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
        let engine = engine()
        let (queue, replayer) = (try engine.queue(), try engine.replayer())
        let id = try #require(try await queue.enqueue(note(ReplayPolicy(.durable, keyLifetime: lifetime))))
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
        let engine = engine()
        let request = note(ReplayPolicy(.durable, keyLifetime: nil))
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
        serve { _ throws(TransportError) in
            throw TransportError(.connectionLost, "lost", requestMayHaveBeenSent: isSent)
        }
        let engine = engine { $0.draw = { 0.5 } }
        var request = note(ReplayPolicy(.durable, keyLifetime: nil))
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
        let engine = engine()
        var request = note(ReplayPolicy(.durable, keyLifetime: nil))
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
        let engine = engine()
        let request = note(ReplayPolicy(.durable, keyLifetime: nil))
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
        serve { _ in .stub(status: 503, headers: [.retryAfter: "30"]) }
        let engine = engine()
        let request = note(ReplayPolicy(mode, keyLifetime: nil))
        _ = try await queued { () throws(ConnectionError) in _ = try await engine.send(request) }
        let job = try engine.queue().jobs()[0]
        #expect(job.state == .waiting && job.reason == .retryAfter && job.unknownSince == nil)
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure], [TransportError.Code.timedOut, .connectionLost])
    func `what has not left waits, whatever it failed with`(mode: ReplayPolicy.Mode, code: TransportError.Code)
        async throws
    {
        serve { _ throws(TransportError) in throw TransportError(code, "nothing was sent") }
        let engine = engine()
        let request = note(ReplayPolicy(mode, keyLifetime: nil))
        _ = try await queued { () throws(ConnectionError) in _ = try await engine.send(request) }
        let job = try engine.queue().jobs()[0]
        #expect(job.state == .waiting && job.reason == .backoff && job.unknownSince == nil)
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `what breaks in the midst of an answer has left, whatever the transport says`(mode: ReplayPolicy.Mode)
        async throws
    {
        serve { _ in
            let pieces = AsyncThrowingStream<Data, any Error> { continuation in
                continuation.finish(throwing: TransportError(.connectionLost, "lost"))
            }
            return TransportResponse(status: .created, headers: [:], body: BodyStream(pieces))
        }
        let engine = engine()
        let request = note(ReplayPolicy(mode, keyLifetime: nil))
        let error = try await queued { () throws(ConnectionError) in _ = try await engine.send(request) }
        let id = try #require(error.jobID)
        #expect(try engine.queue().job(id)?.state == .needsReview)
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
        serve { _ throws(TransportError) in
            let wasFirst = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if wasFirst { return .stub(status: 401) }
            throw TransportError(.cannotConnect, "refused")
        }
        let engine = engine {
            ($0.credentials, $0.reachability) = (Renewing(), FakeNetwork(isReachable: isReachable))
        }
        var request = note(ReplayPolicy(.onFailure, keyLifetime: nil))
        request.credentials = [.bearer(.secret("api"))]
        let queue = try engine.queue()
        let id = try #require(try await queue.enqueue(request))
        try await engine.replayer().replay()
        #expect(transport.requests.count == 2)
        let job = try queue.job(id)
        #expect(job?.state == .waiting && job?.reason == (isReachable ? .backoff : .offline))
        #expect(job?.attempts == (isReachable ? 1 : 0) && job?.unknownSince == nil)
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `an attempt that a circuit refuses has not left`(mode: ReplayPolicy.Mode) async throws {
        serve(Self.refused)
        let engine = engine {
            $0.circuit = CircuitPolicy(minimumCalls: 2, openTime: .seconds(60))
            $0.draw = { 0.5 }
        }
        var request = note(ReplayPolicy(mode, keyLifetime: nil))
        request.retry = RetryPolicy(attempts: 2, baseDelay: .seconds(8))
        let connection = engine.enqueue(request)
        await untilTrue { [clock] in clock.sleeping.contains(.seconds(4)) }
        // It opens the circuit.
        _ = try? await engine.send(Request("http://api.test/"))
        clock.advance(by: .seconds(4))
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(error?.code == .queued && transport.requests.count == 2)
        let job = try engine.queue().jobs()[0]
        #expect(job.state == .waiting && job.unknownSince == nil)
    }

    @Test func `a job that may not leave after all is not what a server is tried again with`() async throws {
        serve(Self.refused)
        let engine = engine { $0.circuit = CircuitPolicy(minimumCalls: 1, openTime: .seconds(5)) }
        _ = try? await engine.send(Request("http://api.test/"))
        clock.advance(by: .seconds(5))
        serve { _ in .stub() }
        _ = await engine.pipeline.replay(Replayer.Sending(id: 1, request: note(.durable), begin: { false }))
        #expect(transport.requests.count == 1)
        #expect(try await engine.send(Request("http://api.test/")).status == .ok)
    }

    /// What is canceled.
    enum Canceled: CaseIterable { case onTheWire, paused, calledBack, sentInSerialLane }

    @Test(arguments: Canceled.allCases)
    func `whoever cancels what is durable is told of its job, and can discard it`(canceled: Canceled) async throws {
        let isThere = Gate()
        serve(Self.silence(isThere))
        let engine = engine { $0.lanes = ["api": .serial] }
        var request = note(.durable, method: .put)
        let error: ConnectionError?
        switch canceled {
        case .onTheWire, .paused, .calledBack:
            let told = Guarded<ConnectionError?>(nil)
            let connection =
                canceled == .calledBack
                ? engine.send(request) { result in
                    if case .failure(let error) = result { told.withLock { $0 = error } }
                } : engine.enqueue(request)
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
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `whoever cancels just as the job is made is told of it`(mode: ReplayPolicy.Mode) async throws {
        serve(Self.lost)
        let engine = engine()
        let connection = engine.connection(for: note(ReplayPolicy(mode), method: .put))
        let observation = engine.activity.observe { event in
            if case .job(let transition) = event, transition.verb == .enqueue { connection.cancel() }
        }
        engine.enqueue(connection)
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        withExtendedLifetime(observation) {}
        #expect(error?.code == .cancelled)
        #expect(try engine.queue().jobs().map(\.id) == [try #require(error?.jobID)])
    }

    /// Does something before it says who is signed in.
    private struct LateLogin: CredentialProvider {
        let act: @Sendable () -> Void

        func identity(for request: Request) async throws -> String? {
            act()
            return "anna"
        }

        func secret(_ name: String, for identity: String?) async throws -> String? { nil }
    }

    @Test func `what is canceled before it is a job becomes none`() async throws {
        let connection = Connection(note(.durable))
        let engine = engine { $0.credentials = LateLogin { connection.cancel() } }
        engine.enqueue(connection)
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(error?.code == .cancelled && error?.jobID == nil)
        await untilTrue { connection.isFinished }
        #expect(try engine.queue().jobs().isEmpty && transport.requests.isEmpty)
    }

    /// How long the server knows the key, how many seconds the pause lasts, and why the job is in its state then.
    static let pauses: [(lifetime: Duration?, seconds: Int, reason: ReplayReason)] = [
        (.seconds(20), 19, .finished), (.seconds(20), 21, .keyExpired), (nil, 1, .outcomeUnknown),
    ]

    @Test(arguments: pauses)
    func `what a pause has cut off is sent again for as long as the server knows its key`(
        _ pause: (lifetime: Duration?, seconds: Int, reason: ReplayReason)
    ) async throws {
        let (isThere, whenSentAgain) = (Gate(), Guarded<Date?>(nil))
        serve(Self.silence(isThere))
        let engine = engine()
        var request = note(ReplayPolicy(.durable, keyLifetime: pause.lifetime))
        request.headers[try #require(HTTPField.Name("Idempotency-Key"))] = "mine"
        let connection = engine.enqueue(request)
        await isThere.wait()
        let sentAt = clock.date
        connection.pause()
        clock.advance(by: .seconds(pause.seconds))
        let store = temporary.store
        serve { _ in
            let job = (try? ReplayQueue(store).jobs())?.first
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
        #expect(transport.requests.count == (isSentAgain ? 2 : 1))
    }

    @Test(arguments: [false, true])
    func `a durable DELETE that finds nothing is done where a pause has cut it off before`(
        isCutOff: Bool
    ) async throws {
        let isThere = Gate()
        serve(Self.silence(isThere))
        let engine = engine()
        var request = Request("http://api.test/notes/1", method: .delete)
        request.replay = .durable
        let connection = engine.connection(for: request)
        if isCutOff {
            engine.enqueue(connection)
            await isThere.wait()
            connection.pause()
        }
        serve { _ in .stub(status: 404) }
        if isCutOff { connection.resume() } else { engine.enqueue(connection) }
        #expect(try await connection.response.status == .notFound)
        #expect(try engine.queue().jobs().map(\.state) == [isCutOff ? .done : .dead])
    }

    /// When the pause comes, and whether the first answer is lost.
    static let moments: [(mode: ReplayPolicy.Mode, verb: ReplayTransition.Verb, isLost: Bool)] = [
        (.onFailure, .enqueue, true), (.durable, .enqueue, false), (.durable, .finish, false), (.durable, .fail, true),
    ]

    @Test(arguments: moments)
    func `a pause while it is written down sends nothing again, and makes no second job`(
        _ moment: (mode: ReplayPolicy.Mode, verb: ReplayTransition.Verb, isLost: Bool)
    ) async throws {
        let engine = engine()
        let (answers, pauses) = (Guarded(0), Guarded(0))
        serve { _ throws(TransportError) in
            let isFirst = answers.withLock {
                $0 += 1; return $0 == 1
            }
            guard moment.isLost, isFirst else { return .stub(status: 200) }
            throw TransportError(.connectionLost, "lost", requestMayHaveBeenSent: true)
        }
        let connection = engine.connection(for: note(ReplayPolicy(moment.mode), method: .put))
        let observation = engine.activity.observe { event in
            guard case .job(let transition) = event, transition.verb == moment.verb else { return }
            let isFirst = pauses.withLock {
                $0 += 1; return $0 == 1
            }
            guard isFirst else { return }
            connection.pause()
            connection.resume()
        }
        engine.enqueue(connection)
        let outcome = await Task { try await connection.response }.result
        withExtendedLifetime(observation) {}
        switch outcome {
        case .success(let response): #expect(response.status == .ok && !moment.isLost)
        case .failure(let error): #expect((error as? ConnectionError)?.code == .queued && moment.isLost)
        }
        await untilTrue { connection.isFinished }
        #expect(try engine.queue().jobs().map(\.state) == [moment.isLost ? .waiting : .done])
        #expect(transport.requests.count == 1 && pauses.withLock { $0 } == 1)
    }

    @Test func `a durable connection that is canceled when its answer is here is done`() async throws {
        let engine = engine()
        let connection = engine.connection(for: note(.durable))
        serve { _ in
            connection.cancel()
            return .stub(status: 201)
        }
        engine.enqueue(connection)
        await untilTrue { connection.isFinished }
        #expect(try engine.queue().jobs().map(\.state) == [.done])
    }

    @Test(arguments: [false, true])
    func `a connection made of a snapshot leaves what is a job to the queue`(isPaused: Bool) async throws {
        let isThere = Gate()
        serve(Self.silence(isThere))
        let first = engine()
        let connection = first.enqueue(note(.durable))
        await isThere.wait()
        if isPaused { connection.pause() }
        let written = try connection.snapshot.json()
        let id = try #require(try first.queue().jobs().first?.id)
        // As if its process had ended.
        connection.cancel()
        await untilTrue { (try? first.queue().job(id)?.state) == .ready }
        await first.close()

        serve { _ in .stub(status: 201) }
        let second = engine()
        let again = second.connection(from: try ConnectionSnapshot(json: written))
        second.enqueue(again)
        let error = await #expect(throws: ConnectionError.self) { try await again.response }
        #expect(error?.code == .queued && error?.jobID == id && again.isFinished)
        #expect(try await second.replayer().replay().finished == 1)
        #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
    }

    @Test(arguments: [ReplayPolicy.Mode.durable, .onFailure])
    func `what was paused between two attempts of which none has left is sent again`(
        mode: ReplayPolicy.Mode
    ) async throws {
        let engine = engine { $0.draw = { 0.5 } }
        serve(Self.refused)
        var request = note(ReplayPolicy(mode, keyLifetime: nil))
        request.retry = .default
        let connection = engine.enqueue(request)
        // Who looks for holds sleeps for a second by the same clock.
        let isWaiting = { @Sendable [clock] in clock.sleeping.first.map { $0 < .seconds(1) } ?? false }
        await untilTrue { isWaiting() }
        connection.pause()
        clock.advance(by: .seconds(2))
        await untilTrue { connection.core.withLock { $0.runner == nil } }
        #expect(connection.isPaused && transport.requests.count == 1)
        connection.resume()
        await untilTrue { [clock] in
            if isWaiting() { clock.advance(by: .seconds(2)) }
            return connection.isFinished
        }
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        let id = try #require(error?.jobID)
        let job = try engine.queue().job(id)
        #expect(job?.state == .waiting && job?.unknownSince == nil)
    }

    // MARK: On failure

    @Test func `what fails is kept, with the key of its first attempt`() async throws {
        serve(Self.lost)
        let engine = engine()
        #expect(try engine.queue().jobs().isEmpty)
        let error = try await queued { () throws(ConnectionError) in _ = try await engine.send(note(.onFailure)) }
        let id = try #require(error.jobID)
        let job = try #require(try engine.queue().job(id))
        #expect(job.state == .waiting && job.unknownSince != nil && job.attempts == 1)
        #expect(try engine.queue().failures(of: job.id).map(\.code) == ["connectionLost"])
        serve { _ in .stub(status: 201) }
        clock.advance(by: .seconds(60))
        #expect(try await engine.replayer().replay().finished == 1)
        #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
    }

    @Test(arguments: [(200, false), (404, false), (422, false), (503, true), (429, true), (500, true)])
    func `an answer is kept where another attempt may be answered otherwise`(_ status: Int, _ isKept: Bool) async throws
    {
        serve { _ in .stub(status: status) }
        let engine = engine()
        let response = try? await engine.send(note(.onFailure))
        #expect((response == nil) == isKept)
        #expect(try engine.queue().jobs().count == (isKept ? 1 : 0))
    }

    @Test func `what may have acted, and has no key, needs review`() async throws {
        serve(Self.lost)
        let engine = engine()
        let policy = ReplayPolicy(.onFailure, keyLifetime: nil)
        let error = try await queued { () throws(ConnectionError) in _ = try await engine.send(note(policy)) }
        #expect(keys == [nil])
        let id = try #require(error.jobID)
        #expect(try engine.queue().job(id)?.state == .needsReview)
    }

    @Test func `where the network is away an attempt costs nothing`() async throws {
        serve(Self.refused)
        let engine = engine { $0.reachability = FakeNetwork(isReachable: false) }
        let error = try await queued { () throws(ConnectionError) in _ = try await engine.send(note(.onFailure)) }
        let id = try #require(error.jobID)
        for _ in 0..<30 {
            clock.advance(by: .seconds(60))
            try await engine.replayer().replay()
        }
        #expect(try engine.queue().job(id).map { [$0.reason.description, "\($0.attempts)"] } == ["offline", "0"])
    }

    @Test func `without a store nothing can be kept, and nothing is sent`() async throws {
        let engine = engine { $0.store = nil }
        await #expect(throws: ConnectionError.self) { try await engine.send(note(.onFailure)) }
        #expect(transport.requests.isEmpty)
    }

    // MARK: Whose

    @Test func `what one user has queued never goes out as another's`() async throws {
        let login = Login()
        login.current.withLock { $0 = "anna" }
        serve(Self.refused)
        let engine = engine { $0.credentials = login }
        var request = note(.onFailure)
        request.credentials = [.bearer(.secret("api"))]
        let error = try await queued { [request] () throws(ConnectionError) in _ = try await engine.send(request) }
        let id = try #require(error.jobID)
        #expect(try engine.queue().job(id)?.identity == "anna")

        // Bert signs in, and nobody has said that Anna has left.
        login.current.withLock { $0 = "bert" }
        serve { _ in .stub(status: 201) }
        clock.advance(by: .seconds(60))
        try await engine.replayer().replay()
        #expect(transport.requests.count == 1)
        #expect(
            try engine.queue().job(id).map { [$0.state.description, $0.reason.description] } == [
                "held", "unauthorized",
            ])

        login.current.withLock { $0 = "anna" }
        #expect(try await engine.queue().release(.identity("anna")) == 1)
        #expect(try await engine.replayer().replay().finished == 1)
        #expect(
            transport.requests.map { $0.headers[.authorization] } == Array(repeating: "Bearer token-of-anna", count: 2))
        for suffix in ["", "-wal"] {
            let bytes = try Data(contentsOf: URL(filePath: temporary.store.replayPath + suffix))
            #expect(bytes.range(of: Data("token-of-anna".utf8)) == nil)
        }
    }

    @Test(arguments: [false, true])
    func `a durable request of one user does not go out as another's who signs in before it leaves`(
        isCutOff: Bool
    ) async throws {
        let (login, isThere) = (Login(), Gate())
        login.current.withLock { $0 = "anna" }
        serve(Self.silence(isThere))
        let engine = engine { $0.credentials = login }
        if !isCutOff { engine.lanes.pauseAll() }
        let connection = engine.enqueue(note(.durable, method: .put))
        if isCutOff { await isThere.wait() } else { await untilTrue { engine.lanes.waiting == 1 } }
        if isCutOff { connection.pause() }

        login.current.withLock { $0 = "bert" }
        serve { _ in .stub(status: 201) }
        if isCutOff { connection.resume() } else { engine.lanes.resumeAll() }
        let error = try await queued { () throws(ConnectionError) in _ = try await connection.response }
        let (queue, id) = (try engine.queue(), try #require(error.jobID))
        #expect(transport.requests.count == (isCutOff ? 1 : 0))
        let job = try #require(try queue.job(id))
        #expect(job.state == .held && job.reason == .unauthorized && job.identity == "anna")
        #expect((job.unknownSince != nil) == isCutOff)

        login.current.withLock { $0 = "anna" }
        #expect(try await queue.release(.identity("anna")) == 1)
        #expect(try await engine.replayer().replay().finished == 1)
    }

    @Test func `a durable request waits where nobody can say who is signed in`() async throws {
        let login = Login()
        login.current.withLock { $0 = "anna" }
        let engine = engine { $0.credentials = login }
        engine.lanes.pauseAll()
        let connection = engine.enqueue(note(.durable))
        await untilTrue { engine.lanes.waiting == 1 }
        login.isLocked.withLock { $0 = true }
        engine.lanes.resumeAll()
        _ = try await queued { () throws(ConnectionError) in _ = try await connection.response }
        #expect(try engine.queue().jobs().map(\.reason) == [.backoff] && transport.requests.isEmpty)
    }

    @Test func `the jobs of a user who signs out are held, new ones too`() async throws {
        serve(Self.refused)
        let engine = engine()
        var request = note(.onFailure)
        request.identity = "anna"
        _ = try await queued { [request] () throws(ConnectionError) in _ = try await engine.send(request) }
        try await engine.forget(identity: "anna")
        #expect(try engine.queue().jobs().map(\.state) == [.held])
        _ = try await queued { [request] () throws(ConnectionError) in _ = try await engine.send(request) }
        #expect(try engine.queue().jobs().map(\.state) == [.held, .held])
        #expect(try await engine.queue().release(.identity("anna")) == 2)
    }

    @Test(arguments: [
        Request("http://u:p@api.test/"), Request("http://api.test/?api_key=1"),
        Request("http://api.test/", parameters: ["access_token": "1"]),
        Request("http://api.test/", headers: [.authorization: "Bearer 1"]),
        Request("http://api.test/", method: .post, body: .json(["a": ["password": "1"]])),
        Request("http://api.test/", method: .post, body: .form(["password": "1"])),
    ])
    func `a secret that has no name is not kept, and nothing is sent`(_ request: Request) async throws {
        let engine = engine()
        var request = request
        request.replay = .onFailure
        let kept = request
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(kept) }
        #expect(error?.code == .badRequest)
        #expect(transport.requests.isEmpty)
        await #expect(throws: ReplayError.self) { try await engine.queue().enqueue(kept) }
    }

    // MARK: What is answered later

    @Test func `an answer to a replayed request makes stale what a direct one would`() async throws {
        let engine = engine()
        serve { request throws(TransportError) in
            guard request.method == .get else { throw TransportError(.cannotConnect, "refused") }
            return .stub(headers: [.cacheControl: "max-age=86400"], body: "old")
        }
        let list = Request("http://api.test/notes")
        _ = try await engine.send(list)
        #expect(try await engine.send(list).source == .cache)
        _ = try await queued { () throws(ConnectionError) in _ = try await engine.send(note(.onFailure)) }
        serve { request in .stub(status: request.method == .get ? 200 : 201, body: "new") }
        clock.advance(by: .seconds(60))
        try await engine.replayer().replay()
        #expect(try await engine.send(list).text == "new")
    }

    struct Note: Codable, Hashable, Sendable {
        var id: Int
        var text: String
    }

    struct CreateNote: Endpoint {
        typealias Output = Note
        var text: String

        var request: Request {
            var request = Request("http://api.test/notes", method: .post, body: .json(["text": .string(text)]))
            request.replay = .onFailure
            return request
        }
    }

    @Test func `the output of a call that was kept is handed to a later process`() async throws {
        serve(Self.refused)
        let first = engine()
        let error = try await queued { () throws(ConnectionError) in _ = try await first.send(CreateNote(text: "a")) }
        await first.close()
        serve { _ in .stub(status: 201, body: #"{"id":7,"text":"a"}"#) }
        clock.advance(by: .seconds(60))
        let second = engine()
        let told = Guarded<[ReplayJob.ID: Note]>([:])
        second.onReplay(CreateNote.self) { id, result in
            if case .success(let note) = result { told.withLock { $0[id] = note } }
        }
        try await second.replayer().replay()
        let id = try #require(error.jobID)
        #expect(told.withLock { $0 } == [id: Note(id: 7, text: "a")])
    }

    @Test func `who was to be handed it before is let go of where no lock is held`() {
        let (calls, count) = (ReplayedCalls(), Guarded(0))
        for _ in 0..<2 {
            calls.add("CreateNote") { [adder = Adder(calls, count)] _, _ in withExtendedLifetime(adder) {} }
        }
        #expect(count.withLock { $0 } == 1)
    }

    /// Wants to know of other calls when it is let go of.
    private final class Adder: Sendable {
        private let add: @Sendable () -> Void

        init(_ calls: ReplayedCalls, _ count: Guarded<Int>) {
            add = { [weak calls] in
                guard let calls else { return }
                calls.add("DeleteNote") { _, _ in }
                count.withLock { $0 += 1 }
            }
        }

        deinit { add() }
    }

    @Test func `whoever waits for a job is told its end`() async throws {
        serve(Self.refused)
        let engine = engine()
        let error = try await queued { () throws(ConnectionError) in _ = try await engine.send(note(.onFailure)) }
        let (queue, id) = (try engine.queue(), try #require(error.jobID))
        let end = Task { try await queue.end(of: id) }
        serve { _ in .stub(status: 204) }
        clock.advance(by: .seconds(60))
        try await engine.replayer().replay()
        let job = try await end.value
        #expect(job.state == .done && job.status == 204)
    }
}
