import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Random activity of an engine", .limit(minutes: 60)) struct ActivityPropertyTests {
    private let temporary = TemporaryStore()
    private let clock = TestClock()

    private let weather = RandomTransport(seed: Effort.seed)
    private let login = RandomRefreshProvider(seed: Effort.seed)

    /// - Parameter hasLogin: whether a provider is called for every request, in a task. Without one,
    ///   most requests start at once.
    private func engine(hasLogin: Bool) -> Engine {
        let random = Guarded(SplitMix(state: Effort.seed))
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = weather
        if hasLogin { configuration.credentials = login }
        (configuration.clock, configuration.width) = (clock, 12)
        configuration.lanes = ["images": LaneLimits(width: 2), "api": .serial]
        configuration.draw = { random.withLock { Double($0.below(1000)) / 1000 } }
        return Engine(configuration)
    }

    @Test(arguments: [false, true])
    func `the activity counters return to zero, and every interval ends once`(hasLogin: Bool) async {
        let engine = engine(hasLogin: hasLogin)
        let recorder = ActivityRecorder(engine.activity, isRecordingLines: false)
        var crowd = RandomCalls(engine, clock, hasLogin: hasLogin, seed: Effort.seed)
        for step in 0..<Effort.rounds(20_000, soaking: 1_000_000) {
            crowd.step()
            if step % 4 == 0 { await Task.yield() }
        }
        await crowd.finish()
        await recorder.idle(engine.activity)
        let note: Comment = "DIAMOND_SEED=\(Effort.seed)"
        #expect(engine.activity.counts == ActivityCounts(), note)
        #expect(engine.activity.snapshot.lanes.isEmpty && engine.connections.isEmpty, note)
        #expect(recorder.isBalanced && recorder.begun > 4000, note)
        #expect(engine.lanes.running == 0 && engine.lanes.waiting == 0, note)
        // All balanced events have happened.
        #expect(weather.redirects > 0 && crowd.retries > 0 && (login.refreshes > 0) == hasLogin, note)
        await engine.close()
    }
}

/// Succeeds, fails, redirects, asks for another credential, or breaks off, after a short delay.
private final class RandomTransport: Transport {
    private let random: Guarded<SplitMix>
    private let redirected = Guarded(0)

    init(seed: UInt64) { random = Guarded(SplitMix(state: seed ^ 1)) }

    var redirects: Int { redirected.withLock { $0 } }

    private func draw(_ bound: Int) -> Int { random.withLock { $0.below(bound) } }

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        for _ in 0..<draw(20) { await Task.yield() }
        guard !Task.isCancelled else { throw .cancelled(serverMayHaveActed: true) }
        switch draw(12) {
        case 0: return .stub(status: 503)
        case 1: throw TransportError(.connectionLost, "lost", serverMayHaveActed: true)
        case 2: return redirect()
        case 3 where request.headers.contains(.authorization): return .stub(status: 401)
        case 4..<8: return .stub(headers: [.cacheControl: "no-store"])
        default: return .stub(headers: [.cacheControl: "max-age=0"])
        }
    }

    /// Returns a redirect to a URL that others request, too, of the same origin or another. It is rare
    /// enough for a chain to end.
    private func redirect() -> TransportResponse {
        redirected.withLock { $0 += 1 }
        let location = "http://h\(draw(2))/\(draw(4))"
        return .stub(status: [301, 302, 303, 307, 308][draw(5)], headers: [.location: location])
    }

    func close() async {}
}

/// Returns a token, and refreshes it, or fails to, after a short delay.
private final class RandomRefreshProvider: RefreshableCredentialProvider {
    private struct Refused: Error {}

    private let random: Guarded<SplitMix>
    private let refreshed = Guarded(0)

    init(seed: UInt64) { random = Guarded(SplitMix(state: seed ^ 2)) }

    var refreshes: Int { refreshed.withLock { $0 } }

    private func draw(_ bound: Int) -> Int { random.withLock { $0.below(bound) } }

    func identity(for request: Request) async throws -> String? { request.credentials.isEmpty ? nil : "user" }

    func secret(_ name: String, for identity: String?) async throws -> String? { "token" }

    func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {
        refreshed.withLock { $0 += 1 }
        for _ in 0..<draw(20) { await Task.yield() }
        if draw(4) == 0 { throw Refused() }
    }
}

/// Connections and calls that are started, paused, resumed, canceled and repeated at random.
private struct RandomCalls {
    private let engine: Engine
    private let clock: TestClock
    private let hasLogin: Bool
    private var random: SplitMix
    private var connections: [Connection] = []
    private var calls: [Task<Void, Never>] = []
    private(set) var retries = 0

    init(_ engine: Engine, _ clock: TestClock, hasLogin: Bool, seed: UInt64) {
        (self.engine, self.clock, self.hasLogin, random) = (engine, clock, hasLogin, SplitMix(state: seed))
    }

    mutating func step() {
        switch random.below(17) {
        case 0..<4: start()
        case 4..<6: one?.pause()
        case 6..<10: one?.resume()
        case 10: one?.cancel()
        case 11: clock.advance(by: .milliseconds(random.below(2000)))
        case 12: call()
        case 13: calls.randomElement(using: &random)?.cancel()
        case 14: engine.lanes.width = 1 + random.below(12)
        case 15: retry()
        default: random.below(4) == 0 ? engine.lanes.pause("images") : engine.lanes.resume("images")
        }
    }

    private var one: Connection? { mutating get { connections.randomElement(using: &random) } }

    /// Returns one of a few requests, so that several are equal.
    private mutating func request() -> Request {
        let method: HTTPRequest.Method = random.below(4) == 0 ? .post : .get
        var request = Request("http://h\(random.below(2))/\(random.below(4))", method: method)
        if random.below(4) == 0 { request.cache = .staleWhileRevalidate }
        request.lane = [.default, "images", "api"][random.below(3)]
        if random.below(2) == 0 { request.tags = ["\(random.below(3))"] }
        if hasLogin, random.below(2) == 0 { request.credentials = [.header(.authorization, .secret("token"))] }
        if random.below(4) == 0 { request.retry = RetryPolicy(hedgeDelay: .milliseconds(100)) }
        return request
    }

    private mutating func hasRoom() -> Bool {
        if connections.count > 100 { connections.removeAll(where: \.isFinished) }
        return connections.count <= 100
    }

    /// Retries any connection, in whatever state it is.
    private mutating func retry() {
        guard hasRoom(), let one else { return }
        retries += 1
        connections.append(one.retry())
    }

    private mutating func start() {
        guard hasRoom() else { return }
        // An earlier request, or a new request.
        let again = random.below(3) == 0 ? one?.request : nil
        let connection = engine.connection(for: again ?? request())
        if random.below(8) == 0, let one, one.request.lane != "api" { connection.addDependency(one) }
        if random.below(8) == 0 { connection.pause() }
        connections.append(connection)
        engine.start(connection)
    }

    private mutating func call() {
        if calls.count > 50 { calls.removeFirst(25) }
        let request = request()
        calls.append(Task { [engine] in _ = try? await engine.send(request) })
    }

    mutating func finish() async {
        engine.lanes.resume("images")
        engine.lanes.width = 12
        while let connection = connections.popLast() {
            while !connection.isFinished {
                for connection in connections + [connection] { connection.resume() }
                clock.advance(by: .seconds(20))
                await Task.yield()
            }
        }
        for call in engine.connections { call.resume() }
        while !engine.activity.counts.isIdle {
            clock.advance(by: .seconds(20))
            await Task.yield()
        }
        for call in calls { await call.value }
    }
}
