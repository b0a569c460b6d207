import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

/// Servers that misbehave, and callers that cancel, pause and repeat, at the same time.
@Suite("Chaos of servers, networks and callers", .limit(minutes: 60)) struct ChaosTests {
    private let temporary = TemporaryStore()
    private let recorder = ChaosRecorder()
    private let remains = EngineReferences()

    /// URLSession on Linux hangs on cancellation, and async-http-client does not report reused connections.
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
    func `every connection finishes once, with the whole response or an error, and nothing is left`(
        kind: TransportKind
    ) async throws {
        let server = try ChaosServer()
        let count = Effort.rounds(600, soaking: 10_000)
        let note: Comment = "DIAMOND_SEED=\(Effort.seed)"
        try await run(count, on: engine(kind), server, note)
        await untilTrue { [recorder, remains] in recorder.alive == 0 && remains.parts.isEmpty && server.connections == 0
        }
        // Also of late responses.
        #expect(recorder.oddities == [], note)
        #expect(recorder.mistakes == [], note)
        #expect(recorder.repetitions(at: server).isEmpty, note)
        #expect(recorder.whole > count / 10, note)
    }

    private func run(_ count: Int, on engine: Engine, _ server: ChaosServer, _ note: Comment) async throws {
        remains.note(partsOf: engine)
        var random = SplitMix(state: Effort.seed)
        for begin in stride(from: 0, to: count, by: 150) {
            await Wave(engine, server, recorder, begin..<min(begin + 150, count), seed: random.next()).run()
        }
        #expect(await engine.activity.idle())
        await untilTrue { [recorder] in recorder.hasEnded(count) }
        #expect(engine.activity.counts == ActivityCounts() && engine.connections.isEmpty, note)
        #expect(engine.lanes.running == 0 && engine.lanes.waiting == 0, note)
        await engine.close()
        #expect(try temporary.integrity() == "ok", note)
    }
}

/// The parts of an engine, for as long as they are retained: an exchange that was not removed from its table
/// retains them, and so does a task that waits for an event that does not happen.
private final class EngineReferences: Sendable {
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
            Part(name: "partials", value: pipeline.store.locks),
            Part(name: "lanes", value: engine.lanes), Part(name: "cache", value: engine.cache),
        ]
        noted.withLock { $0 += parts }
    }
}

/// Connections that run at the same time.
private struct Wave {
    private let engine: Engine
    private let server: ChaosServer
    private let recorder: ChaosRecorder
    private let numbers: Range<Int>
    private var random: SplitMix
    private var planner: ChaosPlanner

    init(_ engine: Engine, _ server: ChaosServer, _ recorder: ChaosRecorder, _ numbers: Range<Int>, seed: UInt64) {
        (self.engine, self.server, self.recorder, self.numbers) = (engine, server, recorder, numbers)
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
            recorder.watch(connection, plan)
            engine.start(connection)
            if plan.isCanceled { Self.later(random.below(40)) { [weak connection] in connection?.cancel() } }
            return connection
        }
    }

    /// Pauses and resumes them, several at the same time.
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
