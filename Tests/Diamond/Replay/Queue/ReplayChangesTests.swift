import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

/// The sequence of changes of a queue's jobs, and filters of several states.
@Suite("The changes of a queue's jobs", .limit(minutes: 5)) struct ReplayChangesTests {
    let fixture = ReplayFixture()

    @Test func `changes are the latest states of jobs that change after the iteration has started`() async throws {
        let queue = try fixture.engine().queue()
        try await queue.enqueue(fixture.note(.durable))
        fixture.clock.advance(by: .milliseconds(1_001))
        var changes = queue.changes.makeAsyncIterator()
        let id = try #require(try await queue.enqueue(fixture.note(.durable)))
        try await queue.hold(id)
        let held = try #require(try await changes.next())
        #expect(held.id == id && held.state == .held)
        fixture.clock.advance(by: .milliseconds(100))
        try await queue.release(id)
        #expect(try await changes.next()?.state == .ready)
    }

    /// Advances the clock while a task sleeps for a limit at most, until a condition holds.
    private func advance(atMost limit: Duration, until condition: () -> Bool) async {
        await untilTrue { [clock = fixture.clock] in
            if condition() { return true }
            if let rest = clock.sleeping.first, rest <= limit { clock.advance(by: rest) }
            return false
        }
    }

    @Test func `a change by this process comes within a tenth of a second, and one by another within a second`()
        async throws
    {
        let (queue, other) = (try fixture.engine().queue(), try fixture.engine().queue())
        let seen = Guarded<[ReplayJob.ID]>([])
        let observer = Task {
            for try await job in queue.changes { seen.withLock { $0.append(job.id) } }
        }
        // The first read has found nothing.
        await untilTrue { [clock = fixture.clock] in clock.sleeping.contains(.seconds(1)) }
        let first = try #require(try await queue.enqueue(fixture.note(.durable)))
        await advance(atMost: .milliseconds(100)) { seen.withLock { $0 } == [first] }
        let second = try #require(try await other.enqueue(fixture.note(.durable)))
        await advance(atMost: .seconds(1)) { seen.withLock { $0 } == [first, second] }
        observer.cancel()
        // The iteration ends with its task.
        _ = await observer.result
    }

    @Test func `a burst of changes is read at most ten times in a second, and its last state is not missed`()
        async throws
    {
        let queue = try fixture.engine().queue()
        let id = try #require(try await queue.enqueue(fixture.note(.durable)))
        fixture.clock.advance(by: .seconds(2))
        let seen = Guarded<[ReplayState]>([])
        let observer = Task { for try await job in queue.changes { seen.withLock { $0.append(job.state) } } }
        await untilTrue { [clock = fixture.clock] in clock.sleeping.contains(.seconds(1)) }
        for number in 0..<100 {
            if number % 2 == 0 { try await queue.hold(id) } else { try await queue.release(id) }
            fixture.clock.advance(by: .milliseconds(10))
        }
        try await queue.discard(id)
        await advance(atMost: .milliseconds(100)) { seen.withLock { $0.last } == .done }
        #expect(seen.withLock { $0.count } <= 12)
        observer.cancel()
        _ = await observer.result
    }

    @Test func `an iterator returns a change from the time it was made, an hour before its first read`()
        async throws
    {
        let queue = try fixture.engine().queue()
        var changes = queue.changes.makeAsyncIterator()
        let id = try await queue.enqueue(fixture.note(.durable))
        fixture.clock.advance(by: .seconds(3600))
        #expect(try await changes.next()?.id == id)
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
