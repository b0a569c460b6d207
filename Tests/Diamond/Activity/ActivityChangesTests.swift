import DiamondSQLite
import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("The changes of an activity", .limit(minutes: 5)) struct ActivityChangesTests {
    @Test func `begin with the present counts`() async {
        let activity = Activity()
        let token = activity.begin()
        var changes = activity.changes.makeAsyncIterator()
        #expect(await changes.next(isolation: #isolation)?.counts.inFlight == 1)
        token.end()
        #expect(await changes.next(isolation: #isolation)?.counts.inFlight == 0)
    }

    @Test func `deliver the latest counts at every iteration`() async {
        let activity = Activity()
        var changes = activity.changes.makeAsyncIterator()
        _ = await changes.next(isolation: #isolation)
        let tokens = (0..<5).map { _ in activity.begin() }
        #expect(await changes.next(isolation: #isolation)?.counts.inFlight == 5)
        tokens[0].end()
        #expect(await changes.next(isolation: #isolation)?.counts.inFlight == 4)
    }

    @Test func `resume each waiting task`() async {
        let activity = Activity()
        let seen = Guarded<[Int]>([])
        let task = Task {
            for await snapshot in activity.changes {
                seen.withLock { $0.append(snapshot.counts.inFlight) }
                if snapshot.counts.inFlight == 2 { return }
            }
        }
        await untilTrue { seen.withLock { $0 } == [0] }
        let first = activity.begin()
        await untilTrue { seen.withLock { $0 } == [0, 1] }
        let second = activity.begin()
        await task.value
        #expect(seen.withLock { $0 } == [0, 1, 2])
        withExtendedLifetime((first, second)) {}
    }

    @Test func `end when it is released or the waiting task is canceled`() async {
        var activity: Activity? = Activity()
        let seen = Guarded(0)
        let changes = activity?.changes
        let tasks = (0..<2).map { _ in
            Task { if let changes { for await _ in changes { seen.withLock { $0 += 1 } } } }
        }
        await untilTrue { seen.withLock { $0 } == 2 }
        tasks[0].cancel()
        await tasks[0].value
        activity = nil
        await tasks[1].value
        #expect(seen.withLock { $0 } == 2)
    }

    @Test func `an activity is idle when only paused connections are left`() async {
        let activity = Activity()
        #expect(await activity.idle())
        let kinds: [ActivityInterval.Kind] = [.request, .queue, .attempt, .backoff, .refresh]
        var tokens = kinds.map { activity.begin($0) }
        let isIdle = Guarded(false)
        let task = Task {
            await activity.idle()
            isIdle.withLock { $0 = true }
        }
        let paused = [activity.begin(.request), activity.begin(.pause)]
        while let token = tokens.popLast() {
            #expect(!isIdle.withLock { $0 })
            token.end()
        }
        await task.value
        withExtendedLifetime(paused) {}
    }

    @Test func `a wait for an idle activity ends when its task is canceled`() async {
        let activity = Activity()
        let token = activity.begin()
        let task = Task { await activity.idle() }
        task.cancel()
        #expect(await !task.value)
        withExtendedLifetime(token) {}
    }
}
