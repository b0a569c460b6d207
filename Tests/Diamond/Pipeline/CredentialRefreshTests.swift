import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Refresh of a refused credential", .limit(minutes: 5)) struct CredentialRefreshTests {
    /// Returns one token, and the next one after each refresh.
    private final class StubRefreshProvider: RefreshableCredentialProvider {
        struct Refused: Error {}

        private struct State {
            var number = 1
            var refreshed: [Set<String>] = []
        }

        private let state = Guarded(State())
        private let gate: Gate
        private let isRefusing: Bool

        init(gate: Gate, isRefusing: Bool = false) {
            self.gate = gate
            self.isRefusing = isRefusing
        }

        var refreshes: Int { refreshed.count }

        /// The tokens that each refresh was asked to replace.
        var refreshed: [Set<String>] { state.withLock { $0.refreshed } }

        func secret(_ name: String, for identity: String?) async throws -> String? {
            "t\(state.withLock { $0.number })"
        }

        func identity(for request: Request) async throws -> String? { "user" }

        func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {
            state.withLock { $0.refreshed.append(names) }
            await gate.wait()
            if isRefusing { throw Refused() }
            state.withLock { $0.number += 1 }
        }
    }

    private let temporary = TemporaryStore()
    private let gate = Gate()

    private func engine(_ login: StubRefreshProvider, _ transport: StubTransport, clock: TestClock = TestClock())
        -> Engine
    {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        configuration.credentials = login
        // A clock of its own: no time passes for the retry policy, however slow the machine is.
        configuration.clock = clock
        return Engine(configuration)
    }

    /// Returns a transport that accepts one token only.
    private func transport(taking token: String) -> StubTransport {
        StubTransport { request throws(TransportError) in
            .stub(status: request.headers[.authorization] == token ? 200 : 401, headers: [:])
        }
    }

    private func request(_ number: Int) -> Request {
        var request = Request("http://h/\(number)")
        request.credentials = [.header(.authorization, .secret("token"))]
        return request
    }

    @Test func `a refused credential is refreshed once for all requests that wait for it`() async throws {
        let login = StubRefreshProvider(gate: gate)
        let transport = transport(taking: "t2")
        let engine = engine(login, transport)
        let connections = (0..<5).map { engine.start(request($0)) }
        await untilTrue { transport.requests.count == 5 && login.refreshes == 1 }
        gate.open()
        for connection in connections {
            let response = try await connection.response
            #expect(response.status == .ok)
            #expect(response.attempts.map(\.reason?.code) == [.credential, nil])
        }
        #expect(login.refreshes == 1 && transport.requests.count == 10)
    }

    @Test func `a credential is refreshed at most once per request, and not for an older credential`() async throws {
        gate.open()
        let login = StubRefreshProvider(gate: gate)
        let hold = Gate()
        let transport = StubTransport { request throws(TransportError) in
            if request.url == "http://h/1", request.headers[.authorization] == "t1" { await hold.wait() }
            return .stub(status: request.headers[.authorization] == "t2" ? 200 : 401, headers: [:])
        }
        let engine = engine(login, transport)
        let late = engine.start(request(1))
        await untilTrue { transport.requests.count == 1 }
        #expect(try await engine.send(request(2)).status == .ok)
        hold.open()
        #expect(try await late.response.status == .ok)
        #expect(login.refreshes == 1)
        let none = self.engine(login, self.transport(taking: "none"))
        #expect(try await none.send(request(3)).status == .unauthorized)
        #expect(login.refreshes == 2)
    }

    @Test func `a credential is not refreshed again for requests that waited for a permit meanwhile`() async throws {
        let login = StubRefreshProvider(gate: gate)
        let transport = transport(taking: "t2")
        let engine = engine(login, transport)
        var connections = [engine.start(request(0))]
        await untilTrue { login.refreshes == 1 }
        engine.lanes.pauseAll()
        connections += (1..<8).map { engine.start(request($0)) }
        await untilTrue { engine.lanes.waiting == 7 }
        gate.open()
        await untilTrue { engine.lanes.waiting == 8 }
        engine.lanes.resumeAll()
        for connection in connections { #expect(try await connection.response.status == .ok) }
        #expect(login.refreshes == 1)
    }

    /// Returns a newer token by itself, and refreshes nothing.
    private final class RotatingProvider: CredentialProvider {
        let token = Guarded("t1")

        func secret(_ name: String, for identity: String?) async throws -> String? { token.withLock { $0 } }
        func identity(for request: Request) async throws -> String? { "user" }
    }

    @Test(arguments: [HTTPRequest.Method.get, .post])
    func `a request that waits for a permit is sent with a credential replaced meanwhile`(method: HTTPRequest.Method)
        async throws
    {
        let (provider, transport) = (RotatingProvider(), transport(taking: "t2"))
        var configuration = Engine.Configuration(store: temporary.store)
        (configuration.transport, configuration.credentials) = (transport, provider)
        configuration.clock = TestClock()
        let engine = Engine(configuration)
        engine.lanes.pauseAll()
        var request = request(1)
        request.method = method
        // One connection waits without a task, one in its own.
        let connection = engine.start(request)
        request.url = "http://h/2"
        let task = Task { [request] in try await engine.send(request) }
        await untilTrue { engine.lanes.waiting == 2 }
        provider.token.withLock { $0 = "t2" }
        engine.lanes.resumeAll()
        #expect(try await connection.response.status == .ok)
        #expect(try await task.value.status == .ok)
        #expect(transport.requests.map { $0.headers[.authorization] } == ["t2", "t2"])
    }

    @Test func `a waiting connection starts while another request of its engine refreshes the credential`() async throws
    {
        let (login, answered) = (StubRefreshProvider(gate: gate), Guarded(0))
        let transport = StubTransport { request throws(TransportError) in
            if request.url == "http://h/login" { return .stub(status: 200, headers: [:]) }
            answered.withLock { $0 += 1 }
            return .stub(status: request.headers[.authorization] == "t2" ? 200 : 401, headers: [:])
        }
        let engine = engine(login, transport)
        engine.lanes.width = 4
        let connections = (0..<40).map { number in
            var request = request(number)
            request.method = .post
            return engine.start(request)
        }
        await untilTrue { login.refreshes == 1 && answered.withLock { $0 } > 20 }
        let signedIn = engine.start(Request("http://h/login", method: .post))
        #expect(try await signedIn.response.status == .ok)
        gate.open()
        for connection in connections { #expect(try await connection.response.status == .ok) }
        #expect(login.refreshes == 1)
    }

    /// How the refresh sends its own request.
    enum Way: CaseIterable { case call, callInSerialLane, calls }

    @Test(arguments: Way.allCases) func `a request sent by the refresh itself does not wait for that refresh`(way: Way)
        async throws
    {
        let box = Guarded<Engine?>(nil)
        defer { box.withLock { $0 = nil } }
        /// Sends its request with the token that it is to refresh.
        struct SelfAuthorizingProvider: RefreshableCredentialProvider {
            let engine: Guarded<Engine?>
            let request: Request
            let way: Way

            func secret(_ name: String, for identity: String?) async throws -> String? { "old" }
            func identity(for request: Request) async throws -> String? { "user" }

            func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {
                let home = try #require(engine.withLock { $0 })
                guard way == .calls else {
                    let answer = try await home.send(request)
                    throw ConnectionError(.badStatus, "\(answer.status.code)")
                }
                for result in await home.send([request.decoding(Int.self)]) { _ = try result.get() }
            }
        }
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport(taking: "new")
        configuration.credentials = SelfAuthorizingProvider(engine: box, request: request(1), way: way)
        configuration.clock = TestClock()
        if way == .callInSerialLane { configuration.lanes = [.default: .serial] }
        let engine = Engine(configuration)
        box.withLock { $0 = engine }
        for asked in [request(1), request(2)] {
            let error = await #expect(throws: ConnectionError.self) { try await engine.send(asked) }
            let cause = error?.cause as? ConnectionError
            #expect(error?.code == .noCredential && cause?.code == .badStatus && cause?.message.contains("401") == true)
        }
    }

    @Test func `a credential is refreshed for a request that an earlier refresh has started`() async throws {
        /// Starts another request when it makes its first token, and does not wait for it.
        struct PrefetchingProvider: RefreshableCredentialProvider {
            let engine: Guarded<Engine?>
            let request: Request
            let number = Guarded(1)
            let begun = Guarded<Connection?>(nil)

            func secret(_ name: String, for identity: String?) async throws -> String? { "t\(number.withLock { $0 })" }
            func identity(for request: Request) async throws -> String? { "user" }

            func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {
                let home = try #require(engine.withLock { $0 })
                if number.withLock({ $0 }) == 1 {
                    let connection = home.start(request)
                    begun.withLock { $0 = connection }
                }
                number.withLock { $0 += 1 }
            }
        }
        let (box, taken) = (Guarded<Engine?>(nil), Guarded(2))
        defer { box.withLock { $0 = nil } }
        var later = request(2)
        later.lane = "later"
        let provider = PrefetchingProvider(engine: box, request: later)
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = StubTransport { request throws(TransportError) in
            let isTaken = request.headers[.authorization]?.hasSuffix("t\(taken.withLock { $0 })") == true
            return .stub(status: isTaken ? 200 : 401)
        }
        configuration.credentials = provider
        configuration.clock = TestClock()
        let engine = Engine(configuration)
        box.withLock { $0 = engine }
        engine.lanes.pause("later")
        #expect(try await engine.send(request(1)).status == .ok)
        let connection = try #require(provider.begun.withLock { $0 })
        taken.withLock { $0 = 3 }
        engine.lanes.resume("later")
        #expect(try await connection.response.status == .ok)
        #expect(provider.number.withLock { $0 } == 3)
    }

    @Test func `two secrets whose refreshes need each other fail instead of waiting`() async throws {
        /// Makes each of two secrets with a request that needs the other.
        struct CircularProvider: RefreshableCredentialProvider {
            let engine: Guarded<Engine?>

            func secret(_ name: String, for identity: String?) async throws -> String? { name }
            func identity(for request: Request) async throws -> String? { "user" }

            func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {
                var request = Request("http://h/\(names.sorted())")
                request.credentials = [.header(.authorization, .secret(names == ["a"] ? "b" : "a"))]
                let answer = try await engine.withLock { $0 }?.send(request)
                guard answer?.status == .ok else { throw ConnectionError(.badStatus, "none") }
            }
        }
        let box = Guarded<Engine?>(nil)
        defer { box.withLock { $0 = nil } }
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport(taking: "new")
        configuration.credentials = CircularProvider(engine: box)
        configuration.clock = TestClock()
        let engine = Engine(configuration)
        box.withLock { $0 = engine }
        var asked = Request("http://h/")
        asked.credentials = [.header(.authorization, .secret("a"))]
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(asked) }
        #expect(error?.code == .noCredential)
    }

    @Test func `a failed refresh fails its requests, with the cause`() async throws {
        gate.open()
        let engine = engine(StubRefreshProvider(gate: gate, isRefusing: true), transport(taking: "t2"))
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(request(1)) }
        #expect(error?.code == .noCredential && error?.cause is StubRefreshProvider.Refused)
    }

    @Test func `a refresh holds no permit of the wire`() async throws {
        let login = StubRefreshProvider(gate: gate)
        let engine = engine(login, transport(taking: "t2"))
        engine.lanes.width = 1
        let connection = engine.start(request(1))
        await untilTrue { login.refreshes == 1 && engine.lanes.running == 0 }
        gate.open()
        #expect(try await connection.response.status == .ok)
    }

    @Test func `a credential is refreshed once, even if requests name further secrets`() async throws {
        let login = StubRefreshProvider(gate: gate)
        let engine = engine(login, transport(taking: "t2"))
        let first = engine.start(request(1))
        await untilTrue { login.refreshes == 1 }
        var both = request(2)
        both.credentials.append(.header(.init("X-Key") ?? .cookie, .secret("key")))
        let second = engine.start(both)
        await untilTrue { login.refreshes == 2 }
        #expect(login.refreshed == [["token"], ["key"]])
        gate.open()
        for connection in [first, second] { _ = try await connection.response }
    }

    @Test func `a request beyond the limit of refreshes still waits for a refresh under way`() async throws {
        let login = StubRefreshProvider(gate: gate)
        let transport = transport(taking: "t6")
        let engine = engine(login, transport)
        gate.open()
        for number in 0..<4 { #expect(try await engine.send(request(number)).status == .unauthorized) }
        gate.close()
        let connections = (4..<7).map { engine.start(request($0)) }
        await untilTrue { login.refreshes == 5 && transport.requests.count == 11 && engine.lanes.running == 0 }
        gate.open()
        for connection in connections { #expect(try await connection.response.status == .ok) }
        #expect(login.refreshes == 5)
    }

    @Test func `each identity has its own limit of refreshes`() async throws {
        gate.open()
        let login = StubRefreshProvider(gate: gate)
        let engine = engine(login, transport(taking: "none"))
        for number in 0..<20 {
            var request = request(number)
            request.identity = number < 10 ? "anna" : "bert"
            #expect(try await engine.send(request).status == .unauthorized)
        }
        #expect(login.refreshes == 10)
    }

    @Test(arguments: [RetryPolicy(deadline: .seconds(10)), RetryPolicy(window: .seconds(10))])
    func `a request whose policy allows no further attempt waits for no refresh`(policy: RetryPolicy) async throws {
        let (login, clock) = (StubRefreshProvider(gate: gate), TestClock())
        let transport = transport(taking: "t2")
        let engine = engine(login, transport, clock: clock)
        var request = request(1)
        request.retry = policy
        let connection = engine.start(request)
        await untilTrue { login.refreshes == 1 && clock.sleeping == [.seconds(10)] }
        clock.advance(by: .seconds(10))
        let response = try await connection.response
        #expect(response.status == .unauthorized && response.attempts.map(\.reason?.code) == [.outOfTime])
        #expect(transport.requests.count == 1 && engine.lanes.running == 0)
        gate.open()
    }

    /// Makes no token until it is canceled.
    private struct EndlessProvider: RefreshableCredentialProvider {
        let begun = Gate()
        let ended = Gate()

        func secret(_ name: String, for identity: String?) async throws -> String? { "t1" }
        func identity(for request: Request) async throws -> String? { "user" }

        func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {
            begun.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            ended.open()
            throw CancellationError()
        }
    }

    @Test func `closing the engine cancels a refresh that no request waits for`() async throws {
        let login = EndlessProvider()
        var configuration = Engine.Configuration(testing: transport(taking: "t2"))
        (configuration.credentials, configuration.retry) = (login, .default)
        let engine = Engine(configuration)
        let connection = engine.start(request(1))
        await untilTrue { login.begun.isOpen }
        connection.cancel()
        await untilTrue { connection.isFinished }
        await engine.close()
        await untilTrue { login.ended.isOpen }
    }

    @Test func `a closed engine refreshes no credential`() async throws {
        let refreshes = CredentialRefreshes(EndlessProvider(), clock: ExchangeClock(TestClock()))
        refreshes.close()
        let wire = try WireRequest(request(1))
        let error = await #expect(throws: ConnectionError.self) { try await refreshes.refresh(wire, since: 0) }
        #expect(error?.code == .noCredential && error?.cause is CancellationError)
    }

    @Test func `a canceled request stops waiting for the refresh`() async throws {
        let login = StubRefreshProvider(gate: gate)
        let engine = engine(login, transport(taking: "t2"))
        var request = request(1)
        // In the caller's task.
        request.cache = .reload
        let task = Task { [request] in try await engine.send(request) }
        await untilTrue { login.refreshes == 1 }
        task.cancel()
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        gate.open()
    }
}
