import DiamondSQLite
import Synchronization

/// The activity of an engine: its counts and its events.
///
/// The counts cover waiting requests and exchanges on the wire, in this process. The events come from all parts of the
/// engine.
public final class Activity: Sendable {
    let state = Guarded(ActivityState())
    /// An atomic outside of the state's lock, because every cache hit reads it.
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
            for observer in observers { _ = state.observers.add { observer.receive($0) } }
        }
        hasObservers.store(!observers.isEmpty, ordering: .releasing)
    }

    deinit {
        for waiter in state.withLock({ $0.close() }) { waiter.fulfill(with: false) }
    }

    // MARK: Counts

    /// The current counts of the whole engine.
    public var counts: ActivityCounts { state.withLock { $0.counters.total } }

    /// The current counts: in all, by lane, by origin and by tag, taken at one moment.
    public var snapshot: ActivitySnapshot { state.withLock { $0.counters.snapshot } }

    /// The snapshots of the activity: first the current one, then one whenever it changes. The sequence ends with the
    /// engine, or with the waiting task.
    ///
    /// Snapshots are coalesced: an iteration stores nothing for a slow consumer. It returns the newest snapshot as soon
    /// as something has changed since the last one.
    public var changes: some AsyncSequence<ActivitySnapshot, Never> & Sendable { ActivityChanges(state: state) }

    /// Waits until no work is waiting or under way, except paused connections (``ActivityCounts/isIdle``). The
    /// `completionBlock` of a finished connection may still be about to run.
    ///
    /// - Returns: `false` if the waiting task was canceled before.
    @discardableResult
    public func idle() async -> Bool { await state.wait(for: .idle) }

    // MARK: Events

    /// Calls a closure with every event from now on, until the returned observation is deallocated. It may receive the
    /// end of an interval that began before.
    ///
    /// - Parameter observer: called synchronously, on the thread of the event, and by several threads at the same time.
    ///   It must return quickly, and must not call the engine.
    public func observe(_ observer: @escaping @Sendable (ActivityEvent) -> Void) -> ActivityObservation {
        let number = state.withLock { state in
            hasObservers.store(true, ordering: .releasing)
            return state.observers.add(observer)
        }
        return ActivityObservation { [weak self] in self?.removeObserver(number) }
    }

    private func removeObserver(_ number: Int) {
        // Freed after the lock is released.
        _ = state.withLock { state in
            defer { hasObservers.store(!state.observers.isEmpty, ordering: .releasing) }
            return state.observers.remove(number)
        }
    }

    /// Whether there is an observer of events.
    var isObserved: Bool { hasObservers.load(ordering: .acquiring) }

    /// Observes whether anything is on the wire.
    ///
    /// - Parameter observer: called when the first exchange begins and when the last one ends.
    func observeWire(_ observer: @escaping @Sendable () -> Void) -> ActivityObservation {
        let number = state.withLock { $0.wireObservers.add(observer) }
        return ActivityObservation { [weak self] in _ = self?.state.withLock { $0.wireObservers.remove(number) } }
    }

    /// Sends an event to the observers.
    ///
    /// - Parameter event: evaluated only if there is an observer.
    package func report(_ event: @autoclosure () -> ActivityEvent) {
        guard isObserved else { return }
        let observers = state.withLock { $0.observers.all }
        guard !observers.isEmpty else { return }
        let event = event()
        for observer in observers { observer(event) }
    }
}
