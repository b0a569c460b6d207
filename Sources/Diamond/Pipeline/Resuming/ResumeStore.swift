import DiamondSQLite

/// The partial responses that later exchanges resume (RFC 9111 section 3.3).
///
/// | response | place | resumed by |
/// |---|---|---|
/// | may be stored | a partial entry of the cache's store | whoever sends the same request, in any process |
/// | any other | the ``ResumeSlot`` of its connection, in memory | that connection |
///
/// Each place has a ``ResumeLock``: one exchange at a time writes it, through a ``ResumeWriter``. An exchange that was
/// canceled keeps what it has received before it releases the lock. The next one waits for that, but never for an exchange
/// that is under way.
final class ResumeStore: Sendable {
    /// The place of a partial response.
    enum Place: Hashable {
        case entry(RequestKey)
        case slot(ObjectIdentifier)
    }

    struct Holder {
        /// Whether its exchange was canceled, and will soon release the lock.
        var isCanceled = false
        var waiters: [Promise<Void>] = []
    }

    /// `nil` without a cache.
    let cache: Cache?
    let activity: Activity
    private let holders = Guarded<[Place: Holder]>([:])

    init(cache: Cache?, activity: Activity) {
        self.cache = cache
        self.activity = activity
    }

    /// Waits until all exchanges that were canceled have kept what they received, or until the waiting task is canceled.
    func waitForCanceled() async {
        while !Task.isCancelled, let place = holders.withLock({ $0.first { $0.value.isCanceled }?.key }) {
            await waiter(for: place)?.value {}
        }
    }

    // MARK: For the locks

    func isFree(_ place: Place) -> Bool { holders.withLock { $0[place] == nil } }

    /// Returns a waiter for the release by a canceled holder; `nil` where there is none.
    func waiter(for place: Place) -> Promise<Void>? {
        holders.withLock { holders in
            guard holders[place]?.isCanceled == true else { return nil }
            let waiter = Promise<Void>()
            holders[place]?.waiters.append(waiter)
            return waiter
        }
    }

    /// - Returns: `false` where another has the lock.
    func addHolder(of place: Place) -> Bool {
        holders.withLock { holders in
            guard holders[place] == nil else { return false }
            holders[place] = Holder()
            return true
        }
    }

    func cancelHolder(of place: Place) { holders.withLock { $0[place]?.isCanceled = true } }

    func removeHolder(of place: Place) -> Holder? { holders.withLock { $0.removeValue(forKey: place) } }
}
