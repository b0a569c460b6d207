#if Tools
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import ServiceLifecycle
import Testing

@testable import Diamond

/// The example of the documentation.
@Suite("An engine and its replayer in a service group", .limit(minutes: 5)) struct ServiceGroupTests {
    typealias EngineService = DocumentationTests.EngineService
    typealias ReplayerService = DocumentationTests.ReplayerService

    private let server = ManualServer()
    private let clock = TestClock()

    private func engine() -> Engine {
        var configuration = Engine.Configuration(testing: server.transport, clock: clock, store: TemporaryStore())
        configuration.uptime = { [clock] in clock.uptime }
        configuration.reachability = StubReachability(isReachable: true)
        // Where many tests run, a task may wait for seconds.
        configuration.cancellationTimeout = .seconds(600)
        return Engine(configuration)
    }

    private static var job: Request {
        var request = Request("http://h/job", method: .put, body: .json(["text": "a"]))
        request.replay = .durable
        return request
    }

    @Test func `services run until their group shuts down, and finish running jobs and requests`() async throws {
        let engine = engine()
        let services: [any Service] = [EngineService(engine: engine), ReplayerService(replayer: try engine.replayer())]
        let group = ServiceGroup(services: services)
        let running = Task { try await group.run() }
        let queue = try engine.queue()
        let id = try #require(try await queue.enqueue(Self.job))
        await untilTrue { server.flying == ["http://h/job"] }
        let connection = engine.start(Request("http://h/1"))
        await untilTrue { server.flying.count == 2 }
        await group.triggerGracefulShutdown()
        for _ in 0..<500 { await Task.yield() }
        #expect(!clock.sleeping.contains(.seconds(10)))
        server.land("http://h/job")
        #expect(try await queue.end(of: id).state == .done)
        await untilTrue { [clock] in clock.sleeping.contains(.seconds(10)) }
        server.land("http://h/1")
        #expect(try await connection.response.status == .ok)
        try await running.value
        #expect(engine.connections.isEmpty && engine.activity.counts.isIdle && server.flying.isEmpty)
    }

    @Test func `services leave nothing when their group is canceled`() async throws {
        let engine = engine()
        let services: [any Service] = [EngineService(engine: engine), ReplayerService(replayer: try engine.replayer())]
        let running = Task { try await ServiceGroup(services: services).run() }
        _ = try await engine.queue().enqueue(Self.job)
        await untilTrue { server.flying == ["http://h/job"] }
        let connection = engine.start(Request("http://h/1"))
        await untilTrue { server.flying.count == 2 }
        running.cancel()
        _ = await running.result
        #expect(connection.isFinished && engine.activity.counts.isIdle && server.flying.isEmpty)
    }
}
#endif
