import DiamondSQLite

/// A counted interval. It ends once, at the latest when the token is deallocated. Later calls of `end` have no effect.
///
/// `@unchecked Sendable`: `isOpen` and the outcome are changed only under the lock of the activity, and the outcome
/// only while the token is open. The thread that has closed the token may read the outcome.
package final class ActivityToken: @unchecked Sendable {
    /// The interval and the outcome that its end reports.
    // Allocated only for observers: most tokens have none, and each waiting request has two tokens.
    final class Observed {
        let interval: ActivityInterval
        var outcome = ActivityOutcome()

        init(_ interval: ActivityInterval) { self.interval = interval }
    }

    let id: ActivityInterval.ID
    /// The index of the entry in the counters.
    private let entry: Int
    /// The reported interval; `nil` if its begin had no observer.
    private let observed: Observed?
    private let activity: Activity
    // Last and adjacent, so that they share a word: each waiting request has two tokens.
    private let kind: ActivityInterval.Kind
    private var isOpen = true

    init(
        _ beginning: ActivityState.Beginning,
        kind: ActivityInterval.Kind,
        interval: ActivityInterval?,
        in activity: Activity
    ) {
        id = beginning.id
        entry = beginning.entry
        self.kind = kind
        self.activity = activity
        observed = interval.map(Observed.init)
    }

    deinit { if isOpen { end() } }

    /// Sets the outcome that the end reports, unless the end gives one itself.
    func setOutcome(_ outcome: @autoclosure () -> ActivityOutcome) {
        guard let observed else { return }
        let outcome = outcome()
        activity.state.withLock { _ in if isOpen { observed.outcome = outcome } }
    }

    /// - Parameter outcome: evaluated only if the begin was observed; `nil` to report the outcome that was set.
    package func end(_ outcome: @autoclosure () -> ActivityOutcome? = nil) {
        let notifications = activity.state.withLock { state -> ActivityNotifications? in
            guard isOpen else { return nil }
            isOpen = false
            return state.end(kind, entry: entry)
        }
        // Read without the lock: the outcome of an ended interval no longer changes.
        notifications?.deliver { observed.map { .ended($0.interval, outcome() ?? $0.outcome) } }
    }
}
