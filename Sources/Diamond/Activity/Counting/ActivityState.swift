import DiamondSQLite

/// All that an ``Activity`` knows, behind its one lock.
struct ActivityState {
    private(set) var ledger = ActivityLedger()
    /// Counts the changes of the ledger.
    private(set) var version = 0
    private(set) var observers: [ActivityReport] = []
    private var observersByNumber: [Int: ActivityReport] = [:]
    /// Called when something is on the wire and nothing was, and the other way round.
    private var wireObservers: [Int: @Sendable () -> Void] = [:]
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
        var news = ActivityNews(observers: observers)
        if wasBusy != (ledger.total.inFlight > 0), !wireObservers.isEmpty { news.wire = Array(wireObservers.values) }
        if !waiters.isEmpty { news.woken = waiters.take(version, isIdle: ledger.total.isIdle) }
        return news
    }

    struct Beginning {
        let id: ActivityInterval.ID
        /// For the end.
        let place: Int
    }

    // MARK: Observing

    mutating func observe(_ observer: @escaping ActivityReport) -> Int {
        let number = number()
        observersByNumber[number] = observer
        observers = observersByNumber.sorted { $0.key < $1.key }.map(\.value)
        return number
    }

    mutating func observeWire(_ observer: @escaping @Sendable () -> Void) -> Int {
        let number = number()
        wireObservers[number] = observer
        return number
    }

    /// - Returns: what is to be freed where no lock is held: what it keeps is the app's.
    mutating func removeObserver(_ number: Int) -> ActivityReport? {
        wireObservers[number] = nil
        guard let observer = observersByNumber.removeValue(forKey: number) else { return nil }
        observers = observersByNumber.sorted { $0.key < $1.key }.map(\.value)
        return observer
    }

    // MARK: Waiting

    mutating func waiter() -> Int { number() }

    /// - Returns: how the wait has ended; `nil` where it lasts.
    mutating func wait(_ number: Int, for wish: ActivityWaiters.Wish, _ waiter: ActivityWaiters.Waiter) -> Bool? {
        if waiters.forgetCancel(of: number) { return false }
        if wish.isMet(version, isIdle: ledger.total.isIdle) { return true }
        if isClosed { return false }
        waiters.add(number, wish, waiter)
        return nil
    }

    mutating func cancel(_ number: Int) -> ActivityWaiters.Waiter? { waiters.cancel(number) }

    mutating func endWait(_ number: Int) { _ = waiters.forgetCancel(of: number) }

    mutating func close() -> [ActivityWaiters.Waiter] {
        isClosed = true
        return waiters.takeAll()
    }
}

typealias ActivityReport = @Sendable (ActivityEvent) -> Void

/// Whom a change is to be told, once the lock is free.
struct ActivityNews {
    var observers: [ActivityReport]
    var wire: [@Sendable () -> Void] = []
    var woken: [ActivityWaiters.Waiter] = []

    /// - Parameter event: made only where somebody observes.
    func tell(_ event: () -> ActivityEvent?) {
        if !observers.isEmpty, let event = event() {
            for observer in observers { observer(event) }
        }
        for observer in wire { observer() }
        for waiter in woken { waiter.resume(returning: true) }
    }
}
