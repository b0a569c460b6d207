import DiamondSQLite
import Synchronization

/// The places where exchanges leave partial responses. One exchange at a time writes each, with a ``ResumeLock``. A file
/// has a lock of its own.
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

    fileprivate struct Holder {
        let lock: ObjectIdentifier
        /// Whether its exchange was canceled, and will soon release the lock.
        var isCanceled = false
        var waiters: [Promise<Void>] = []
    }

    fileprivate let holders = Guarded<[Location: Holder]>([:])

    /// Waits until all canceled exchanges have saved their partial responses, or the waiting task is canceled.
    func waitForCanceled() async {
        while !Task.isCancelled, let location = holders.withLock({ $0.first { $0.value.isCanceled }?.key }) {
            if case .canceled(let release) = status(of: location) { await release.value {} }
        }
    }

    fileprivate enum Status {
        case free, held
        /// A canceled exchange holds the lock. The promise is fulfilled when it releases the lock.
        case canceled(Promise<Void>)
    }

    /// Returns the status of a place, with a waiter if its holder was canceled.
    fileprivate func status(of location: Location) -> Status {
        holders.withLock { holders in
            guard let holder = holders[location] else { return .free }
            guard holder.isCanceled else { return .held }
            let waiter = Promise<Void>()
            holders[location]?.waiters.append(waiter)
            return .canceled(waiter)
        }
    }
}

/// The lock of one exchange for a place in the ``ResumeLocks``. Released at the latest when it is deallocated.
final class ResumeLock: Sendable {
    // Both change while the lock of the holders is held.
    private let isRequested = Atomic(false)
    /// Whether it was canceled or released, and cannot be acquired any more.
    private let isClosed = Atomic(false)
    private let location: ResumeLocks.Location
    private let locks: ResumeLocks

    init(of location: ResumeLocks.Location, in locks: ResumeLocks) {
        self.location = location
        self.locks = locks
    }

    deinit { if wasRequested { release() } }

    /// Whether ``acquire()`` was called, even without success.
    var wasRequested: Bool { isRequested.load(ordering: .acquiring) }

    /// Waits while a canceled exchange has the lock.
    ///
    /// - Returns: `false` if another exchange has it, or the waiting task is canceled.
    func waitUntilFree() async -> Bool {
        while true {
            switch locks.status(of: location) {
            case .free: return true
            case .held: return false
            case .canceled(let release):
                guard !Task.isCancelled else { return false }
                await release.value {}
            }
        }
    }

    /// Acquires the lock. This fails if its exchange was canceled before, because the next exchange may have read the
    /// location already.
    ///
    /// - Returns: whether the exchange has it now.
    func acquire() -> Bool {
        locks.holders.withLock { holders in
            isRequested.store(true, ordering: .releasing)
            if let holder = holders[location] { return holder.lock == ObjectIdentifier(self) }
            guard !isClosed.load(ordering: .relaxed) else { return false }
            holders[location] = ResumeLocks.Holder(lock: ObjectIdentifier(self))
            return true
        }
    }

    /// Notes that the exchange was canceled and ends soon. From now on others may wait for the release.
    func cancel() {
        locks.holders.withLock { holders in
            isClosed.store(true, ordering: .relaxed)
            if holders[location]?.lock == ObjectIdentifier(self) { holders[location]?.isCanceled = true }
        }
    }

    func release() {
        let holder = locks.holders.withLock { holders -> ResumeLocks.Holder? in
            isClosed.store(true, ordering: .relaxed)
            return holders[location]?.lock == ObjectIdentifier(self) ? holders.removeValue(forKey: location) : nil
        }
        for waiter in holder?.waiters ?? [] { waiter.fulfill(with: ()) }
    }
}
