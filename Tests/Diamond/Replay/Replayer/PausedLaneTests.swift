import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A replayer with paused lanes", .limit(minutes: 5)) struct PausedLaneTests {
    private let fixture = ReplayFixture()

    private func note(in lane: Lane) -> Request {
        var request = fixture.note(.durable, method: .put)
        request.lane = lane
        return request
    }

    private static func counts(_ queue: ReplayQueue) throws -> [ReplayState: Int] {
        try queue.counts().filter { $0.value > 0 }
    }

    @Test func `a replayer sends jobs of other lanes, and jobs of paused lanes after a resume`() async throws {
        let engine = fixture.engine()
        let queue = try engine.queue()
        // More jobs than a replayer sends at a time.
        for _ in 0..<12 { try await queue.enqueue(note(in: "images")) }
        try await queue.enqueue(note(in: .default))
        engine.lanes.pause("images")
        #expect(try await engine.replayer().replay().finished == 1)
        #expect(try Self.counts(queue) == [.ready: 12, .done: 1] && fixture.transport.requests.count == 1)

        engine.lanes.pauseAll()
        try await queue.enqueue(note(in: .default))
        let replayer = try engine.replayer()
        #expect(await replayer.replay().finished == 0)
        let run = Task { await replayer.run() }
        engine.lanes.resumeAll()
        await untilTrue { (try? queue.counts()[.done]) == 2 }
        // The replayer waits again, and is notified.
        engine.lanes.resume("images")
        await untilTrue { (try? queue.counts()[.done]) == 14 }
        replayer.stop()
        #expect(await run.value.finished == 13)
    }

    @Test(arguments: [false, true])
    func `a replayer returns jobs that wait for a permit of a paused lane, and no job that was sent`(isHold: Bool)
        async throws
    {
        let engine = fixture.engine { $0.lanes = ["images": LaneLimits(width: 1)] }
        let (queue, checkpoint) = (try engine.queue(), Checkpoint())
        fixture.serve { _ throws(TransportError) in
            await checkpoint.pass()
            return .stub(status: 201)
        }
        let ids = try await queue.enqueue([note(in: "images"), note(in: "images")]).compactMap(\.self)
        let replayer = try engine.replayer()
        let run = Task { await replayer.replay() }
        await checkpoint.reached()
        await untilTrue { engine.lanes.waiting == 1 }
        if isHold { try await queue.hold(.lane("images")) } else { engine.lanes.pause("images") }
        let second = isHold ? ReplayState.held : .ready
        await untilTrue { (try? ids.contains { try queue.job($0)?.state == second }) == true }
        #expect(try Self.counts(queue) == [.running: 1, second: 1] && engine.lanes.waiting == 0)
        checkpoint.open()
        // The replayer has no other job to send.
        let summary = await run.value
        #expect(summary.finished == 1 && summary.postponed >= 1)
        #expect(try queue.jobs().filter { $0.state == second }.map(\.attempts) == [0])

        if isHold { try await queue.release(.lane("images")) } else { engine.lanes.resume("images") }
        await untilTrue { !engine.lanes.isPaused("images") }
        #expect(try await engine.replayer().replay().finished == 1)
    }
}
