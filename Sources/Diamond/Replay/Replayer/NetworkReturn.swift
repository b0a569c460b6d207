import DiamondSQLite

/// The schedule for jobs that wait for the network. They are tried as soon as the network may be reachable again, and
/// at most once in 5 seconds.
final class NetworkReturn: Sendable {
    private struct State {
        /// The number of changes; the start counts as the first.
        var changes = 1
        var handled = 0
        var notBefore = Uptime(rawValue: 0)
    }

    /// The minimum time between two tries, in milliseconds. Without it, a network whose routes change constantly would
    /// cause a failing DNS lookup at each change.
    private static let pause: Int64 = 5_000

    private let state = Guarded(State())

    /// The number of times the network's reachability may have changed.
    var changes: Int { state.withLock { $0.changes } }

    func noteChange() { state.withLock { $0.changes += 1 } }

    /// Tries the waiting jobs, if something has changed and the minimum time has passed.
    ///
    /// - Parameters:
    ///   - uptime: the time since the boot, in milliseconds.
    ///   - isReachable: whether the network may be reached; evaluated only if needed.
    ///   - attempt: tries the jobs, and returns whether there were any. If it throws, the next call tries again. Its
    ///     parameter is `false` if only the start counts as a change.
    func handle(
        at uptime: Uptime,
        isReachable: @autoclosure () -> Bool,
        _ attempt: (_ hasChanged: Bool) async throws(ReplayError) -> Bool
    ) async throws(ReplayError) {
        let changes: Int? = state.withLock { state in
            state.changes > state.handled && state.notBefore <= uptime ? state.changes : nil
        }
        guard let changes else { return }
        let hasTried = isReachable() ? try await attempt(changes > 1) : false
        state.withLock { state in
            state.handled = max(state.handled, changes)
            if hasTried { state.notBefore = uptime + Self.pause }
        }
    }

    /// Returns the time until the next try, in milliseconds; `nil` if nothing has changed.
    func delay(at uptime: Uptime) -> Int64? {
        state.withLock { $0.changes > $0.handled ? max(0, $0.notBefore.milliseconds(since: uptime)) : nil }
    }
}
