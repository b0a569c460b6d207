import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `A credential that the server no longer takes` {
    /// Knows one token, and the next after each refresh.
    private final class Login: RefreshableCredentialProvider {
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

        /// What each was to make.
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

    private func engine(_ login: Login, _ transport: StubTransport, clock: TestClock = TestClock()) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        configuration.credentials = login
        // However long the machine takes, no time passes for the retry policy.
        configuration.clock = clock
        return Engine(configuration)
    }

    /// Takes one token alone.
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

    @Test func `is made anew once for all who wait for it`() async throws {
        let login = Login(gate: gate)
        let transport = transport(taking: "t2")
        let engine = engine(login, transport)
        let connections = (0..<5).map { engine.enqueue(request($0)) }
        await untilTrue { transport.requests.count == 5 && login.refreshes == 1 }
        gate.open()
        for connection in connections {
            let response = try await connection.response
            #expect(response.status == .ok)
            #expect(response.attempts.map(\.reason?.code) == [.credential, nil])
        }
        #expect(login.refreshes == 1 && transport.requests.count == 10)
    }

    @Test func `is not made anew twice for one request, nor for one that was sent with an older one`() async throws {
        gate.open()
        let login = Login(gate: gate)
        let hold = Gate()
        let transport = StubTransport { request throws(TransportError) in
            if request.url == "http://h/1", request.headers[.authorization] == "t1" { await hold.wait() }
            return .stub(status: request.headers[.authorization] == "t2" ? 200 : 401, headers: [:])
        }
        let engine = engine(login, transport)
        let late = engine.enqueue(request(1))
        await untilTrue { transport.requests.count == 1 }
        #expect(try await engine.send(request(2)).status == .ok)
        hold.open()
        #expect(try await late.response.status == .ok)
        #expect(login.refreshes == 1)
        let none = self.engine(login, self.transport(taking: "none"))
        #expect(try await none.send(request(3)).status == .unauthorized)
        #expect(login.refreshes == 2)
    }

    @Test func `is not made anew for those who were filled with it before they got their place`() async throws {
        let login = Login(gate: gate)
        let transport = transport(taking: "t2")
        let engine = engine(login, transport)
        var connections = [engine.enqueue(request(0))]
        await untilTrue { login.refreshes == 1 }
        engine.lanes.pauseAll()
        connections += (1..<8).map { engine.enqueue(request($0)) }
        await untilTrue { engine.lanes.waiting == 7 }
        gate.open()
        await untilTrue { engine.lanes.waiting == 8 }
        engine.lanes.resumeAll()
        for connection in connections { #expect(try await connection.response.status == .ok) }
        #expect(login.refreshes == 1)
    }

    /// Has a newer one by itself, and makes none anew when it is asked to.
    private final class Rotating: CredentialProvider {
        let token = Guarded("t1")

        func secret(_ name: String, for identity: String?) async throws -> String? { token.withLock { $0 } }
        func identity(for request: Request) async throws -> String? { "user" }
    }

    @Test(arguments: [HTTPRequest.Method.get, .post])
    func `that has ended in the line for the wire goes out as it is then`(method: HTTPRequest.Method) async throws {
        let (provider, transport) = (Rotating(), transport(taking: "t2"))
        var configuration = Engine.Configuration(store: temporary.store)
        (configuration.transport, configuration.credentials) = (transport, provider)
        configuration.clock = TestClock()
        let engine = Engine(configuration)
        engine.lanes.pauseAll()
        var request = request(1)
        request.method = method
        // One that waits without a task, and one in its own.
        let connection = engine.enqueue(request)
        request.url = "http://h/2"
        let task = Task { [request] in try await engine.send(request) }
        await untilTrue { engine.lanes.waiting == 2 }
        provider.token.withLock { $0 = "t2" }
        engine.lanes.resumeAll()
        #expect(try await connection.response.status == .ok)
        #expect(try await task.value.status == .ok)
        #expect(transport.requests.map { $0.headers[.authorization] } == ["t2", "t2"])
    }

    @Test func `keeps no connection from starting while a request of the same engine makes a new one`() async throws {
        let (login, answered) = (Login(gate: gate), Guarded(0))
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
            return engine.enqueue(request)
        }
        await untilTrue { login.refreshes == 1 && answered.withLock { $0 } > 20 }
        let signedIn = engine.enqueue(Request("http://h/login", method: .post))
        #expect(try await signedIn.response.status == .ok)
        gate.open()
        for connection in connections { #expect(try await connection.response.status == .ok) }
        #expect(login.refreshes == 1)
    }

    /// How what makes it anew asks.
    enum Way: CaseIterable { case call, callInSerialLane, calls }

    @Test(arguments: Way.allCases) func `is not waited for by what makes it anew`(way: Way) async throws {
        let box = Guarded<Engine?>(nil)
        defer { box.withLock { $0 = nil } }
        /// Asks with the very token that it is to make anew.
        struct Careless: RefreshableCredentialProvider {
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
        configuration.credentials = Careless(engine: box, request: request(1), way: way)
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

    @Test func `is made anew for what making it has only begun, as for everybody`() async throws {
        /// Asks for more when it makes its first token, and does not wait for it.
        struct Prefetching: RefreshableCredentialProvider {
            let engine: Guarded<Engine?>
            let request: Request
            let number = Guarded(1)
            let begun = Guarded<Connection?>(nil)

            func secret(_ name: String, for identity: String?) async throws -> String? { "t\(number.withLock { $0 })" }
            func identity(for request: Request) async throws -> String? { "user" }

            func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {
                let home = try #require(engine.withLock { $0 })
                if number.withLock({ $0 }) == 1 {
                    let connection = home.enqueue(request)
                    begun.withLock { $0 = connection }
                }
                number.withLock { $0 += 1 }
            }
        }
        let (box, taken) = (Guarded<Engine?>(nil), Guarded(2))
        defer { box.withLock { $0 = nil } }
        var later = request(2)
        later.lane = "later"
        let provider = Prefetching(engine: box, request: later)
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

    @Test func `is not waited for by one that is made with it, and it with that`() async throws {
        /// Makes each of two secrets with the other.
        struct Circular: RefreshableCredentialProvider {
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
        configuration.credentials = Circular(engine: box)
        configuration.clock = TestClock()
        let engine = Engine(configuration)
        box.withLock { $0 = engine }
        var asked = Request("http://h/")
        asked.credentials = [.header(.authorization, .secret("a"))]
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(asked) }
        #expect(error?.code == .noCredential)
    }

    @Test func `fails its requests where it cannot be made anew, with the cause`() async throws {
        gate.open()
        let engine = engine(Login(gate: gate, isRefusing: true), transport(taking: "t2"))
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(request(1)) }
        #expect(error?.code == .noCredential && error?.cause is Login.Refused)
    }

    @Test func `holds no place on the wire while it is made anew`() async throws {
        let login = Login(gate: gate)
        let engine = engine(login, transport(taking: "t2"))
        engine.lanes.width = 1
        let connection = engine.enqueue(request(1))
        await untilTrue { login.refreshes == 1 && engine.lanes.running == 0 }
        gate.open()
        #expect(try await connection.response.status == .ok)
    }

    @Test func `is made anew once, also where requests name others beside it`() async throws {
        let login = Login(gate: gate)
        let engine = engine(login, transport(taking: "t2"))
        let first = engine.enqueue(request(1))
        await untilTrue { login.refreshes == 1 }
        var both = request(2)
        both.credentials.append(.header(.init("X-Key") ?? .cookie, .secret("key")))
        let second = engine.enqueue(both)
        await untilTrue { login.refreshes == 2 }
        #expect(login.refreshed == [["token"], ["key"]])
        gate.open()
        for connection in [first, second] { _ = try await connection.response }
    }

    @Test func `is waited for by those who come when it may not be made again`() async throws {
        let login = Login(gate: gate)
        let transport = transport(taking: "t6")
        let engine = engine(login, transport)
        gate.open()
        for number in 0..<4 { #expect(try await engine.send(request(number)).status == .unauthorized) }
        gate.close()
        let connections = (4..<7).map { engine.enqueue(request($0)) }
        await untilTrue { login.refreshes == 5 && transport.requests.count == 11 && engine.lanes.running == 0 }
        gate.open()
        for connection in connections { #expect(try await connection.response.status == .ok) }
        #expect(login.refreshes == 5)
    }

    @Test func `is made so often for each identity by itself`() async throws {
        gate.open()
        let login = Login(gate: gate)
        let engine = engine(login, transport(taking: "none"))
        for number in 0..<20 {
            var request = request(number)
            request.identity = number < 10 ? "anna" : "bert"
            #expect(try await engine.send(request).status == .unauthorized)
        }
        #expect(login.refreshes == 10)
    }

    @Test(arguments: [RetryPolicy(deadline: .seconds(10)), RetryPolicy(window: .seconds(10))])
    func `is not waited for when no other attempt may begin`(policy: RetryPolicy) async throws {
        let (login, clock) = (Login(gate: gate), TestClock())
        let transport = transport(taking: "t2")
        let engine = engine(login, transport, clock: clock)
        var request = request(1)
        request.retry = policy
        let connection = engine.enqueue(request)
        await untilTrue { login.refreshes == 1 && clock.sleeping == [.seconds(10)] }
        clock.advance(by: .seconds(10))
        let response = try await connection.response
        #expect(response.status == .unauthorized && response.attempts.map(\.reason?.code) == [.outOfTime])
        #expect(transport.requests.count == 1 && engine.lanes.running == 0)
        gate.open()
    }

    /// Makes nothing until it is canceled.
    private struct Endless: RefreshableCredentialProvider {
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

    @Test func `is made no longer when the engine is closed, though nobody waits for it`() async throws {
        let login = Endless()
        var configuration = Engine.Configuration(testing: transport(taking: "t2"))
        (configuration.credentials, configuration.retry) = (login, .default)
        let engine = Engine(configuration)
        let connection = engine.enqueue(request(1))
        await untilTrue { login.begun.isOpen }
        connection.cancel()
        await untilTrue { connection.isFinished }
        await engine.close()
        await untilTrue { login.ended.isOpen }
    }

    @Test func `is not made anew for an engine that was closed`() async throws {
        let refreshes = CredentialRefreshes(Endless(), clock: ExchangeClock(TestClock()))
        refreshes.close()
        let wire = try WireRequest(request(1))
        let error = await #expect(throws: ConnectionError.self) { try await refreshes.refresh(wire, since: 0) }
        #expect(error?.code == .noCredential && error?.cause is CancellationError)
    }

    @Test func `is not waited for by one who is canceled`() async throws {
        let login = Login(gate: gate)
        let engine = engine(login, transport(taking: "t2"))
        var request = request(1)
        // In the task of the one who asks.
        request.cache = .reload
        let task = Task { [request] in try await engine.send(request) }
        await untilTrue { login.refreshes == 1 }
        task.cancel()
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        gate.open()
    }
}
