import DiamondSQLite

/// All that an ``Activity`` knows, behind its one lock.
struct ActivityState {
    private(set) var ledger = ActivityLedger()
    /// Counts the changes of the ledger.
    private(set) var version = 0
    var observers = Listeners<ActivityReport>()
    /// Called when something is on the wire and nothing was, and the other way round.
    var wireObservers = Listeners<@Sendable () -> Void>()
    private var waiters = ActivityWaiters()
    private var lastNumber = 0
    /// Whether nothing will change any more.
    private var isClosed = false

    /// Numbers are taken in blocks, which no other activity of the process gets: one observer may be told of several.
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

    mutating func begin(_ kind: ActivityInterval.Kind, _ subject: ActivitySubject) -> (Beginning, ActivityNews) {
        let wasBusy = ledger.total.inFlight > 0
        let place = ledger.begin(kind, subject)
        return (Beginning(id: ActivityInterval.ID(number: number()), place: place), changed(wasBusy))
    }

    mutating func end(_ kind: ActivityInterval.Kind, at place: Int) -> ActivityNews {
        let wasBusy = ledger.total.inFlight > 0
        ledger.end(kind, at: place)
        return changed(wasBusy)
    }

    private mutating func changed(_ wasBusy: Bool) -> ActivityNews {
        version += 1
        var news = ActivityNews(observers: observers.all)
        if wasBusy != (ledger.total.inFlight > 0) { news.wire = wireObservers.all }
        if !waiters.isEmpty { news.woken = waiters.take(version, isIdle: ledger.total.isIdle) }
        return news
    }

    struct Beginning {
        let id: ActivityInterval.ID
        /// For the end.
        let place: Int
    }

    // MARK: Waiting

    /// - Returns: how the wait has ended; `nil` where it lasts.
    mutating func wait(_ waiter: ActivityWaiters.Waiter, for wish: ActivityWaiters.Wish) -> Bool? {
        if wish.isMet(version, isIdle: ledger.total.isIdle) { return true }
        if isClosed { return false }
        waiters.add(waiter, for: wish)
        return nil
    }

    mutating func remove(_ waiter: ActivityWaiters.Waiter) { waiters.remove(waiter) }

    mutating func close() -> [ActivityWaiters.Waiter] {
        isClosed = true
        return waiters.takeAll()
    }
}

typealias ActivityReport = @Sendable (ActivityEvent) -> Void

/// The receivers of a change, to be told once the lock is free.
struct ActivityNews {
    var observers: [ActivityReport]
    var wire: [@Sendable () -> Void] = []
    var woken: [ActivityWaiters.Waiter] = []

    /// - Parameter event: made only where there is an observer.
    func tell(_ event: () -> ActivityEvent?) {
        if !observers.isEmpty, let event = event() {
            for observer in observers { observer(event) }
        }
        for observer in wire { observer() }
        for waiter in woken { waiter.fulfill(with: true) }
    }
}
