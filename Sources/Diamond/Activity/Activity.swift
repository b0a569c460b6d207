import DiamondSQLite

/// What is going on: the counter of exchanges on the wire, and the events of every room.
///
/// Counts are of this process. Observers are called at once, on the thread where it happened: be short, and call
/// nothing of the engine from them.
public final class Activity: Sendable {
    private struct State {
        var inFlight = 0
        var nextObserver = 0
        var observers: [Int: @Sendable (ActivityEvent) -> Void] = [:]
    }

    private let state = Guarded(State())

    package init() {}

    /// Exchanges on the wire now. Requests that wait, or are answered from the cache, are not among them.
    public var inFlight: Int { state.withLock { $0.inFlight } }

    /// Counts an exchange in; it is counted out when the token ends, or at the latest when it is dropped.
    package func begin() -> ActivityToken {
        state.withLock { $0.inFlight += 1 }
        report(.began)
        return ActivityToken(activity: self)
    }

    /// Calls `observer` with every event from now on, until the returned token is dropped.
    public func observe(_ observer: @escaping @Sendable (ActivityEvent) -> Void) -> ActivityObservation {
        let number = state.withLock { state in
            state.nextObserver += 1
            state.observers[state.nextObserver] = observer
            return state.nextObserver
        }
        return ActivityObservation { [weak self] in
            _ = self?.state.withLock { $0.observers.removeValue(forKey: number) }
        }
    }

    package func report(_ event: ActivityEvent) {
        let observers = state.withLock { $0.observers.isEmpty ? nil : Array($0.observers.values) }
        guard let observers else { return }
        for observer in observers { observer(event) }
    }

    fileprivate func end() {
        state.withLock { $0.inFlight -= 1 }
        report(.ended)
    }
}

/// One counted exchange. Ends once, however often it is ended, and when it is forgotten.
package final class ActivityToken: Sendable {
    private let activity: Guarded<Activity?>

    init(activity: Activity) { self.activity = Guarded(activity) }

    deinit { end() }

    package func end() {
        let activity = activity.withLock { activity in
            defer { activity = nil }
            return activity
        }
        activity?.end()
    }
}

/// An observer's registration; it lasts as long as this is kept.
public final class ActivityObservation: Sendable {
    private let cancelation: @Sendable () -> Void

    init(_ cancelation: @escaping @Sendable () -> Void) { self.cancelation = cancelation }

    deinit { cancelation() }
}
