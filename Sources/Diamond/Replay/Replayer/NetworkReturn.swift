import DiamondSQLite

/// When what waits for the network is to be tried: as soon as it may be back, and no more often than is good for it.
final class NetworkReturn: Sendable {
    private struct State {
        /// The beginning is the first.
        var changes = 1
        var handled = 0
        var notBefore: Int64 = 0
    }

    /// Milliseconds between two tries: where routes change all the time, a name that nobody knows is not asked for each time.
    private static let pause: Int64 = 5_000

    private let state = Guarded(State())

    /// How often it may have come or gone.
    var changes: Int { state.withLock { $0.changes } }

    func noteChange() { state.withLock { $0.changes += 1 } }

    /// Has those tried that wait, where something has changed and it is time.
    ///
    /// - Parameters:
    ///   - uptime: in milliseconds.
    ///   - isReachable: asked where that matters.
    ///   - attempt: whether there was anybody. Where it throws, the next one to ask tries again.
    func handle(
        at uptime: Int64,
        isReachable: @autoclosure () -> Bool,
        _ attempt: () async throws(ReplayError) -> Bool
    ) async throws(ReplayError) {
        let changes: Int? = state.withLock { state in
            state.changes > state.handled && state.notBefore <= uptime ? state.changes : nil
        }
        guard let changes else { return }
        let hasTried = isReachable() ? try await attempt() : false
        state.withLock { state in
            state.handled = max(state.handled, changes)
            if hasTried { state.notBefore = uptime + Self.pause }
        }
    }

    /// How long until somebody is to be tried, in milliseconds; `nil` where nothing has changed.
    func delay(at uptime: Int64) -> Int64? {
        state.withLock { $0.changes > $0.handled ? max(0, $0.notBefore - uptime) : nil }
    }
}
