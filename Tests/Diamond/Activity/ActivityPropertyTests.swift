import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(60))) struct `Whatever an engine's connections do` {
    private let temporary = TemporaryStore()
    private let clock = TestClock()

    private func engine() -> Engine {
        let random = Guarded(SplitMix(state: Effort.seed))
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = Weather(seed: Effort.seed)
        (configuration.clock, configuration.width) = (clock, 12)
        configuration.lanes = ["images": LaneLimits(width: 2), "api": .serial]
        configuration.draw = { random.withLock { Double($0.below(1000)) / 1000 } }
        return Engine(configuration)
    }

    @Test func `the counters come to zero, and all that began has ended once`() async {
        let engine = engine()
        let recorder = ActivityRecorder(engine.activity, isTelling: false)
        var crowd = Crowd(engine, clock, seed: Effort.seed)
        for step in 0..<Effort.rounds(20_000, soaking: 1_000_000) {
            crowd.step()
            if step % 4 == 0 { await Task.yield() }
        }
        await crowd.finish()
        await engine.activity.idle()
        let note: Comment = "DIAMOND_SEED=\(Effort.seed)"
        #expect(engine.activity.counts == ActivityCounts(), note)
        #expect(engine.activity.snapshot.lanes.isEmpty && engine.connections.isEmpty, note)
        #expect(recorder.isBalanced && recorder.begun > 4000, note)
        #expect(engine.lanes.running == 0 && engine.lanes.waiting == 0, note)
        await engine.close()
    }
}

/// Answers well, answers badly, or breaks off, a little later.
private final class Weather: Transport {
    private let random: Guarded<SplitMix>

    init(seed: UInt64) { random = Guarded(SplitMix(state: seed ^ 1)) }

    private func draw(_ bound: Int) -> Int { random.withLock { $0.below(bound) } }

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        for _ in 0..<draw(20) { await Task.yield() }
        guard !Task.isCancelled else { throw .cancelled(requestMayHaveBeenSent: true) }
        switch draw(10) {
        case 0: return .stub(status: 503)
        case 1: throw TransportError(.connectionLost, "lost", requestMayHaveBeenSent: true)
        case 2..<6: return .stub(headers: [.cacheControl: "no-store"])
        default: return .stub(headers: [.cacheControl: "max-age=0"])
        }
    }

    func close() async {}
}

/// Connections and calls that are begun, paused, resumed, canceled and repeated at random.
private struct Crowd {
    private let engine: Engine
    private let clock: TestClock
    private var random: SplitMix
    private var connections: [Connection] = []
    private var calls: [Task<Void, Never>] = []

    init(_ engine: Engine, _ clock: TestClock, seed: UInt64) {
        (self.engine, self.clock, random) = (engine, clock, SplitMix(state: seed))
    }

    mutating func step() {
        switch random.below(16) {
        case 0..<4: start()
        case 4..<6: one?.pause()
        case 6..<10: one?.resume()
        case 10: one?.cancel()
        case 11: clock.advance(by: .milliseconds(random.below(2000)))
        case 12: call()
        case 13: calls.randomElement(using: &random)?.cancel()
        case 14: engine.lanes.width = 1 + random.below(12)
        default: random.below(4) == 0 ? engine.lanes.pause("images") : engine.lanes.resume("images")
        }
    }

    private var one: Connection? { mutating get { connections.randomElement(using: &random) } }

    /// One of few, so that several ask the same.
    private mutating func request() -> Request {
        let method: HTTPRequest.Method = random.below(4) == 0 ? .post : .get
        var request = Request("http://h\(random.below(2))/\(random.below(4))", method: method)
        if random.below(4) == 0 { request.cache = .staleWhileRevalidate }
        request.lane = [.default, "images", "api"][random.below(3)]
        if random.below(2) == 0 { request.tags = ["\(random.below(3))"] }
        return request
    }

    private mutating func start() {
        if connections.count > 100 { connections.removeAll(where: \.isFinished) }
        guard connections.count <= 100 else { return }
        // Again what there was, or something else.
        let again = random.below(3) == 0 ? one?.request : nil
        let connection = engine.connection(for: again ?? request())
        if random.below(8) == 0, let one, one.request.lane != "api" { connection.addDependency(one) }
        if random.below(8) == 0 { connection.pause() }
        connections.append(connection)
        engine.enqueue(connection)
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
        while !engine.activity.snapshot.isIdle {
            clock.advance(by: .seconds(20))
            await Task.yield()
        }
        for call in calls { await call.value }
    }
}
