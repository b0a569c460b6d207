import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

/// The sequence of changes of a queue's jobs, and filters of several states.
@Suite(.timeLimit(.minutes(5))) struct ReplayChangesTests {
    let fixture = ReplayFixture()

    @Test func `changes are the jobs in their latest states, from the start of the iteration on`() async throws {
        let queue = try fixture.engine().queue()
        try await queue.enqueue(fixture.note(.durable))
        fixture.clock.advance(by: .milliseconds(1))
        var changes = queue.changes.makeAsyncIterator()
        let id = try #require(try await queue.enqueue(fixture.note(.durable)))
        try await queue.hold(id)
        let held = try #require(try await changes.next())
        #expect(held.id == id && held.state == .held)
        fixture.clock.advance(by: .milliseconds(1))
        try await queue.release(id)
        #expect(try await changes.next()?.state == .ready)
    }

    @Test func `a change by this process comes at once, and one by another within a second`() async throws {
        let (queue, other) = (try fixture.engine().queue(), try fixture.engine().queue())
        let (seen, sink) = AsyncStream<ReplayJob>.makeStream()
        let isWaiting = Gate()
        let observer = Task {
            var changes = queue.changes.makeAsyncIterator()
            isWaiting.open()
            while let job = try await changes.next() { sink.yield(job) }
            sink.finish()
        }
        await isWaiting.wait()
        var jobs = seen.makeAsyncIterator()
        let first = try await queue.enqueue(fixture.note(.durable))
        #expect(await jobs.next()?.id == first)
        let second = try await other.enqueue(fixture.note(.durable))
        let advancing = Task { [clock = fixture.clock] in
            await untilTrue {
                if clock.sleeping.contains(where: { $0 <= .seconds(1) }) { clock.advance(by: .seconds(1)) }
                return Task.isCancelled
            }
        }
        #expect(await jobs.next()?.id == second)
        advancing.cancel()
        observer.cancel()
        // The iteration ends with its task.
        while await jobs.next() != nil {}
    }

    @Test func `an iteration that has ended listens no longer`() async throws {
        let queue = try fixture.engine().queue()
        weak var released: ReplayQueue?
        do {
            let other = try fixture.engine().queue()
            released = other
            var changes = other.changes.makeAsyncIterator()
            try await other.enqueue(fixture.note(.durable))
            _ = try await changes.next()
        }
        await untilTrue { released == nil }
        #expect(try queue.counts()[.ready] == 1)
    }

    @Test(
        arguments: [
            ([], 4), ([.ready], 2), ([.ready, .waiting], 3), ([.held, .waiting, .ready], 4), ([.done, .dead], 0),
        ] as [(Set<ReplayState>, Int)])
    func `a filter matches jobs in any of its states`(states: Set<ReplayState>, count: Int) async throws {
        let queue = try fixture.engine().queue()
        let requests = (0..<3).map { _ in fixture.note(ReplayPolicy(.durable, orderingKey: "a")) }
        let ids = try await queue.enqueue(requests).compactMap(\.self)
        try await queue.hold(ids[1])
        try await queue.enqueue(fixture.note(ReplayPolicy(.durable, orderingKey: "b")), after: .seconds(60))
        #expect(try queue.jobs(ReplayFilter(states: states)).count == count)
        #expect(try queue.count(ReplayFilter(states: states)) == count)
        let ofKey = ReplayFilter(states: states, orderingKey: "b")
        #expect(try queue.count(ofKey) == (states.isEmpty || states.contains(.waiting) ? 1 : 0))
    }
}
