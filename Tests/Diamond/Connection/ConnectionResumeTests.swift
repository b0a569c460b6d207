import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("A connection that is resumed", .limit(minutes: 5)) struct ConnectionResumeTests {
    private static let half = 2 << 20

    private let temporary = TemporaryStore()
    private let wall = ManualClock()
    private let server = RangeServer { $0.flows = [.held(half)] }

    private func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = server.transport
        configuration.memoryCapacity = 0
        configuration.draw = { 0 }
        configuration.clock = TestClock()
        configuration.now = { [wall] in wall.now }
        change(&configuration)
        return Engine(configuration)
    }

    /// Starts a connection, and pauses it when half of the response has arrived.
    private func paused(_ request: Request, on engine: Engine) async -> Connection {
        let before = server.drained
        let connection = engine.start(request)
        await untilTrue { [server] in server.drained > before }
        connection.pause()
        return connection
    }

    /// The kind of the request, and where its partial response is stored.
    enum Way: CaseIterable {
        case store, sealed, noStore, reload, withoutStore, notToBeStored, anonymous

        var isInStore: Bool { self == .store || self == .sealed }

        var request: Request {
            var request = Request("http://h/")
            switch self {
            case .noStore: request.cache = .noStore
            case .reload: request.cache = .reload
            case .anonymous: request.credentials = [.header(.authorization, .secret("token"))]
            case .store, .sealed, .withoutStore, .notToBeStored: break
            }
            return request
        }

        func configure(_ configuration: inout Engine.Configuration) {
            switch self {
            case .sealed: configuration.seal = AESGCMSeal.first
            case .withoutStore: configuration.store = nil
            case .anonymous: configuration.credentials = KnownSecrets(["token": "s3cret"])
            case .store, .noStore, .reload, .notToBeStored: break
            }
        }
    }

    @Test(arguments: Way.allCases) func `a resumed connection requests the rest, and has one whole response`(way: Way)
        async throws
    {
        if way == .notToBeStored { server.change { $0.headers = [.cacheControl: "no-store"] } }
        let engine = engine(way.configure)
        let connection = await paused(way.request, on: engine)
        #expect(connection.isPaused)
        connection.resume()
        let response = try await connection.response
        #expect(response.status == .ok && response.body == server.body && response.source == .network)
        #expect(response.headers[.contentLength] == "\(server.body.count)" && response.attempts.isEmpty)
        #expect(server.ranges == [nil, "bytes=\(Self.half)-"])
        #expect(engine.activity.counts.inFlight == 0)
        await engine.close()
        let totals = try engine.cache?.totals()
        #expect(totals?.partials ?? 0 == 0)
        #expect(totals?.entries ?? 0 == (way.isInStore || way == .reload ? 1 : 0))
    }

    @Test(arguments: Way.allCases.filter { ![.noStore, .withoutStore, .anonymous].contains($0) })
    func `a resumed connection begins again where its response was erased during the pause`(way: Way) async throws {
        if way == .notToBeStored { server.change { $0.headers = [.cacheControl: "no-store"] } }
        let engine = engine(way.configure)
        let connection = await paused(way.request, on: engine)
        try await engine.cache?.purge()
        connection.resume()
        #expect(try await connection.response.body == server.body)
        #expect(server.ranges == [nil, nil])
        await engine.close()
    }

    @Test func `a connection requests the rest in another process, too`() async throws {
        let first = engine()
        _ = await paused(Request("http://h/"), on: first)
        await first.close()
        #expect(try first.cache?.totals().partials == 1)
        let second = engine()
        #expect(try await second.send(Request("http://h/")).body == server.body)
        #expect(server.ranges == [nil, "bytes=\(Self.half)-"])
        #expect(try await second.send(Request("http://h/")).source == .cache)
        await second.close()
    }

    @Test func `a connection is resumed any number of times`() async throws {
        server.change { $0.flows = [.held(1 << 20), .held(1 << 20), .held(0)] }
        let engine = engine()
        let connection = await paused(Request("http://h/"), on: engine)
        for _ in 0..<2 {
            let before = server.drained
            connection.resume()
            await untilTrue { [server] in server.drained > before }
            connection.pause()
        }
        connection.resume()
        #expect(try await connection.response.body == server.body)
        #expect(server.ranges == [nil, "bytes=1048576-", "bytes=2097152-", "bytes=2097152-"])
        await engine.close()
    }

    @Test func `a paused connection has returned its permit to other requests`() async throws {
        let engine = engine { $0.width = 1 }
        let connection = await paused(Request("http://h/"), on: engine)
        #expect(try await engine.send(Request("http://h/other")).body == server.body)
        #expect(engine.lanes.running == 0 && connection.isPaused)
        connection.resume()
        #expect(try await connection.response.body == server.body)
        await engine.close()
    }

    @Test func `a resumed connection goes on with a transfer that broke before the pause`() async throws {
        let clock = TestClock()
        server.change { $0.flows = [.broken(5)] }
        let engine = engine { configuration in
            configuration.clock = clock
            configuration.draw = { 0.5 }
        }
        let connection = engine.start(Request("http://h/"))
        await untilTrue { clock.sleeping.count == 1 }
        connection.pause()
        connection.resume()
        #expect(try await connection.response.body == server.body)
        #expect(server.ranges == [nil, "bytes=5-"])
        await engine.close()
    }

    @Test func `a resumed connection goes on after a redirect`() async throws {
        let engine = engine()
        let connection = await paused(Request("http://h/moved"), on: engine)
        connection.resume()
        #expect(try await connection.response.body == server.body)
        #expect(server.ranges == [nil, nil, nil, "bytes=\(Self.half)-"])
        await engine.close()
    }

    /// How the response has changed meanwhile.
    enum Change: CaseIterable {
        case tag, tagToWeak, shrunk, shrunkToWhatIsHere, emptied

        /// Whether the new response ends before the requested offset, so that the whole is requested.
        var isBeyondEnd: Bool { self == .shrunkToWhatIsHere }

        func apply(to state: inout RangeServer.State) {
            switch self {
            case .tag: (state.tag, state.body) = ("\"b\"", .noise(3 << 20, seed: 2))
            case .tagToWeak: state.tag = "W/\"a\""
            case .shrunk: (state.tag, state.body) = ("\"b\"", .noise(1000, seed: 2))
            case .shrunkToWhatIsHere: (state.tag, state.body) = ("\"b\"", .noise(half, seed: 2))
            case .emptied: (state.tag, state.body) = ("\"b\"", Data())
            }
        }
    }

    /// - Parameter isRestarted: whether another engine sends the request, and reads the partial response from disk.
    @Test(arguments: Change.allCases, [false, true])
    func `a resumed connection delivers a new response if the server has changed it`(change: Change, isRestarted: Bool)
        async throws
    {
        let first = engine()
        let connection = await paused(Request("http://h/"), on: first)
        server.change(change.apply)
        if isRestarted { await first.close() } else { connection.resume() }
        let engine = isRestarted ? engine() : first
        let response = try await isRestarted ? engine.send(Request("http://h/")) : connection.response
        #expect(response.status == .ok && response.body == server.body)
        #expect(server.ranges == [nil, "bytes=\(Self.half)-"] + (change.isBeyondEnd ? [nil] : []))
        await engine.close()
        #expect(try engine.cache?.totals().partials == 0 && engine.cache?.totals().entries == 1)
    }

    @Test func `a resumed connection validates an invalidated response`() async throws {
        let engine = engine()
        let connection = await paused(Request("http://h/"), on: engine)
        try await engine.cache?.invalidate(.all)
        connection.resume()
        #expect(try await connection.response.body == server.body)
        #expect(server.ranges == [nil, "bytes=\(Self.half)-"])
        await engine.close()
    }

    // MARK: No resumption

    @Test func `a resumed connection begins again where its partial response was purged`() async throws {
        let engine = engine()
        let connection = await paused(Request("http://h/"), on: engine)
        #expect(try await engine.purge(Request("http://h/")))
        connection.resume()
        #expect(try await connection.response.body == server.body)
        #expect(server.ranges == [nil, nil])
        await engine.close()
    }

    @Test(arguments: [CachePolicy.automatic, .noStore])
    func `a resumed connection begins again where its identity was forgotten`(
        policy: CachePolicy
    ) async throws {
        let engine = engine()
        var request = Request("http://h/", cache: policy)
        request.identity = "user-42"
        let connection = await paused(request, on: engine)
        try await engine.forget(identity: "user-42")
        connection.resume()
        #expect(try await connection.response.body == server.body)
        #expect(server.ranges == [nil, nil])
        await engine.close()
    }

    @Test(arguments: [1000, half])
    func `a connection leaves no partial response of an identity that was forgotten meanwhile`(
        received: Int
    ) async throws {
        let clock = TestClock()
        server.change { $0.flows = [.broken(received)] }
        let engine = engine { configuration in
            configuration.clock = clock
            configuration.draw = { 0.5 }
        }
        var request = Request("http://h/")
        request.identity = "user-42"
        let connection = engine.start(request)
        await untilTrue { clock.sleeping.count == 1 }
        try await engine.forget(identity: "user-42")
        connection.cancel()
        await engine.close()
        #expect(try engine.cache?.totals().partials == 0)
        #expect(try temporary.bytes().range(of: server.body.prefix(1000)) == nil)
    }

    @Test func `a resumed connection finds no partial response of another identity`() async throws {
        let engine = engine()
        for (user, policy) in [("a", CachePolicy.automatic), ("b", .automatic), ("b", .noStore)] {
            var request = Request("http://h/", cache: policy)
            request.identity = user
            server.change { $0.flows = [.held(Self.half)] }
            _ = await paused(request, on: engine)
        }
        #expect(server.ranges == [nil, nil, nil])
        await engine.close()
    }

    @Test func `a connection does not store a partial response that must not be stored`() async throws {
        for way in [Way.noStore, .notToBeStored, .anonymous] {
            server.change { $0.flows = [.held(Self.half)] }
            if way == .notToBeStored { server.change { $0.headers = [.cacheControl: "no-store"] } }
            let engine = engine(way.configure)
            _ = await paused(way.request, on: engine)
            await engine.close()
            #expect(try engine.cache?.totals().partials == 0)
            #expect(try temporary.bytes().range(of: server.body.prefix(1000)) == nil)
        }
    }

    // MARK: Many

    /// Each response is whole and nothing is left, in whatever order connections are paused, resumed and broken.
    @Test(arguments: 0..<2) func `many connections with random pauses and breaks each have their whole response`(
        seed: UInt64
    ) async throws {
        var random = SplitMix(state: seed)
        server.change { state in
            state.body = .noise(1_500_000)
            // No more of them break than a retry budget allows.
            state.flows = (0..<8).map { number in
                number % 5 == 0 ? .broken(random.below(1_500_000)) : .held(random.below(1_500_000))
            }
        }
        let engine = engine()
        var connections: [Connection] = []
        for number in 0..<4 {
            var request = Request("http://h/\(number % 2)", cache: number == 0 ? .noStore : .automatic)
            request.retry = RetryPolicy(attempts: 100)
            connections.append(engine.start(request))
        }
        // A transfer that stands still ends only when all its callers are paused.
        while !connections.allSatisfy(\.isFinished) {
            let chosen = connections.filter { _ in random.next() % 2 == 0 }
            for connection in chosen { connection.pause() }
            if random.next() % 2 == 0 { await Task.yield() }
            for connection in chosen { connection.resume() }
            for _ in 0..<random.below(10) { await Task.yield() }
        }
        for connection in connections { #expect(try await connection.response.body == server.body) }
        await untilTrue { engine.activity.counts.inFlight == 0 && engine.lanes.running == 0 }
        await engine.close()
        // A canceled connection may have left a partial response although another stored the whole one.
        #expect(try CacheInspection(of: temporary.store, now: wall.wallTime).findings.isEmpty)
        let second = self.engine()
        for connection in connections {
            #expect(try await second.send(Request(connection.request.url)).body == server.body)
        }
        await second.close()
    }
}
