import DiamondSQLite

/// The holders of the places where exchanges leave partial responses: one exchange at a time writes each place, through
/// a ``BodyRecorder`` with a ``ResumeLock``. A file has a lock of its own.
///
/// A canceled exchange saves the received bytes before it releases the lock. The next exchange waits for that, but never
/// for an exchange that continues.
final class ResumeLocks: Sendable {
    /// The place of a partial response.
    enum Location: Hashable {
        /// The partial entry of a request, or those of its variants.
        case entry(RequestKey)
        case slot(ObjectIdentifier)
    }

    struct Holder {
        /// Whether its exchange was canceled, and will soon release the lock.
        var isCanceled = false
        var waiters: [Promise<Void>] = []
    }

    private let holders = Guarded<[Location: Holder]>([:])

    /// Waits until all canceled exchanges have saved their partial responses, or the waiting task is canceled.
    func waitForCanceled() async {
        while !Task.isCancelled, let location = holders.withLock({ $0.first { $0.value.isCanceled }?.key }) {
            await waiter(for: location)?.value {}
        }
    }

    // MARK: For the locks

    func isFree(_ location: Location) -> Bool { holders.withLock { $0[location] == nil } }

    /// Returns a waiter for the release by a canceled holder; `nil` if there is none.
    func waiter(for location: Location) -> Promise<Void>? {
        holders.withLock { holders in
            guard holders[location]?.isCanceled == true else { return nil }
            let waiter = Promise<Void>()
            holders[location]?.waiters.append(waiter)
            return waiter
        }
    }

    /// - Returns: `false` if there is a holder already.
    func addHolder(of location: Location) -> Bool {
        holders.withLock { holders in
            guard holders[location] == nil else { return false }
            holders[location] = Holder()
            return true
        }
    }

    func cancelHolder(of location: Location) { holders.withLock { $0[location]?.isCanceled = true } }

    func removeHolder(of location: Location) -> Holder? { holders.withLock { $0.removeValue(forKey: location) } }
}
