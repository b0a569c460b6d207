import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// A client that collects what a gateway passes on. It reads nothing while its gate is closed.
private final class WaitingClient: GatewayClient {
    let hasSentBody = true
    private let received = Guarded<(head: Response?, body: Data)>((nil, Data()))
    private let isReading: Gate?

    init(isReading: Gate? = nil) { self.isReading = isReading }

    var head: Response? { received.withLock { $0.head } }
    var body: Data { received.withLock { $0.body } }
    var text: String { String(decoding: body, as: UTF8.self) }

    func begin(_ head: Response) async throws { received.withLock { $0.head = head } }

    func write(_ piece: Data) async throws {
        await isReading?.wait()
        received.withLock { $0.body += piece }
    }
}

/// RFC 9111 section 4: a cache may combine several requests into one.
@Suite("The clients of a gateway", .limit(minutes: 5)) struct GatewaySharingTests {
    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    private let callers = JoinedCallers()

    private func engine(_ transport: any Transport, _ kind: CacheKind = .shared) -> Engine {
        temporary.engine(transport, clock: clock) {
            $0.cacheKind = kind
            $0.makeGateway(width: 64)
        }
    }

    private func forward(
        _ headers: HTTPFields = [:], to client: WaitingClient, over engine: Engine
    ) -> Task<Void, any Error> {
        let request = Request(forwarding: .get, origin: "http://h", target: "/a", headers: headers)
        return Task { try await engine.forward(request, target: "/a", upload: nil, to: client) }
    }

    /// Forwards the same request for several clients, and returns when all wait.
    private func forward(
        _ headers: [HTTPFields], over engine: Engine
    ) async -> [(client: WaitingClient, task: Task<Void, any Error>)] {
        let before = callers.count
        let calls = headers.map { headers in
            let client = WaitingClient()
            return (client, forward(headers, to: client, over: engine))
        }
        await callers.reach(before + headers.count)
        return calls
    }

    private func agents(_ count: Int) -> [HTTPFields] { (0..<count).map { [.userAgent: "agent \($0)"] } }

    @Test(arguments: [CacheKind.shared, .private])
    func `share one exchange if they send the same request at the same time`(kind: CacheKind) async throws {
        let server = ManualServer()
        let transport = server.transport
        let engine = engine(transport, kind)
        callers.watch(engine)
        let calls = await forward(agents(50), over: engine)
        await untilTrue { server.flying == ["http://h/a"] }
        server.landAll()
        for (client, task) in calls {
            try await task.value
            #expect(client.text == "http://h/a" && client.head?.status == .ok)
        }
        #expect(transport.requests.count == 1)
        #expect(calls.count { $0.client.head?.cacheStatus?.isCollapsed == true } == 49)
    }

    static let unshared: [(CacheKind, HTTPFields)] = [
        (.shared, [.cacheControl: "no-store"]), (.private, [.cacheControl: "no-store"]),
        (.shared, [.cacheControl: "private, max-age=60"]), (.shared, [.cacheControl: "max-age=0"]),
        (.private, [.cacheControl: "no-cache"]), (.shared, [.vary: "*"]),
        (.shared, [.cacheControl: "max-age=60", .vary: "User-Agent"]),
    ]

    @Test(arguments: unshared)
    func `send requests of their own, side by side, if the response cannot be shared, and do not wait again`(
        kind: CacheKind, headers: HTTPFields
    ) async throws {
        let server = ManualServer()
        server.headers = headers
        let transport = server.transport
        let engine = engine(transport, kind)
        callers.watch(engine)
        var calls = await forward(agents(10), over: engine)
        await untilTrue { server.flying.count == 1 }
        server.landAll()
        await untilTrue { server.flying.count == 9 }
        server.landAll()
        for (client, task) in calls {
            try await task.value
            #expect(client.text == "http://h/a")
        }
        clock.advance(by: 3600)
        calls = await forward(agents(10), over: engine)
        await untilTrue { server.flying.count == 10 }
        server.landAll()
        for call in calls { try await call.task.value }
        #expect(transport.requests.count == 20)
    }

    @Test func `share an exchange again after a response that can be shared`() async throws {
        let server = ManualServer()
        server.headers = [.cacheControl: "no-store"]
        let transport = server.transport
        let engine = engine(transport)
        callers.watch(engine)
        for (control, count) in [("no-store", 1), ("max-age=60", 1), ("max-age=60", 2)] {
            server.headers = [.cacheControl: control]
            let calls = await forward(agents(count), over: engine)
            await untilTrue { server.flying.count == 1 }
            server.landAll()
            for call in calls { try await call.task.value }
            clock.advance(by: 120)
        }
        #expect(transport.requests.count == 3)
    }

    static let authorized: [(control: String, count: Int)] = [
        ("max-age=60", 4), ("max-age=60, public", 1), ("s-maxage=60", 1), ("max-age=60, must-revalidate", 1),
    ]

    @Test(arguments: authorized)
    func `with credentials share only what the server allows`(control: String, count: Int) async throws {
        let server = ManualServer()
        server.headers = [.cacheControl: control]
        let transport = server.transport
        let engine = engine(transport)
        callers.watch(engine)
        let calls = await forward((0..<4).map { [.authorization: "Basic \($0)"] }, over: engine)
        await untilTrue { server.flying.count == 1 }
        server.landAll()
        if count > 1 {
            await untilTrue { server.flying.count == count - 1 }
            server.landAll()
        }
        for call in calls { try await call.task.value }
        #expect(transport.requests.count == count)
    }

    @Test(arguments: [
        (HTTPField.Name.range, "bytes=0-1"), (.ifNoneMatch, "\"a\""), (.cacheControl, "no-cache"),
        (.accept, "text/html"),
    ])
    func `do not wait for an exchange that is not for them`(name: HTTPField.Name, value: String) async throws {
        let server = ManualServer()
        let engine = engine(server.transport)
        callers.watch(engine)
        let calls = await forward([[:], [name: value]], over: engine)
        await untilTrue { server.flying.count == 2 }
        server.landAll()
        for call in calls { try await call.task.value }
    }

    @Test(arguments: [("max-age=10", 1), ("no-cache", 10)])
    func `share one validation of a stored response`(control: String, count: Int) async throws {
        let gate = Gate()
        let transport = StubTransport { request throws(TransportError) in
            let headers: HTTPFields = [.cacheControl: control, .eTag: "\"a\""]
            guard request.headers[.ifNoneMatch] != nil else { return .stub(headers: headers, body: "stored") }
            await gate.wait()
            return .stub(status: 304, headers: headers)
        }
        let engine = engine(transport)
        callers.watch(engine)
        try await forward(to: WaitingClient(), over: engine).value
        clock.advance(by: 60)
        let calls = await forward(agents(10), over: engine)
        await untilTrue { transport.requests.count >= 2 }
        gate.open()
        for (client, task) in calls {
            try await task.value
            #expect(client.text == "stored" && client.head?.status == .ok)
        }
        #expect(transport.requests.count == 1 + count)
    }

    @Test func `get their response if the first of them leaves`() async throws {
        let server = ManualServer()
        let transport = server.transport
        let engine = engine(transport)
        callers.watch(engine)
        let first = forward(to: WaitingClient(), over: engine)
        await callers.reach(1)
        let calls = await forward(agents(2), over: engine)
        first.cancel()
        await #expect(throws: ConnectionError.self) { try await first.value }
        await untilTrue { server.flying.count == 1 }
        server.landAll()
        for (client, task) in calls {
            try await task.value
            #expect(client.text == "http://h/a")
        }
        #expect(transport.requests.count == 1)
    }

    @Test func `end an exchange when the last of them leaves before the head`() async throws {
        let server = ManualServer()
        let engine = engine(server.transport)
        callers.watch(engine)
        let calls = await forward(agents(3), over: engine)
        await untilTrue { server.flying.count == 1 }
        for call in calls { call.task.cancel() }
        for call in calls { await #expect(throws: ConnectionError.self) { try await call.task.value } }
        await untilTrue { server.flying.isEmpty && engine.lanes.running == 0 }
    }

    @Test func `read the body while it is received, and join until its end`() async throws {
        let server = PushingServer()
        let engine = engine(server.transport)
        let clients = (0..<3).map { _ in WaitingClient() }
        var tasks = [forward(to: clients[0], over: engine), forward(to: clients[1], over: engine)]
        await untilTrue { server.count == 1 }
        server.push("first ")
        await untilTrue { clients.prefix(2).allSatisfy { $0.text == "first " } }
        tasks.append(forward(to: clients[2], over: engine))
        await untilTrue { clients[2].text == "first " }
        server.push("last")
        server.finish()
        for task in tasks { try await task.value }
        #expect(clients.allSatisfy { $0.text == "first last" } && server.count == 1)
    }

    @Test func `get the whole response if they join as the exchange ends`() async throws {
        let server = ManualServer()
        let engine = engine(server.transport)
        let isFirstDone = DispatchSemaphore(value: 0)
        let misses = Guarded(0)
        let observation = engine.activity.observe { event in
            guard case .miss = event else { return }
            let count = misses.withLock { count in
                count += 1
                return count
            }
            guard count == 2 else { return }
            // The second client has joined, and has no event of the exchange yet.
            server.landAll()
            _ = isFirstDone.wait(timeout: .now() + 10)
        }
        let clients = [WaitingClient(), WaitingClient()]
        let first = forward(to: clients[0], over: engine)
        await untilTrue { server.flying.count == 1 }
        let second = forward(to: clients[1], over: engine)
        try await first.value
        isFirstDone.signal()
        try await second.value
        for client in clients { #expect(client.text == "http://h/a" && client.head?.status == .ok) }
        _ = observation
    }

    @Test func `fail together if the transfer breaks, and nothing is stored`() async throws {
        let server = PushingServer()
        let engine = engine(server.transport)
        let clients = [WaitingClient(), WaitingClient()]
        let tasks = clients.map { forward(to: $0, over: engine) }
        await untilTrue { server.count == 1 }
        server.push("first")
        await untilTrue { clients.allSatisfy { $0.text == "first" } }
        server.finish(throwing: TransportError(.connectionLost, "broken", serverMayHaveActed: true))
        for task in tasks { await #expect(throws: ConnectionError.self) { try await task.value } }
        await engine.cache?.flush()
        #expect(try engine.cache?.count(.all) == 0 && server.count == 1)
    }

    @Test func `do not wait for a slow one, which reads the rest from the store`() async throws {
        let server = PushingServer()
        let engine = engine(server.transport)
        let isReading = Gate()
        let slow = WaitingClient(isReading: isReading)
        let slowTask = forward(to: slow, over: engine)
        await untilTrue { server.count == 1 }
        let quick = WaitingClient()
        let quickTask = forward(to: quick, over: engine)
        let body = Data.noise(5 << 20)
        server.push(body.prefix(1))
        await untilTrue { quick.body.count == 1 }
        for start in stride(from: 1, to: body.count, by: 100_000) {
            server.push(body[start..<min(start + 100_000, body.count)])
        }
        await untilTrue { quick.body.count == body.count }
        // One that comes late reads the beginning from the store, too.
        let late = WaitingClient()
        let lateTask = forward(to: late, over: engine)
        await untilTrue { late.body.count == body.count }
        server.finish()
        try await quickTask.value
        try await lateTask.value
        #expect(slow.body.isEmpty && quick.body == body && late.body == body)
        isReading.open()
        try await slowTask.value
        #expect(slow.body == body && server.count == 1)
    }

    @Test func `wait only as long as the slowest would alone, if the response cannot be stored`() async throws {
        let server = PushingServer(headers: [.cacheControl: "no-store"])
        let engine = engine(server.transport)
        let isReading = Gate()
        let slow = WaitingClient(isReading: isReading)
        let task = forward(to: slow, over: engine)
        await untilTrue { server.count == 1 }
        let piece = Data.noise(100_000)
        for _ in 0..<50 { server.push(piece) }
        server.finish()
        isReading.open()
        try await task.value
        #expect(slow.body.count == 50 * piece.count)
    }

    @Test func `share failures to reach the server`() async throws {
        let gate = Gate()
        let transport = StubTransport { _ throws(TransportError) in
            await gate.wait()
            throw TransportError(.cannotConnect, "down", serverMayHaveActed: false)
        }
        let engine = engine(transport)
        callers.watch(engine)
        let calls = await forward(agents(10), over: engine)
        gate.open()
        for call in calls { await #expect(throws: ConnectionError.self) { try await call.task.value } }
        #expect(transport.requests.count == 1)
    }
}
