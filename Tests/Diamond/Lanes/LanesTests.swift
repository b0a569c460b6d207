import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The lanes of an engine", .limit(minutes: 10)) struct LanesTests {
    private let server = ManualServer()
    private let temporary = TemporaryStore()
    private let clock = ManualClock()

    private func engine(width: Int = 64, _ lanes: [Lane: LaneLimits] = [:]) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = server.transport
        configuration.now = { [clock] in clock.now }
        configuration.width = width
        configuration.originWidth = 2
        configuration.lanes = lanes
        return Engine(configuration)
    }

    private func flying(_ urls: [String]) async { await untilTrue { server.flying == urls } }

    @Test func `allow 64 requests on the wire by default, and 6 to one origin`() async {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = server.transport
        for (urls, width) in [((0..<70).map { "http://h\($0)/" }, 64), ((0..<8).map { "http://h/\($0)" }, 6)] {
            let engine = Engine(configuration)
            for url in urls { engine.start(Request(url)) }
            await untilTrue { server.flying.count == width && engine.lanes.waiting == urls.count - width }
            await engine.close()
        }
    }

    @Test func `limit the requests on the wire to each origin, and no answers from the cache`() async throws {
        let engine = engine()
        let first = engine.start(Request("http://h/1"))
        await flying(["http://h/1"])
        server.land("http://h/1")
        _ = try await first.response
        var connections = ["http://h/2", "http://h/3"].map { engine.start(Request($0)) }
        await flying(["http://h/2", "http://h/3"])
        connections += ["http://h/4", "http://i/5"].map { engine.start(Request($0)) }
        await flying(["http://h/2", "http://h/3", "http://i/5"])
        await untilTrue { engine.lanes.waiting == 1 }
        // A hit needs no permit.
        #expect(try await engine.start(Request("http://h/1")).response.source == .cache)
        #expect(try await engine.send(Request("http://h/1")).source == .cache)
        server.land("http://h/2")
        await flying(["http://h/3", "http://h/4", "http://i/5"])
        for url in server.flying { server.land(url) }
        for connection in connections { #expect(try await connection.response.status == .ok) }
        #expect(engine.lanes.running == 0)
    }

    @Test(
        arguments: [Request("http://h/1"), Request("http://h/1", cache: .noStore)],
        [(503, "http://h/1"), (302, "http://h/4")])
    func `raise a waiting request's priority, also between attempts and after a redirect`(
        request: Request,
        answer: (status: Int, next: String)
    ) async throws {
        let (gate, isFirst, clock) = (Gate(), Guarded(true), TestClock())
        let transport = StubTransport { request throws(TransportError) in
            let isFirst = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            guard isFirst else { return try await server.transport.send(request) }
            await gate.wait()
            return .stub(status: answer.status, headers: [.location: "/4"])
        }
        var configuration = Engine.Configuration(store: temporary.store)
        (configuration.transport, configuration.clock, configuration.width) = (transport, clock, 1)
        let engine = Engine(configuration)
        var connections = [engine.start(request)]
        await untilTrue { transport.requests.count == 1 }
        for (index, url) in ["http://h/2", "http://h/3"].enumerated() {
            connections.append(engine.start(Request(url)))
            await untilTrue { engine.lanes.waiting == index + 1 }
        }
        gate.open()
        await flying(["http://h/2"])
        if answer.status == 503 {
            await untilTrue { clock.sleeping.count == 1 }
            clock.advance(by: .seconds(1))
        }
        // A wait is counted when it follows the priority.
        await untilTrue { engine.activity.counts.queued == 2 }
        connections[0].queuePriority = .high
        server.land("http://h/2")
        await untilTrue { transport.requests.count == 3 }
        try #require(transport.requests[2].url == answer.next)
        for url in [answer.next, "http://h/3"] {
            await flying([url])
            server.land(url)
        }
        for connection in connections { #expect(try await connection.response.status == .ok) }
    }

    @Test func `end the wait for a permit when its time is up`() async {
        let (lanes, clock) = (Lanes(width: 1, originWidth: 1, limits: [:]), TestClock())
        let scope = PermitScope(lane: .default, origin: "http://h")
        #expect(lanes.acquireIfAvailable(scope))
        let wait = Task {
            await lanes.acquire(scope, for: Caller().waiter, within: TimeLimit(.seconds(1), by: clock))
        }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .seconds(1))
        #expect(await !wait.value && lanes.waiting == 0)
        lanes.release(scope)
        #expect(await lanes.acquire(scope, for: Caller().waiter, within: TimeLimit(.zero, by: clock)))
        #expect(lanes.running == 1)
    }

    @Test func `begin the more urgent requests first`() async throws {
        let engine = engine(width: 1)
        let first = engine.start(Request("http://h/0"))
        await flying(["http://h/0"])
        let low = engine.connection(for: Request("http://h/1")), high = engine.connection(for: Request("http://h/2"))
        low.queuePriority = .low
        high.queuePriority = .high
        engine.start(low)
        await untilTrue { engine.lanes.waiting == 1 }
        engine.start(high)
        await untilTrue { engine.lanes.waiting == 2 }
        for url in ["http://h/0", "http://h/2", "http://h/1"] {
            await flying([url])
            server.land(url)
        }
        for connection in [first, low, high] { _ = try await connection.response }
    }

    @Test func `give a background refresh the priority of its caller`() async throws {
        let engine = engine(width: 1)
        let stored = Request("http://h/1", cache: .staleWhileRevalidate)
        let first = engine.start(stored)
        await flying(["http://h/1"])
        server.land("http://h/1")
        _ = try await first.response
        clock.advance(by: 3601)
        let busy = engine.start(Request("http://h/0"))
        await flying(["http://h/0"])
        let prefetch = engine.connection(for: stored)
        prefetch.queuePriority = .veryLow
        engine.start(prefetch)
        #expect(try await prefetch.response.source == .stale)
        await untilTrue { engine.lanes.waiting == 1 }
        let urgent = engine.start(Request("http://h/2"))
        await untilTrue { engine.lanes.waiting == 2 }
        for number in [0, 2, 1] {
            await flying(["http://h/\(number)"])
            server.land("http://h/\(number)")
        }
        for connection in [busy, urgent] { _ = try await connection.response }
        await engine.waitForRefreshes()
    }

    @Test func `let a waiting request become more urgent`() async throws {
        let engine = engine(width: 1)
        let first = engine.start(Request("http://h/0"))
        await flying(["http://h/0"])
        var waiting: [Connection] = []
        for number in 1...3 {
            waiting.append(engine.start(Request("http://h/\(number)")))
            await untilTrue { engine.activity.counts.queued == number }
        }
        waiting[2].queuePriority = .high
        for number in [0, 3, 1, 2] {
            await flying(["http://h/\(number)"])
            server.land("http://h/\(number)")
        }
        for connection in [first] + waiting { _ = try await connection.response }
    }

    @Test func `remove the waiting requests that a predicate selects, wherever they wait`() async throws {
        let engine = engine(width: 1)
        let flown = engine.start(Request("http://h/0", "images"))
        await flying(["http://h/0"])
        let kept = engine.start(Request("http://h/1"))
        let waiting = engine.start(Request("http://h/2", "images"))
        let dependent = engine.connection(for: Request("http://h/3", "images"))
        dependent.addDependency(kept)
        engine.start(dependent)
        await untilTrue { engine.lanes.waiting == 2 }
        #expect(engine.cancel { $0.request.lane == "images" } == 3)
        for connection in [flown, waiting, dependent] {
            let error = await #expect(throws: ConnectionError.self) { try await connection.response }
            #expect(error?.code == .cancelled)
        }
        server.land("http://h/0")
        await flying(["http://h/1"])
        server.land("http://h/1")
        #expect(try await kept.response.status == .ok)
        await untilTrue { [flown, waiting, dependent].allSatisfy(\.isFinished) }
        #expect(engine.cancel { _ in true } == 0)
    }

    @Test func `give a request that returns from a delay its present priority`() async throws {
        let clock = TestClock()
        let isRefused = Guarded(true)
        let transport = StubTransport { [server] request throws(TransportError) in
            let isFirst =
                request.url == "http://h/0"
                && isRefused.withLock { isRefused in
                    defer { isRefused = false }
                    return isRefused
                }
            return isFirst ? .stub(status: 503) : try await server.transport.send(request)
        }
        var configuration = Engine.Configuration(testing: transport, clock: clock)
        configuration.retry = .default
        configuration.width = 1
        let engine = Engine(configuration)
        let repeated = engine.start(Request("http://h/0", method: .put))
        await untilTrue { !clock.sleeping.isEmpty }
        let first = engine.start(Request("http://h/1"))
        await flying(["http://h/1"])
        let second = engine.start(Request("http://h/2"))
        await untilTrue { engine.lanes.waiting == 1 }
        repeated.queuePriority = .high
        clock.advance(by: try #require(clock.sleeping.first))
        await untilTrue { engine.lanes.waiting == 2 }
        for number in [1, 0, 2] {
            await flying(["http://h/\(number)"])
            server.land("http://h/\(number)")
        }
        for connection in [repeated, first, second] { _ = try await connection.response }
    }

    @Test(arguments: [-1, 0, 1, Int.max]) func `accept any width`(width: Int) async throws {
        let engine = engine(width: width)
        engine.lanes.originWidth = width
        var limits = LaneLimits()
        limits.width = width
        #expect(limits.width == max(1, width))
        engine.lanes["images"] = limits
        let connection = engine.start(Request("http://h/1", "images"))
        await flying(["http://h/1"])
        server.land("http://h/1")
        #expect(try await connection.response.status == .ok)
    }

    @Test func `can be made wider while connections wait`() async throws {
        let engine = engine(width: 1)
        let connections = (0..<6).map { engine.start(Request("http://h\($0)/")) }
        await untilTrue { engine.lanes.waiting == 5 && server.flying.count == 1 }
        engine.lanes.width = 6
        await untilTrue { server.flying.count == 6 }
        for url in server.flying { server.land(url) }
        for connection in connections { _ = try await connection.response }
    }

    @Test func `paused lanes begin no request, and still answer from the cache`() async throws {
        let engine = engine()
        let first = engine.start(Request("http://h/1", "images"))
        await flying(["http://h/1"])
        server.land("http://h/1")
        _ = try await first.response
        engine.lanes.pause("images")
        #expect(engine.lanes.isPaused("images") && !engine.lanes.isPaused(.default))
        let waiting = engine.start(Request("http://h/2", "images"))
        await untilTrue { engine.lanes.waiting == 1 }
        #expect(try await engine.start(Request("http://h/1", "images")).response.source == .cache)
        #expect(server.flying.isEmpty)
        engine.lanes.resume("images")
        await flying(["http://h/2"])
        server.land("http://h/2")
        #expect(try await waiting.response.status == .ok)
    }

    @Test func `requests waiting in paused lanes end when the engine is closed`() async throws {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = ClosingStub()
        let engine = Engine(configuration)
        engine.lanes.pauseAll()
        let task = Task { try await engine.send(Request("http://h/0")) }
        let connection = engine.start(Request("http://h/1"))
        await untilTrue { engine.lanes.waiting == 2 }
        await engine.close()
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(error?.code == .noEngine)
        let other = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(other?.code == .cancelled)
        #expect(engine.lanes.waiting == 0)
    }

    private struct ClosingStub: Transport {
        private let isClosed = Guarded(false)

        func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
            if isClosed.withLock({ $0 }) { throw TransportError(.closed, "the transport was closed") }
            return .stub()
        }

        func close() async { isClosed.withLock { $0 = true } }
    }

    @Test func `release waiting requests that are canceled, and reserve no permits for them`() async throws {
        let engine = engine(width: 1)
        let first = engine.start(Request("http://h/0"))
        await flying(["http://h/0"])
        let waiting = (1..<100).map { engine.start(Request("http://h/\($0)")) }
        await untilTrue { engine.lanes.waiting == 99 }
        for connection in waiting { connection.cancel() }
        for connection in waiting { await #expect(throws: ConnectionError.self) { try await connection.response } }
        await untilTrue { waiting.allSatisfy(\.isFinished) }
        #expect(engine.lanes.waiting == 0 && engine.lanes.running == 1)
        server.land("http://h/0")
        _ = try await first.response
        await untilTrue { engine.lanes.running == 0 }
    }
}
