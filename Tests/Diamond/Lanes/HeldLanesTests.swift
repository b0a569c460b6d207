import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// The engines of a store send no requests of a lane that is held there, in any process, before and after a restart.
@Suite("A lane held in a store", .limit(minutes: 5)) struct HeldLanesTests {
    private let server = ManualServer()
    private let temporary = TemporaryStore()

    private func engine() -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = server.transport
        return Engine(configuration)
    }

    private func land(_ url: String) async {
        await untilTrue { server.flying == [url] }
        server.land(url)
    }

    @Test(arguments: [ReplayHold.lane("images"), .engine])
    func `begins no request before and after a restart, and still answers from the cache`(
        _ hold: ReplayHold
    ) async throws {
        let first = engine()
        let stored = first.start(Request("http://h/1", "images"))
        await land("http://h/1")
        _ = try await stored.response
        _ = try await first.queue().hold(hold, reason: "roaming")
        #expect(first.lanes.isPaused("images"))
        #expect(first.lanes.isPaused(.default) == (hold == .engine))
        await first.close()

        let second = engine()
        #expect(second.lanes.isPaused("images"))
        let waiting = second.start(Request("http://h/2", "images"))
        await untilTrue { second.lanes.waiting == 1 }
        #expect(try await second.send(Request("http://h/1", "images")).source == .cache)
        // A pause and a resume of the lane do not affect the hold.
        second.lanes.pause("images")
        second.lanes.resume("images")
        second.lanes.pauseAll()
        second.lanes.resumeAll()
        #expect(server.flying.isEmpty && second.lanes.waiting == 1)
        _ = try await second.queue().release(hold)
        await land("http://h/2")
        #expect(try await waiting.response.status == .ok)
        #expect(!second.lanes.isPaused("images"))
        await second.close()
    }

    @Test func `a lane is held and released by another process`() async throws {
        let other = try ReplayQueue(temporary.store)
        let engine = engine()
        try await other.hold(.lane("images"))
        await untilTrue { engine.lanes.isPaused("images") }
        let waiting = engine.start(Request("http://h/1", "images"))
        let free = engine.start(Request("http://h/2"))
        await land("http://h/2")
        _ = try await free.response
        try await other.hold(.engine)
        await untilTrue { engine.lanes.isPaused(.default) }
        try await other.release(.lane("images"))
        try await other.release(.engine)
        await land("http://h/1")
        #expect(try await waiting.response.status == .ok)
        await engine.close()
    }

    @Test func `a held engine sends no job, and stores durable requests`() async throws {
        let engine = engine()
        let queue = try engine.queue()
        try await queue.hold(.engine)
        var request = Request("http://h/1", method: .put, body: .json(["text": "a"]))
        request.replay = .durable
        // On a busy machine the test may continue after the default timeout of a minute. It would not answer another
        // attempt.
        request.retry = RetryPolicy(attemptTimeout: .seconds(3600))
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(request) }
        #expect(error?.code == .queued)
        let replayer = try engine.replayer()
        #expect(await replayer.replay() == Replayer.Summary())
        #expect(try queue.jobs().map(\.state) == [.ready])
        let running = Task { await replayer.run() }
        try await queue.release(.engine)
        await land("http://h/1")
        let id = try #require(error?.jobID)
        #expect(try await queue.end(of: id).state == .done)
        replayer.stop()
        _ = await running.value
        await engine.close()
    }

    @Test func `a request waiting in a held lane is canceled when its engine is closed`() async throws {
        let engine = engine()
        let queue = try engine.queue()
        try await queue.hold(.lane("images"))
        let waiting = engine.start(Request("http://h/1", "images"))
        await untilTrue { engine.lanes.waiting == 1 }
        await engine.close()
        let error = await #expect(throws: ConnectionError.self) { try await waiting.response }
        #expect(error?.code == .cancelled)
        // A later hold does not affect a closed engine either.
        try await queue.hold(.engine)
        #expect(!engine.lanes.isPaused("images"))
    }

    @Test func `lanes of an engine whose queue is damaged still send requests`() async throws {
        try FileManager.default.createDirectory(at: temporary.directory, withIntermediateDirectories: true)
        try Data("no database, and longer than nothing".utf8).write(to: URL(filePath: temporary.store.replayPath))
        let engine = engine()
        let connection = engine.start(Request("http://h/1"))
        await land("http://h/1")
        #expect(try await connection.response.status == .ok)
        await engine.close()
    }
}
