import DiamondSQLite

@testable import Diamond

/// The events that a cache has reported.
final class RecordedCacheEvents: Sendable {
    private struct State {
        var dropped: [String] = []
        var locked: [String] = []
        var failures: [String] = []
        var setAside: [String] = []
        var evicted = 0
    }

    let activity = Activity()
    private let state: Guarded<State>
    private let observation: ActivityObservation

    init() {
        let state = Guarded(State())
        self.state = state
        observation = activity.observe { event in
            state.withLock { state in
                switch event {
                case .cacheEntryDropped(let reason): state.dropped.append(reason)
                case .cacheEntriesLocked(let reason): state.locked.append(reason)
                case .cacheFailed(let reason): state.failures.append(reason)
                case .cacheSetAside(let file): state.setAside.append(file)
                case .evicted(let count): state.evicted += count
                default: break
                }
            }
        }
    }

    var dropped: [String] { state.withLock { $0.dropped } }
    var locked: [String] { state.withLock { $0.locked } }
    var failures: [String] { state.withLock { $0.failures } }
    var setAside: [String] { state.withLock { $0.setAside } }
    var evicted: Int { state.withLock { $0.evicted } }
}
