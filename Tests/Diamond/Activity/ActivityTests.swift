import DiamondSQLite
import DiamondTestSupport
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The activity counter", .limit(minutes: 5)) struct ActivityTests {
    @Test func `counts the end of a token once, however often end is called`() {
        let activity = Activity()
        let first = activity.begin()
        let second = activity.begin()
        #expect(activity.counts.inFlight == 2)
        first.end()
        first.end()
        #expect(activity.counts.inFlight == 1)
        second.end()
        #expect(activity.counts.inFlight == 0)
    }

    @Test func `ends a token that was released`() {
        let activity = Activity()
        do { _ = activity.begin() }
        #expect(activity.counts.inFlight == 0)
    }

    @Test func `is balanced after any number of threads`() async {
        let activity = Activity()
        let recorder = ActivityRecorder(activity)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for number in 0..<1000 {
                        activity.begin(ActivityInterval.Kind.all[number % 6], tags: ["\(number % 7)"]).end()
                    }
                }
            }
        }
        #expect(activity.snapshot == ActivitySnapshot(counts: ActivityCounts(), lanes: [:], origins: [:], tags: [:]))
        #expect(recorder.begun == 8000 && recorder.isBalanced)
    }

    @Test(arguments: ActivityInterval.Kind.all) func `counts every kind separately`(
        kind: ActivityInterval.Kind
    ) {
        let activity = Activity()
        let token = activity.begin(kind)
        let counts = activity.counts
        let figures = [
            counts.requests, counts.queued, counts.inFlight, counts.backingOff, counts.paused, counts.refreshing,
        ]
        #expect(figures == ActivityInterval.Kind.all.map { $0 == kind ? 1 : 0 })
        #expect(counts.isIdle == (kind == .pause))
        token.end()
        #expect(activity.counts == ActivityCounts())
    }

    @Test func `counts by lane, origin and tag`() {
        let activity = Activity()
        let tokens = [
            activity.begin(.attempt, "images", "http://a", tags: ["x", "y"]),
            activity.begin(.queue, "images", "http://b", tags: ["y"]),
            activity.begin(.attempt, "api", "http://a"),
        ]
        let snapshot = activity.snapshot
        #expect(snapshot.counts.inFlight == 2 && snapshot.counts.queued == 1)
        #expect(snapshot.lanes["images"]?.inFlight == 1 && snapshot.lanes["images"]?.queued == 1)
        #expect(snapshot.lanes["api"]?.inFlight == 1 && snapshot.lanes.count == 2)
        #expect(snapshot.origins["http://a"]?.inFlight == 2 && snapshot.origins["http://b"]?.queued == 1)
        #expect(snapshot.tags["y"]?.inFlight == 1 && snapshot.tags["y"]?.queued == 1)
        #expect(snapshot.tags["x"]?.queued == 0 && snapshot.tags.count == 2)
        withExtendedLifetime(tokens) {}
    }

    @Test func `keeps no keys of intervals that ended long ago`() {
        var counters = ActivityCounters()
        let places = (0..<1000).map {
            counters.begin(.attempt, for: ActivitySubject(lane: .default, origin: "\($0)", tags: []))
        }
        #expect(Set(places).count == 1000)
        for place in places { counters.end(.attempt, entry: place) }
        #expect(counters.count == 64 && counters.total == ActivityCounts())
        let again = counters.begin(.attempt, for: ActivitySubject(lane: .default, origin: "new", tags: []))
        #expect(counters.snapshot.origins.keys.sorted() == ["new"] && again < 1000)
    }

    @Test func `reports nothing to an observer whose observation is released`() {
        let activity = Activity()
        let events = Guarded(0)
        do { _ = activity.observe { _ in events.withLock { $0 += 1 } } }
        activity.begin().end()
        #expect(events.withLock { $0 } == 0)
    }

    @Test func `gives every interval a unique ID`() {
        let ids = Guarded<[ActivityInterval.ID]>([])
        let activities = (0..<2).map { _ in Activity() }
        let observations = activities.map {
            $0.observe { event in if case .began(let began) = event { ids.withLock { $0.append(began.id) } } }
        }
        for _ in 0..<3000 { for activity in activities { activity.begin().end() } }
        #expect(ids.withLock { $0.count } == 6000 && Set(ids.withLock { $0 }).count == 6000)
        withExtendedLifetime(observations) {}
    }

    @Test func `releases an observer without holding a lock`() {
        let activity = Activity()
        let counts = Guarded<[Int]>([])
        do {
            _ = activity.observe { [reader = CountReader(activity, counts)] _ in withExtendedLifetime(reader) {} }
        }
        #expect(counts.withLock { $0 } == [0])
    }

    /// Reads a count when it is deallocated.
    private final class CountReader: Sendable {
        private let count: @Sendable () -> Int?
        private let counts: Guarded<[Int]>

        init(_ activity: Activity, _ counts: Guarded<[Int]>) {
            (count, self.counts) = ({ [weak activity] in activity?.counts.inFlight }, counts)
        }

        deinit { if let count = count() { counts.withLock { $0.append(count) } } }
    }

    @Test func `reports the outcome passed to end, or else the outcome set before`() {
        let activity = Activity()
        let outcomes = Guarded<[ActivityOutcome]>([])
        let observation = activity.observe { event in
            if case .ended(_, let outcome) = event { outcomes.withLock { $0.append(outcome) } }
        }
        let tokens = [activity.begin(), activity.begin()]
        for token in tokens { token.setOutcome(ActivityOutcome(error: "timedOut")) }
        tokens[0].end()
        tokens[1].end(ActivityOutcome(status: .ok))
        #expect(outcomes.withLock { $0 } == [ActivityOutcome(error: "timedOut"), ActivityOutcome(status: .ok)])
        withExtendedLifetime(observation) {}
    }
}

extension ActivityInterval.Kind {
    static let all: [Self] = [.request, .queue, .attempt, .backoff, .pause, .refresh]
}

extension Activity {
    func begin(
        _ kind: ActivityInterval.Kind = .attempt,
        _ lane: Lane = .default,
        _ origin: String = "http://h",
        tags: Tags = []
    ) -> ActivityToken {
        begin(kind, for: ActivitySubject(lane: lane, origin: origin, tags: tags)) {
            ActivityRequest(method: .get) { origin + "/" }
        }
    }
}
