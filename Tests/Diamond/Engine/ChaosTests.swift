import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Whatever servers, networks and callers do at once.
@Suite(.timeLimit(.minutes(60))) struct `Among servers that misbehave, and callers that change their minds,` {
    private let temporary = TemporaryStore()

    /// URLSession on Linux hangs on cancellation, and async-http-client does not tell what came on a kept connection.
    private static let kinds = TransportKind.allCases.filter { kind in
        #if os(Linux)
        kind.rawValue == "curl"
        #else
        kind == .urlSession
        #endif
    }

    private func engine(_ kind: TransportKind) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = kind.make()
        (configuration.width, configuration.originWidth) = (32, 32)
        configuration.lanes = ["api": .serial, "images": LaneLimits(width: 3)]
        configuration.retry = RetryPolicy(baseDelay: .milliseconds(1), window: nil)
        return Engine(configuration)
    }

    @Test(arguments: kinds)
    func `every connection finishes once, with the whole answer or an error, and nothing is left`(
        kind: TransportKind
    ) async throws {
        let (server, engine) = (try ChaosServer(), engine(kind))
        let tally = Tally()
        var random = SplitMix(state: Effort.seed)
        let count = Effort.rounds(600, soaking: 10_000)
        for begin in stride(from: 0, to: count, by: 150) {
            await Wave(engine, server, tally, from: begin, count: min(150, count - begin), seed: random.next()).run()
        }
        #expect(await engine.activity.idle())
        let note: Comment = "DIAMOND_SEED=\(Effort.seed)"
        await untilTrue { tally.ends == count }
        #expect(tally.mistakes == [], note)
        #expect(tally.whole > count / 10, note)
        #expect(engine.activity.counts == ActivityCounts() && engine.connections.isEmpty, note)
        #expect(engine.lanes.running == 0 && engine.lanes.waiting == 0, note)
        await engine.close()
        #expect(try temporary.integrity() == "ok", note)
        await untilTrue { tally.alive == 0 }
    }
}

/// What has become of the connections.
private final class Tally: Sendable {
    private struct Witness: Sendable {
        weak var connection: Connection?
    }

    private struct State {
        var ends = 0
        var whole = 0
        var mistakes: [String] = []
        var witnesses: [Witness] = []
    }

    private let state = Guarded(State())

    var ends: Int { state.withLock { $0.ends } }
    var whole: Int { state.withLock { $0.whole } }
    var mistakes: [String] { state.withLock { $0.mistakes } }
    /// Connections that nobody wants any more, and that are there.
    var alive: Int { state.withLock { $0.witnesses.count { $0.connection != nil } } }

    func watch(_ connection: Connection) { state.withLock { $0.witnesses.append(Witness(connection: connection)) } }

    func end(_ plan: Plan, _ result: Result<Response, ConnectionError>) {
        let mistake = plan.mistake(in: result)
        state.withLock { state in
            state.ends += 1
            if case .success(let response) = result, response.status == .ok { state.whole += 1 }
            if let mistake { state.mistakes.append(mistake) }
        }
    }
}

/// What one connection asks for.
private struct Plan: Sendable {
    let behavior: ChaosServer.Behavior
    let number: Int
    let size: Int
    let isCanceled: Bool

    /// What is wrong with how it ended.
    func mistake(in result: Result<Response, ConnectionError>) -> String? {
        switch result {
        case .success(let response):
            if response.status == .serviceUnavailable, behavior == .recovering { return nil }
            guard response.status == .ok, ChaosServer.Behavior.whole.contains(behavior) else {
                return "\(self) was answered with \(response.status), \(response.body.count) bytes"
            }
            return Array(response.body) == ChaosServer.body(number, size: size) ? nil : "\(self) has another body"
        case .failure(let error):
            if error.code == .cancelled, isCanceled { return nil }
            // Too many broke lately: nothing is tried again.
            if error.attempts.last?.reason?.code == .budgetEmpty { return nil }
            return ChaosServer.Behavior.whole.contains(behavior) ? "\(self): \(error.code) \(error.attempts)" : nil
        }
    }
}

/// Connections that run at the same time.
private struct Wave {
    private let engine: Engine
    private let server: ChaosServer
    private let tally: Tally
    private var random: SplitMix
    private let numbers: Range<Int>

    init(_ engine: Engine, _ server: ChaosServer, _ tally: Tally, from begin: Int, count: Int, seed: UInt64) {
        (self.engine, self.server, self.tally) = (engine, server, tally)
        (random, numbers) = (SplitMix(state: seed), begin..<begin + count)
    }

    func run() async {
        var wave = self
        let connections = wave.begin()
        await wave.disturb(connections)
        for connection in connections { _ = try? await connection.response }
    }

    private mutating func begin() -> [Connection] {
        numbers.map { number in
            let behavior = ChaosServer.Behavior.allCases[random.below(ChaosServer.Behavior.allCases.count)]
            // What never ends is canceled, or ends by its time.
            let plan = Plan(
                behavior: behavior, number: number, size: random.below(3) == 0 ? 2 + random.below(100) : 20_000,
                isCanceled: random.below(6) == 0)
            var request = Request(server.url(plan.behavior, plan.number, size: plan.size))
            request.lane = [.default, .default, .default, "images", "api"][random.below(5)]
            request.cache = [.automatic, .noStore, .reload][random.below(3)]
            if behavior == .silent { request.retry = RetryPolicy(attempts: 1, attemptTimeout: .milliseconds(50)) }
            let tally = tally
            let connection = engine.connection(for: request).onResult { tally.end(plan, $0) }
            tally.watch(connection)
            engine.enqueue(connection)
            if plan.isCanceled { Self.later(random.below(40)) { [weak connection] in connection?.cancel() } }
            return connection
        }
    }

    /// Pauses and resumes them, some at the same time as others.
    private mutating func disturb(_ connections: [Connection]) async {
        for _ in 0..<numbers.count {
            let connection = connections[random.below(connections.count)]
            connection.pause()
            Self.later(random.below(20)) { connection.resume() }
            await Task.yield()
        }
    }

    private static func later(_ turns: Int, _ body: @escaping @Sendable () -> Void) {
        Task {
            for _ in 0..<turns { await Task.yield() }
            body()
        }
    }
}
