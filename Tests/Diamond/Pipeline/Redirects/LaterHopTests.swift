import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// A server has answered `/start` with a redirect, and nothing was sent to the target of the redirect.
@Suite("An unsent hop after a sent one", .limit(minutes: 5)) struct LaterHopTests {
    /// What keeps the hop from being sent.
    enum Obstacle: String, CaseIterable {
        case cannotConnect, cannotResolveHost, tlsFailed, certificateRejected, badURL, badSettings, closed, circuitOpen,
            noCredential

        /// The transport's error for the obstacle.
        var error: TransportError? {
            switch self {
            case .circuitOpen, .noCredential: nil
            default: TransportError(TransportError.Code(description: rawValue), "nothing was sent")
            }
        }

        var code: ConnectionError.Code {
            switch self {
            case .circuitOpen: .circuitOpen
            case .noCredential: .noCredential
            default: error.map { ConnectionError($0).code } ?? .other
            }
        }

        /// The target of the redirect. Credentials are sent only to the same origin, and the circuit is open only for
        /// the other origin.
        var target: String { self == .noCredential ? "/end" : "http://other/end" }
    }

    /// How the request is sent.
    enum Sender: CaseIterable { case keptOnFailure, durable, replayer }

    /// Returns its secret until the first request was sent.
    private struct FirstHopProvider: CredentialProvider {
        let transport: StubTransport

        func identity(for request: Request) async throws -> String? { "anna" }
        func secret(_ name: String, for identity: String?) async throws -> String? {
            transport.requests.contains { $0.url.hasSuffix("/start") } ? nil : "t"
        }
    }

    private let temporary = TemporaryStore()
    private let clock = TestClock()
    private let network = StubReachability()

    private func transport(_ status: Int, _ obstacle: Obstacle) -> StubTransport {
        StubTransport { request throws(TransportError) in
            guard !request.url.hasSuffix("/start") else {
                return .stub(status: status, headers: [.location: obstacle.target])
            }
            throw obstacle.error ?? TransportError(.cannotConnect, "refused")
        }
    }

    private func engine(
        _ transport: any Transport,
        _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        (configuration.transport, configuration.clock, configuration.retry) = (transport, clock, .never)
        configuration.now = { [clock] in clock.date }
        configuration.uptime = { [clock] in clock.uptime }
        configuration.reachability = network
        // No wait between attempts.
        configuration.draw = { 0 }
        change(&configuration)
        return Engine(configuration)
    }

    /// Returns an engine with the obstacle in place.
    private func engine(_ transport: StubTransport, _ obstacle: Obstacle) async -> Engine {
        let engine = engine(transport) { configuration in
            if obstacle == .circuitOpen { configuration.circuit = CircuitPolicy(minimumCalls: 1) }
            if obstacle == .noCredential { configuration.credentials = FirstHopProvider(transport: transport) }
        }
        // This opens the circuit.
        if obstacle == .circuitOpen { _ = try? await engine.send(Request("http://other/")) }
        return engine
    }

    private func start(_ obstacle: Obstacle? = nil, _ method: HTTPRequest.Method = .post) -> Request {
        var request = Request("http://h/start", method: method)
        guard obstacle == .noCredential else { return request }
        request.identity = "anna"
        request.credentials = [.header(.authorization, .secret("token"))]
        return request
    }

    /// The state of a job after it was sent.
    private func job(_ request: Request, by sender: Sender, from engine: Engine) async throws -> ReplayJob? {
        guard sender == .replayer else {
            let error = await #expect(throws: ConnectionError.self) { try await engine.send(request) }
            #expect(error?.code == .queued)
            return try error?.jobID.flatMap { try engine.queue().job($0) }
        }
        let id = try await engine.queue().enqueue(request)
        try await engine.replayer().replay()
        return try id.flatMap { try engine.queue().job($0) }
    }

    // MARK: The caller

    @Test(arguments: [303, 307, 308], Obstacle.allCases)
    func `fails as possibly sent`(status: Int, obstacle: Obstacle) async throws {
        let transport = transport(status, obstacle)
        let engine = await engine(transport, obstacle)
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(start(obstacle)) }
        #expect(error?.code == obstacle.code)
        let cause = error?.cause as? TransportError
        #expect(cause?.serverMayHaveActed == (obstacle.error == nil ? nil : true))
        #expect(transport.requests.filter { $0.url.hasSuffix("/start") }.count == 1)
    }

    @Test(arguments: TransportKind.allCases, ["303 See Other", "307 Temporary Redirect"])
    func `fails as possibly sent over a real connection, too`(
        kind: TransportKind, status: String
    ) async throws {
        let target = try RawServer.refusedURL()
        let server = try RawServer(
            answering: "HTTP/1.1 \(status)\r\nLocation: \(target)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        let engine = engine(kind.make())
        let request = Request(server.base, method: .post)
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(request) }
        #expect((error?.cause as? TransportError)?.serverMayHaveActed == true)
        var kept = request
        kept.replay = ReplayPolicy(.onFailure, keyLifetime: nil)
        #expect(try await job(kept, by: .keptOnFailure, from: engine)?.state == .needsReview)
        await engine.close()
    }

    @Test func `an unsent hop after a stored redirect fails as unsent`() async throws {
        let isReached = Gate()
        let transport = StubTransport { request throws(TransportError) in
            if request.url.hasSuffix("/start") {
                return .stub(status: 308, headers: [.location: "/end", .cacheControl: "max-age=60"])
            }
            guard !isReached.isOpen else { throw TransportError(.cannotConnect, "refused") }
            isReached.open()
            return .stub(headers: [.cacheControl: "no-store"])
        }
        let engine = engine(transport)
        _ = try await engine.send(start(nil, .get))
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(start(nil, .get)) }
        #expect(transport.requests.map(\.url) == ["http://h/start", "http://h/end", "http://h/end"])
        #expect((error?.cause as? TransportError)?.serverMayHaveActed == false)
    }

    @Test func `an unsent hop after a stored redirect costs a queued request no attempt while offline`() async throws {
        let transport = StubTransport { [network] request throws(TransportError) in
            if request.url.hasSuffix("/start") {
                return .stub(status: 308, headers: [.location: "/end", .cacheControl: "max-age=60"])
            }
            guard network.isReachable else { throw TransportError(.cannotConnect, "nothing was sent") }
            return .stub(headers: [.cacheControl: "no-store"])
        }
        let engine = engine(transport)
        _ = try await engine.send(start(nil, .get))
        network.isReachable = false
        var request = start(nil, .get)
        request.replay = .onFailure
        let job = try await job(request, by: .keptOnFailure, from: engine)
        #expect(job?.reason == .offline && job?.attempts == 0 && job?.unknownSince == nil)
        #expect(transport.requests.map(\.url) == ["http://h/start", "http://h/end", "http://h/end"])
    }

    // MARK: Attempts

    @Test func `an unsent hop is retried as unprocessed, and the hop before it is not repeated`() async throws {
        let refusals = Guarded(2)
        let transport = StubTransport { request throws(TransportError) in
            guard !request.url.hasSuffix("/start") else { return .stub(status: 307, headers: [.location: "/end"]) }
            let isRefused = refusals.withLock { count in
                count -= 1
                return count >= 0
            }
            if isRefused { throw TransportError(.cannotConnect, "refused") }
            return .stub(status: 201)
        }
        let engine = engine(transport) { $0.retry = RetryPolicy(attempts: 3) }
        let response = try await engine.send(start())
        #expect(response.status == .created)
        #expect(response.attempts.map(\.reason?.code) == [.unprocessed, .unprocessed, nil])
        #expect(transport.requests.map(\.url) == ["http://h/start"] + Array(repeating: "http://h/end", count: 3))
    }

    // MARK: The queue

    /// A request under way when its engine is closed is not queued when it fails.
    static let sendings = Obstacle.allCases.flatMap { obstacle in
        Sender.allCases.map { (obstacle: obstacle, sender: $0) }
    }.filter { $0.obstacle != .closed || $0.sender != .keptOnFailure }

    @Test(arguments: sendings, [303, 307])
    func `leaves a job without a key for review`(
        _ sending: (obstacle: Obstacle, sender: Sender), status: Int
    )
        async throws
    {
        let transport = transport(status, sending.obstacle)
        let engine = await engine(transport, sending.obstacle)
        var request = start(sending.obstacle)
        request.replay = ReplayPolicy(sending.sender == .durable ? .durable : .onFailure, keyLifetime: nil)
        let job = try await job(request, by: sending.sender, from: engine)
        #expect(job?.state == .needsReview && job?.reason == .outcomeUnknown && job?.unknownSince != nil)
        #expect(transport.requests.filter { $0.url.hasSuffix("/start") }.count == 1)
    }

    /// Statuses, each with and without an interceptor that throws for it.
    static let answers = [401, 408, 425, 429, 500, 503].flatMap { status in
        [false, true].map { (status: status, isValidated: $0) }
    }

    @Test(arguments: answers, Sender.allCases)
    func `a retryable status after a redirect leaves a job without a key for review`(
        _ answer: (status: Int, isValidated: Bool),
        sender: Sender
    ) async throws {
        let status = answer.status
        let transport = StubTransport { request throws(TransportError) in
            guard !request.url.hasSuffix("/start") else { return .stub(status: 303, headers: [.location: "/end"]) }
            return .stub(status: status, headers: [.retryAfter: "1"])
        }
        let engine = engine(transport) { $0.interceptors = answer.isValidated ? [ResponseValidator()] : [] }
        var request = start()
        request.identity = "anna"
        request.replay = ReplayPolicy(sender == .durable ? .durable : .onFailure, keyLifetime: nil)
        // A 401 is returned to the caller. An on-failure request is not queued for it.
        guard status != 401 || sender != .keptOnFailure else {
            guard answer.isValidated else {
                #expect(try await engine.send(request).status.code == status)
                return
            }
            let error = await #expect(throws: ConnectionError.self) { try await engine.send(request) }
            #expect(error?.code == .badStatus)
            return
        }
        let job = try await job(request, by: sender, from: engine)
        #expect(job?.state == .needsReview && job?.reason == .outcomeUnknown && job?.unknownSince != nil)
        #expect(transport.requests.map(\.url) == ["http://h/start", "http://h/end"])
    }

    @Test(arguments: [400, 401, 404], [Sender.durable, .replayer])
    func `a final status after a redirect ends its job, even if the policy retries the status`(
        status: Int,
        sender: Sender
    ) async throws {
        let transport = StubTransport { request throws(TransportError) in
            request.url.hasSuffix("/start") ? .stub(status: 303, headers: [.location: "/end"]) : .stub(status: status)
        }
        let engine = engine(transport) { $0.retry.statuses.insert(status) }
        var request = start()
        request.replay = ReplayPolicy(sender == .durable ? .durable : .onFailure, keyLifetime: nil)
        if sender == .durable {
            #expect(try await engine.send(request).status.code == status)
            // The caller has the answer.
            #expect(try engine.queue().jobs().map(\.state) == [.done])
        } else {
            #expect(try await job(request, by: sender, from: engine)?.state == .dead)
        }
    }

    @Test(arguments: Sender.allCases, [HTTPRequest.Method.put, .post])
    func `a Retry-After after a redirect delays a job that may be repeated`(
        sender: Sender, method: HTTPRequest.Method
    ) async throws {
        let transport = StubTransport { request throws(TransportError) in
            guard !request.url.hasSuffix("/start") else { return .stub(status: 307, headers: [.location: "/end"]) }
            return .stub(status: 503, headers: [.retryAfter: "60"])
        }
        let engine = engine(transport)
        // A POST has a key by default. A PUT may be repeated without a key.
        var request = start(nil, method)
        request.replay = sender == .durable ? .durable : .onFailure
        let job = try await job(request, by: sender, from: engine)
        #expect(job?.state == .waiting && job?.reason == .retryAfter && job?.unknownSince != nil)
    }

    @Test func `a 401 after a redirect lets a job be repeated only while the server knows its key`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            request.url.hasSuffix("/start") ? .stub(status: 307, headers: [.location: "/end"]) : .stub(status: 401)
        }
        let engine = engine(transport)
        var request = start()
        (request.identity, request.replay) = ("anna", ReplayPolicy(.onFailure, keyLifetime: .seconds(3_600)))
        let held = try #require(try await job(request, by: .replayer, from: engine))
        #expect(held.state == .held && held.reason == .unauthorized)
        clock.advance(by: .seconds(3_601))
        let queue = try engine.queue()
        try await queue.release(held.id)
        try await engine.replayer().replay()
        let job = try queue.job(held.id)
        #expect(job?.state == .needsReview && job?.reason == .keyExpired)
        #expect(transport.requests.map(\.url) == ["http://h/start", "http://h/end"])
    }

    @Test(arguments: [HTTPRequest.Method.post, .put], [Sender.durable, .replayer])
    func `a hop unsent because another user signed in leaves its job possibly processed`(
        method: HTTPRequest.Method,
        sender: Sender
    ) async throws {
        let login = ReplayFixture.Login()
        login.current.withLock { $0 = "anna" }
        let transport = StubTransport { request throws(TransportError) in
            login.current.withLock { $0 = "bert" }
            return .stub(status: 307, headers: [.location: "/end"])
        }
        let engine = engine(transport) { $0.credentials = login }
        var request = start(nil, method)
        request.identity = "anna"
        request.replay = ReplayPolicy(sender == .durable ? .durable : .onFailure, keyLifetime: nil)
        let job = try await job(request, by: sender, from: engine)
        #expect(transport.requests.map(\.url) == ["http://h/start"])
        let isIdempotent = method == .put
        #expect(job?.state == (isIdempotent ? .waiting : .needsReview))
        #expect(job?.reason == (isIdempotent ? .backoff : .outcomeUnknown) && job?.unknownSince != nil)
    }

    @Test(arguments: [TransportError.Code.cannotConnect, .cannotResolveHost], Sender.allCases)
    func `costs an attempt, even if the network is lost by then`(
        code: TransportError.Code,
        sender: Sender
    ) async throws {
        let transport = StubTransport { [network] request throws(TransportError) in
            guard request.url.hasSuffix("/start") else { throw TransportError(code, "nothing was sent") }
            network.isReachable = false
            return .stub(status: 307, headers: [.location: "/end"])
        }
        let engine = engine(transport)
        var request = start(nil, .put)
        request.replay = sender == .durable ? .durable : .onFailure
        let job = try await job(request, by: sender, from: engine)
        #expect(job?.state == .waiting && job?.reason == .backoff && job?.attempts == 1)
        #expect(job?.unknownSince != nil)
    }
}
