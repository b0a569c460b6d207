import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An engine that is released", .limit(minutes: 5)) struct EngineReleaseTests {
    private let server = ManualServer()

    /// `@unchecked Sendable`: set before it is shared.
    private final class RemainingReferences: @unchecked Sendable {
        weak var connection: Connection?
    }

    /// The reason why a connection waits for a call on its engine.
    enum Wait: CaseIterable {
        case paused, pausedBeforeItBegan, inPausedLane, behindOneInPausedLane
        case pausedOnAnotherQueue, inPausedLaneOnAnotherQueue
    }

    @Test(arguments: Wait.allCases) func `a released engine ends connections that only it could resume`(wait: Wait)
        async throws
    {
        let left = RemainingReferences()
        let queue = OperationQueue()
        do {
            var configuration = Engine.Configuration(testing: server.transport)
            configuration.lanes = ["api": .serial]
            let engine = Engine(configuration)
            var request = Request("http://h/")
            if wait == .behindOneInPausedLane { request.lane = "api" }
            let connection = engine.connection(for: request)
            switch wait {
            case .paused:
                engine.start(connection)
                await untilTrue { server.flying.count == 1 }
                connection.pause()
            case .pausedBeforeItBegan:
                connection.pause()
                engine.start(connection)
            case .inPausedLane:
                engine.lanes.pause(.default)
                engine.start(connection)
                await untilTrue { engine.lanes.waiting == 1 }
            case .behindOneInPausedLane:
                engine.lanes.pause("api")
                engine.start(request)
                engine.start(connection)
            case .pausedOnAnotherQueue:
                connection.pause()
                queue.addOperation(connection)
                await untilTrue { connection.isExecuting }
            case .inPausedLaneOnAnotherQueue:
                engine.lanes.pause(.default)
                queue.addOperation(connection)
                await untilTrue { engine.lanes.waiting == 1 }
            }
            left.connection = connection
        }
        await untilTrue { left.connection == nil }
    }

    /// The state of a connection before its late run.
    enum Start: CaseIterable { case inPausedLane, paused, asCopy }

    /// A connection of a released engine, and a second connection, which retains the parts of the engine.
    private func remains(_ start: Start) async throws -> (Connection, Connection) {
        let engine = Engine(.init(testing: server.transport))
        let connection = engine.connection(for: Request("http://h/"))
        let other = engine.connection(for: Request("http://i/"))
        switch start {
        case .inPausedLane: engine.lanes.pause(.default)
        case .paused: connection.pause()
        case .asCopy:
            engine.lanes.pause(.default)
            engine.start(connection)
            connection.cancel()
            await untilTrue { connection.isFinished }
        }
        return (connection, other)
    }

    @Test(arguments: Start.allCases) func `a released engine cancels a later run that no engine could resume`(
        start: Start
    ) async throws {
        let (connection, other) = try await remains(start)
        let queue = OperationQueue()
        let run = start == .asCopy ? connection.retry() : connection
        if start != .asCopy { queue.addOperation(run) }
        let error = await #expect(throws: ConnectionError.self) { try await run.response }
        #expect(error?.code == .cancelled)
        await untilTrue { run.isFinished }
        withExtendedLifetime(other) {}
    }

    @Test func `a released engine's connection can still run on an operation queue`() async throws {
        let connection = Engine(.init(testing: server.transport)).connection(for: Request("http://h/"))
        let queue = OperationQueue()
        queue.addOperation(connection)
        await untilTrue { server.flying.count == 1 }
        server.landAll()
        #expect(try await connection.response.status == .ok)
    }

    @Test func `a released engine lets running requests end`() async throws {
        let connection = Engine(.init(testing: server.transport)).start(Request("http://h/"))
        await untilTrue { server.flying.count == 1 }
        server.landAll()
        #expect(try await connection.response.status == .ok)
    }
}
