import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The activity of an engine", .limit(minutes: 5)) struct EngineActivityTests {
    private let server = ManualServer()
    private let clock = TestClock()
    private let temporary = TemporaryStore()

    private func engine(
        _ transport: (any Transport)? = nil,
        store: Store? = nil,
        _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        var configuration = Engine.Configuration(store: store)
        configuration.transport = transport ?? server.transport
        configuration.clock = clock
        configuration.draw = { 0.5 }
        change(&configuration)
        return Engine(configuration)
    }

    private func flying(_ urls: String...) async { await untilTrue { server.flying == urls } }

    @Test(arguments: [false, true])
    func `an engine's activity reports waiting and running requests, by lane, origin and tag`(
        isCached: Bool
    ) async throws {
        let engine = engine(store: isCached ? temporary.store : nil) { $0.lanes = ["images": LaneLimits(width: 1)] }
        var requests = [Request("http://a/1"), Request("http://b/2"), Request("http://a/3")]
        for index in 0..<2 { requests[index].lane = "images" }
        requests[1].tags = ["x"]
        // The first request starts alone. Of several that start at once, any could get the permit.
        let first = engine.start(requests[0])
        await flying("http://a/1")
        let connections = [first] + requests.dropFirst().map { engine.start($0) }
        #expect(engine.connections == connections)
        await flying("http://a/1", "http://a/3")
        await untilTrue { engine.activity.counts.queued == 1 }
        let snapshot = engine.activity.snapshot
        #expect(snapshot.counts.requests == 3 && snapshot.counts.inFlight == 2 && !snapshot.counts.isIdle)
        #expect(snapshot.lanes["images"]?.inFlight == 1 && snapshot.lanes["images"]?.queued == 1)
        #expect(snapshot.origins["http://a"]?.inFlight == 2 && snapshot.origins["http://b"]?.queued == 1)
        #expect(snapshot.tags["x"]?.queued == 1 && snapshot.tags["x"]?.requests == 1 && snapshot.tags.count == 1)
        server.land("http://a/1")
        await flying("http://a/3", "http://b/2")
        server.landAll()
        await engine.activity.idle()
        #expect(engine.activity.counts == ActivityCounts() && engine.connections.isEmpty)
    }

    @Test(arguments: [false, true]) func `an engine's activity ends the interval of a wait that is canceled`(
        isCached: Bool
    ) async throws {
        let engine = engine(store: isCached ? temporary.store : nil) { $0.width = 1 }
        let recorder = ActivityRecorder(engine.activity)
        let first = engine.start(Request("http://h/1"))
        await flying("http://h/1")
        let second = engine.start(Request("http://h/2"))
        let third = Task { try? await engine.send(Request("http://h/3")) }
        await untilTrue { engine.activity.counts.queued == 2 }
        second.cancel()
        third.cancel()
        _ = await third.value
        await untilTrue { engine.activity.counts.queued == 0 }
        server.landAll()
        _ = try await first.response
        await recorder.idle(engine.activity)
        #expect(recorder.isBalanced && engine.activity.counts == ActivityCounts())
    }

    @Test func `an engine's activity reports the attempts of a request, and the delay between them`() async throws {
        let statuses = Guarded([503, 200])
        let engine = engine(
            StubTransport { _ throws(TransportError) in
                .stub(status: statuses.withLock { $0.removeFirst() })
            })
        let recorder = ActivityRecorder(engine.activity)
        let connection = engine.start(Request("http://h/"))
        await untilTrue { [clock] in clock.sleeping == [.milliseconds(25)] }
        #expect(engine.activity.counts.backingOff == 1 && engine.activity.counts.inFlight == 0)
        #expect(!engine.activity.counts.isIdle)
        clock.advance(by: .milliseconds(25))
        _ = try await connection.response
        await recorder.idle(engine.activity)
        #expect(
            recorder.lines == [
                "request began", "attempt 1 began", "attempt 1 ended 503", "backoff 2 began", "backoff 2 ended",
                "attempt 2 began", "attempt 2 ended 200", "request ended 200 network",
            ])
    }

    @Test func `an engine's activity counts one exchange for all callers that share it`() async throws {
        let engine = engine(store: temporary.store)
        let recorder = ActivityRecorder(engine.activity)
        let connections = (0..<3).map { _ in engine.start(Request("http://h/")) }
        await flying("http://h/")
        await untilTrue { recorder.lines.count { $0 == "miss" } == 3 }
        #expect(engine.activity.counts.requests == 3 && engine.activity.counts.inFlight == 1)
        server.landAll()
        for connection in connections { _ = try await connection.response }
        await recorder.idle(engine.activity)
        #expect(recorder.lines.count { $0.hasPrefix("attempt") } == 2 && recorder.isBalanced)
    }

    @Test(arguments: [HTTPRequest.Method.get, .post]) func `an engine's activity counts paused connections`(
        method: HTTPRequest.Method
    ) async throws {
        let engine = engine()
        let recorder = ActivityRecorder(engine.activity)
        let connection = engine.start(Request("http://h/", method: method))
        await flying("http://h/")
        connection.pause()
        connection.pause()
        #expect(engine.activity.counts.paused == 1)
        // A request that must not be sent twice is still on the wire.
        if method == .post { server.landAll() }
        #expect(await engine.activity.idle())
        #expect(engine.activity.counts.requests == 1 && engine.activity.counts.inFlight == 0)
        connection.resume()
        #expect(engine.activity.counts.paused == 1)
        connection.resume()
        await untilTrue { engine.activity.counts.paused == 0 }
        if method == .get { await flying("http://h/") }
        server.landAll()
        _ = try await connection.response
        await recorder.idle(engine.activity)
        #expect(
            recorder.isBalanced && recorder.lines.filter { $0.hasPrefix("pause") } == ["pause began", "pause ended"])
    }

    @Test func `an engine's activity counts a pause until the connection is canceled`() async throws {
        let engine = engine()
        let recorder = ActivityRecorder(engine.activity)
        let connection = engine.connection(for: Request("http://h/"))
        connection.pause()
        #expect(engine.activity.counts == ActivityCounts())
        engine.start(connection)
        #expect(engine.activity.counts.paused == 1 && engine.activity.counts.requests == 1)
        connection.cancel()
        await untilTrue { connection.isFinished }
        #expect(engine.activity.counts == ActivityCounts() && recorder.isBalanced)
    }

    /// An engine whose entry of `http://h/` is stale.
    private func engineWithStale() async throws -> Engine {
        server.headers = [.cacheControl: "max-age=0"]
        let engine = engine(store: temporary.store)
        let first = engine.start(Request("http://h/"))
        await flying("http://h/")
        server.landAll()
        _ = try await first.response
        return engine
    }

    @Test func `an engine's activity counts one refresh for all stale hits during the refresh`()
        async throws
    {
        let engine = try await engineWithStale()
        let recorder = ActivityRecorder(engine.activity)
        for _ in 0..<20 {
            #expect(try await engine.send(Request("http://h/", cache: .staleWhileRevalidate)).source == .stale)
        }
        await flying("http://h/")
        #expect(engine.activity.counts.refreshing == 1)
        server.landAll()
        await recorder.idle(engine.activity)
        #expect(recorder.lines.count { $0 == "refresh began" } == 1)
        // A new refresh begins after the end of the first.
        #expect(try await engine.send(Request("http://h/", cache: .staleWhileRevalidate)).source == .stale)
        await flying("http://h/")
        server.landAll()
        await recorder.idle(engine.activity)
    }

    @Test func `an engine's activity counts background refreshes separately`() async throws {
        let engine = try await engineWithStale()
        let recorder = ActivityRecorder(engine.activity)
        #expect(try await engine.send(Request("http://h/", cache: .staleWhileRevalidate)).source == .stale)
        await flying("http://h/")
        #expect(engine.activity.counts.refreshing == 1 && engine.activity.counts.requests == 0)
        server.landAll()
        await recorder.idle(engine.activity)
        // The response is delivered while the refresh runs.
        #expect(recorder.lines.contains("hit stale"))
        let refresh = recorder.lines.filter { $0 != "hit stale" }
        #expect(refresh == ["refresh began", "attempt 1 began", "attempt 1 ended 200", "refresh ended 200 network"])
    }

    @Test func `an engine's activity has no interval for a response from the cache`() async throws {
        let engine = temporary.engine(StubTransport(headers: [.cacheControl: "max-age=3600"]))
        _ = try await engine.send(Request("http://h/"))
        let recorder = ActivityRecorder(engine.activity)
        _ = try await engine.send(Request("http://h/"))
        #expect(recorder.lines == ["hit cache"])
    }

    @Test func `hits and misses name their requests without secrets, and their keys`() async throws {
        let engine = temporary.engine(StubTransport(headers: [.cacheControl: "max-age=3600"]))
        let lookups = Guarded<[ActivityLookup]>([])
        let observation = engine.activity.observe { event in
            switch event {
            case .hit(_, let lookup), .miss(let lookup): lookups.withLock { $0.append(lookup) }
            default: break
            }
        }
        let request = Request("http://ann:pass@h/?b=2&token=hidden&a=1")
        for _ in 0..<2 { _ = try await engine.send(request) }
        let key = try await engine.key(of: request)
        #expect(lookups.withLock { $0.map(\.key) } == [key, key])
        let text = "GET http://h/?a=1&b=2&token=•••"
        #expect(lookups.withLock { $0.map(\.description) } == [text, text])
        withExtendedLifetime(observation) {}
    }

    @Test func `an engine's activity has one interval for a call, with its result`() async throws {
        let engine = engine(
            StubTransport { request throws(TransportError) in
                guard request.url != "http://h/fails" else {
                    throw TransportError(.badResponse, "no HTTP", serverMayHaveActed: true)
                }
                let isMoved = request.url == "http://h/old"
                return .stub(status: isMoved ? 302 : 200, headers: isMoved ? [.location: "/new"] : [:])
            })
        let recorder = ActivityRecorder(engine.activity)
        _ = try await engine.send(Request("http://h/old"))
        _ = try? await engine.send(Request("http://h/fails", method: .post))
        #expect(
            recorder.lines == [
                "request began", "attempt 1 began", "attempt 1 ended 302", "attempt 1 began", "attempt 1 ended 200",
                "request ended 200 network", "request began", "attempt 1 began", "attempt 1 ended badResponse",
                "request ended badResponse",
            ])
    }

    @Test func `an engine's activity is not idle between two dependent connections`() async throws {
        let engine = engine(StubTransport())
        let connections = (0..<50).map { engine.connection(for: Request("http://h/\($0)")) }
        for (first, second) in zip(connections, connections.dropFirst()) { second.addDependency(first) }
        for connection in connections { engine.start(connection) }
        await engine.activity.idle()
        #expect(connections.allSatisfy { $0.isFinished })
    }

    @Test(arguments: [false, true]) func `an engine's activity reveals no secret of a URL`(isConnection: Bool)
        async throws
    {
        let engine = engine(StubTransport()) { configuration in
            configuration.baseURL = "http://h/v1/"
            configuration.rules.secrets = ["pin"]
        }
        let urls = Guarded<Set<String>>([])
        let observation = engine.activity.observe { event in
            if case .began(let interval) = event { urls.withLock { _ = $0.insert(interval.url) } }
        }
        let request = Request("c?access_token=hidden", parameters: ["b": 1, "pin": 1234])
        if isConnection { _ = try await engine.start(request).response } else { _ = try await engine.send(request) }
        #expect(urls.withLock { $0 } == ["http://h/v1/c?access_token=•••&b=1&pin=•••"])
        withExtendedLifetime(observation) {}
    }

    /// Begins and ends the interval of an upload, and releases its body.
    private func countUpload(by engine: Engine, onRelease: @escaping @Sendable () -> Void) {
        let length = 1 << 20
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: length, alignment: 16)
        bytes.initializeMemory(as: UInt8.self, repeating: 7, count: length)
        let body = Data(
            bytesNoCopy: bytes, count: length,
            deallocator: .custom { bytes, _ in
                bytes.deallocate()
                onRelease()
            })
        let request = Request("http://h/upload", method: .post, body: .bytes(body))
        engine.pipeline.begin(.request, for: request).end()
    }

    @Test func `an event that an observer keeps does not keep the body of its request`() {
        let intervals = Guarded<[ActivityInterval]>([])
        let isReleased = Guarded(false)
        let engine = engine(StubTransport())
        let observation = engine.activity.observe { event in
            if case .ended(let interval, _) = event { intervals.withLock { $0.append(interval) } }
        }
        countUpload(by: engine) { isReleased.withLock { $0 = true } }
        #expect(isReleased.withLock { $0 })
        #expect(intervals.withLock { $0.map(\.url) } == ["http://h/upload"])
        withExtendedLifetime(observation) {}
    }

    private static let placements: [(ParameterDestination, RequestBody?, String)] = [
        (.automatic, nil, "http://h/"), (.automatic, .bytes(Data("body".utf8)), "http://h/?b=1"),
        (.form, nil, "http://h/"),
        (.json, nil, "http://h/"), (.query, nil, "http://h/?b=1"), (.query, .bytes(Data("body".utf8)), "http://h/?b=1"),
    ]

    @Test(arguments: placements) func `an engine's activity reports the parameters that are in the query`(
        destination: ParameterDestination, body: RequestBody?, url: String
    ) {
        let urls = Guarded<[String]>([])
        let engine = engine(StubTransport())
        let observation = engine.activity.observe { event in
            if case .began(let interval) = event { urls.withLock { $0.append(interval.url) } }
        }
        var request = Request("http://h/", method: .post, parameters: ["b": 1], body: body)
        request.destination = destination
        engine.pipeline.begin(.request, for: request).end()
        #expect(urls.withLock { $0 } == [url])
        withExtendedLifetime(observation) {}
    }

    @Test func `an engine's observers receive events that occur while the cache is opened`() throws {
        try FileManager.default.createDirectory(at: temporary.directory, withIntermediateDirectories: true)
        try Data(repeating: 7, count: 10_000).write(to: URL(filePath: temporary.store.cachePath))
        let observer = SetAsideObserver()
        let engine = engine(store: temporary.store) { $0.observers = [observer] }
        #expect(engine.cacheFailure == nil && observer.count.withLock { $0 } == 1)
    }
}

private struct SetAsideObserver: ActivityObserver {
    let count = Guarded(0)

    func receive(_ event: ActivityEvent) {
        if case .cacheSetAside = event { count.withLock { $0 += 1 } }
    }
}
