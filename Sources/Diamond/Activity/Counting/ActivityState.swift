import DiamondSQLite

/// The state of an ``Activity``, behind its lock.
struct ActivityState {
    private(set) var counters = ActivityCounters()
    /// The number of changes of the counters.
    private(set) var version = 0
    var observers = Listeners<ActivityEventHandler>()
    /// Called when the first exchange on the wire begins and when the last one ends.
    var wireObservers = Listeners<@Sendable () -> Void>()
    private var waiters = ActivityWaiters()
    private var lastNumber = 0
    /// Whether the activity was deallocated, so that nothing will change.
    private var isClosed = false

    /// The number of blocks of interval numbers given out. Each block belongs to one activity, because an observer may
    /// receive events of several.
    private static let blocks = Guarded(0)
    private static let blockSize = 1024

    private mutating func number() -> Int {
        if lastNumber % Self.blockSize == 0 { lastNumber = Self.nextBlock() }
        lastNumber += 1
        return lastNumber
    }

    private static func nextBlock() -> Int {
        blocks.withLock { count in
            defer { count += 1 }
            return count * blockSize
        }
    }

    // MARK: Counting

    mutating func begin(_ kind: ActivityInterval.Kind, for subject: ActivitySubject) -> Beginning {
        let wasBusy = counters.total.inFlight > 0
        let entry = counters.begin(kind, for: subject)
        return Beginning(
            id: ActivityInterval.ID(number: number()), entry: entry, notifications: changed(wasBusy: wasBusy))
    }

    mutating func end(_ kind: ActivityInterval.Kind, entry: Int) -> ActivityNotifications {
        let wasBusy = counters.total.inFlight > 0
        counters.end(kind, entry: entry)
        return changed(wasBusy: wasBusy)
    }

    private mutating func changed(wasBusy: Bool) -> ActivityNotifications {
        version += 1
        var notifications = ActivityNotifications(observers: observers.all)
        if wasBusy != (counters.total.inFlight > 0) { notifications.wireObservers = wireObservers.all }
        if !waiters.isEmpty {
            notifications.waiters = waiters.removeSatisfied(version: version, isIdle: counters.total.isIdle)
        }
        return notifications
    }

    /// The result of beginning an interval.
    struct Beginning {
        let id: ActivityInterval.ID
        /// The index of the entry, for the end.
        let entry: Int
        let notifications: ActivityNotifications
    }

    // MARK: Waiting

    /// Adds a waiter, unless its condition is satisfied or cannot be any more.
    ///
    /// - Returns: whether the condition is satisfied; `nil` if the waiter has to wait.
    mutating func wait(_ waiter: ActivityWaiters.Waiter, for condition: ActivityWaiters.Condition) -> Bool? {
        if condition.isSatisfied(version: version, isIdle: counters.total.isIdle) { return true }
        if isClosed { return false }
        waiters.add(waiter, for: condition)
        return nil
    }

    mutating func remove(_ waiter: ActivityWaiters.Waiter) { waiters.remove(waiter) }

    mutating func close() -> [ActivityWaiters.Waiter] {
        isClosed = true
        return waiters.removeAll()
    }
}

typealias ActivityEventHandler = @Sendable (ActivityEvent) -> Void

/// The observers and waiters of a change, to be notified after the lock is released.
struct ActivityNotifications {
    var observers: [ActivityEventHandler]
    var wireObservers: [@Sendable () -> Void] = []
    var waiters: [ActivityWaiters.Waiter] = []

    /// Notifies the observers and waiters.
    ///
    /// - Parameter event: called only if there is an observer.
    func deliver(_ event: () -> ActivityEvent?) {
        if !observers.isEmpty, let event = event() {
            for observer in observers { observer(event) }
        }
        for observer in wireObservers { observer() }
        for waiter in waiters { waiter.fulfill(with: true) }
    }
}
