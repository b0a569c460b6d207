import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

/// Whatever servers, networks and callers do at once.
@Suite(.timeLimit(.minutes(60))) struct `Among servers that misbehave, and callers that change their minds,` {
    private let temporary = TemporaryStore()
    private let tally = ChaosTally()
    private let remains = Remains()

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
        let server = try ChaosServer()
        let count = Effort.rounds(600, soaking: 10_000)
        let note: Comment = "DIAMOND_SEED=\(Effort.seed)"
        try await run(count, on: engine(kind), server, note)
        await untilTrue { [tally, remains] in tally.alive == 0 && remains.parts.isEmpty && server.connections == 0 }
        // Also of what came late.
        #expect(tally.oddities == [], note)
        #expect(tally.mistakes == [], note)
        #expect(tally.repetitions(at: server).isEmpty, note)
        #expect(tally.whole > count / 10, note)
    }

    private func run(_ count: Int, on engine: Engine, _ server: ChaosServer, _ note: Comment) async throws {
        remains.note(partsOf: engine)
        var random = SplitMix(state: Effort.seed)
        for begin in stride(from: 0, to: count, by: 150) {
            await Wave(engine, server, tally, begin..<min(begin + 150, count), seed: random.next()).run()
        }
        #expect(await engine.activity.idle())
        await untilTrue { [tally] in tally.hasEnded(count) }
        #expect(engine.activity.counts == ActivityCounts() && engine.connections.isEmpty, note)
        #expect(engine.lanes.running == 0 && engine.lanes.waiting == 0, note)
        #expect(engine.lanes.state.withLock { $0.decided.isEmpty }, note)
        await engine.close()
        #expect(try temporary.integrity() == "ok", note)
    }
}

/// What an engine consists of, for as long as anybody keeps it: an exchange that was not taken out of its table does, and a task
/// that waits for what does not come.
private final class Remains: Sendable {
    private struct Part: Sendable {
        let name: String
        weak var value: (any AnyObject & Sendable)?
    }

    private let noted = Guarded<[Part]>([])

    var parts: [String] { noted.withLock { $0.filter { $0.value != nil }.map(\.name) } }

    func note(partsOf engine: Engine) {
        let pipeline = engine.pipeline
        let parts = [
            Part(name: "members", value: engine.members), Part(name: "pipeline", value: pipeline),
            Part(name: "exchanges", value: pipeline.sharing.exchanges),
            Part(name: "partials", value: pipeline.resumeStore),
            Part(name: "lanes", value: engine.lanes), Part(name: "cache", value: engine.cache),
        ]
        noted.withLock { $0 += parts }
    }
}

/// Connections that run at the same time.
private struct Wave {
    private let engine: Engine
    private let server: ChaosServer
    private let tally: ChaosTally
    private let numbers: Range<Int>
    private var random: SplitMix
    private var planner: ChaosPlanner

    init(_ engine: Engine, _ server: ChaosServer, _ tally: ChaosTally, _ numbers: Range<Int>, seed: UInt64) {
        (self.engine, self.server, self.tally, self.numbers) = (engine, server, tally, numbers)
        random = SplitMix(state: seed)
        planner = ChaosPlanner(seed: random.next())
    }

    func run() async {
        var wave = self
        let connections = wave.begin()
        await wave.disturb(connections)
        for connection in connections { _ = try? await connection.response }
    }

    private mutating func begin() -> [Connection] {
        numbers.map { number in
            let plan = planner.plan(number)
            let connection = engine.connection(for: plan.request(to: server))
            tally.watch(connection, plan)
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
