import DiamondSQLite
import Synchronization

/// The activity of an engine: its counts and its events.
///
/// The counts cover what waits and what is on the wire, in this process. The events come from every room.
public final class Activity: Sendable {
    let state = Guarded(ActivityState())
    /// Apart from the state, because every hit asks: a lock here would be everybody's.
    private let hasObservers = Atomic(false)
    /// The rules that mask secrets in the URLs of events.
    let rules: KeyRules
    /// The clock for the delays of the indicator.
    let clock: any Clock<Duration>

    package init(
        rules: KeyRules = KeyRules(),
        clock: any Clock<Duration> = ContinuousClock(),
        observers: [any ActivityObserver] = []
    ) {
        self.rules = rules
        self.clock = clock
        state.withLock { state in
            for observer in observers { _ = state.observers.add { observer.notice($0) } }
        }
        hasObservers.store(!observers.isEmpty, ordering: .releasing)
    }

    deinit {
        for waiter in state.withLock({ $0.close() }) { waiter.fulfill(with: false) }
    }

    // MARK: Counts

    /// Exchanges on the wire now. Requests that wait, or are answered from the cache, are not among them.
    public var inFlight: Int { state.withLock { $0.ledger.total.inFlight } }

    /// All in all, now.
    public var counts: ActivityCounts { state.withLock { $0.ledger.total } }

    /// The counts now: in all, by lane, by origin and by tag, taken at one moment.
    public var snapshot: ActivitySnapshot { state.withLock { $0.ledger.snapshot } }

    /// The snapshots of the activity: the present one first, then one whenever it changes. The sequence ends with the
    /// engine, or with the waiting task.
    ///
    /// Coalesced: an iteration stores nothing for a slow consumer. It returns the newest snapshot as soon as something
    /// has changed since the last one it returned.
    public var changes: ActivityChanges { ActivityChanges(state: state) }

    /// Waits until nothing is queued, on the wire, between two attempts, or refreshed, and no connection is left but
    /// paused ones. Their `completionBlock`s may still be on their way.
    ///
    /// - Returns: `false` when the waiting task was canceled before.
    @discardableResult
    public func idle() async -> Bool { await state.wait(for: .idle) }

    // MARK: Events

    /// Calls `observer` with every event from now on, until the returned token is dropped. The end of an interval that
    /// began before may come alone.
    ///
    /// - Parameter observer: called at once, on the thread where it happened, and by many threads at the same time: be
    ///   short, and call nothing of the engine.
    public func observe(_ observer: @escaping @Sendable (ActivityEvent) -> Void) -> ActivityObservation {
        let number = state.withLock { state in
            hasObservers.store(true, ordering: .releasing)
            return state.observers.add(observer)
        }
        return ActivityObservation { [weak self] in self?.removeObserver(number) }
    }

    private func removeObserver(_ number: Int) {
        // Freed where no lock is held.
        _ = state.withLock { state in
            defer { hasObservers.store(!state.observers.isEmpty, ordering: .releasing) }
            return state.observers.remove(number)
        }
    }

    /// Sends every event to an observer of a type of its own, from now on, until the returned token is dropped.
    public func observe(_ observer: some ActivityObserver) -> ActivityObservation {
        observe { observer.notice($0) }
    }

    /// Whether anybody is told of events.
    var isObserved: Bool { hasObservers.load(ordering: .acquiring) }

    /// - Parameter observer: called when something is on the wire and nothing was, and the other way round.
    func observeWire(_ observer: @escaping @Sendable () -> Void) -> ActivityObservation {
        let number = state.withLock { $0.wireObservers.add(observer) }
        return ActivityObservation { [weak self] in _ = self?.state.withLock { $0.wireObservers.remove(number) } }
    }

    package func report(_ event: @autoclosure () -> ActivityEvent) {
        guard isObserved else { return }
        let observers = state.withLock { $0.observers.all }
        guard !observers.isEmpty else { return }
        let event = event()
        for observer in observers { observer(event) }
    }
}
