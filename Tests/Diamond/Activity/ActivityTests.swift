import DiamondSQLite
import Testing

@testable import Diamond

@Suite struct `The activity counter` {
    @Test func `counts a token out once, however often it ends`() {
        let activity = Activity()
        let first = activity.begin()
        let second = activity.begin()
        #expect(activity.inFlight == 2)
        first.end()
        first.end()
        #expect(activity.inFlight == 1)
        second.end()
        #expect(activity.inFlight == 0)
    }

    @Test func `counts out a token that was forgotten`() {
        let activity = Activity()
        do { _ = activity.begin() }
        #expect(activity.inFlight == 0)
    }

    @Test func `is balanced after any number of threads`() async {
        let activity = Activity()
        let events = Guarded((began: 0, ended: 0))
        let observation = activity.observe { event in
            switch event {
            case .began: events.withLock { $0.began += 1 }
            case .ended: events.withLock { $0.ended += 1 }
            default: break
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 { activity.begin().end() }
                }
            }
        }
        #expect(activity.inFlight == 0)
        #expect(events.withLock { $0 } == (8000, 8000))
        withExtendedLifetime(observation) {}
    }

    @Test func `tells an observer no more once its observation is dropped`() {
        let activity = Activity()
        let events = Guarded(0)
        do { _ = activity.observe { _ in events.withLock { $0 += 1 } } }
        activity.begin().end()
        #expect(events.withLock { $0 } == 0)
    }
}
