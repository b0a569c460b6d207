import DiamondSQLite

/// The lock of one exchange for a location in the ``ResumeLocks``. Released at the latest when it is deallocated.
final class ResumeLock: Sendable {
    private struct State {
        var isHeld = false
        /// Whether the exchange has tried to acquire it.
        var wasRequested = false
        /// Whether it was canceled or released, and cannot be acquired any more.
        var isClosed = false
    }

    // Locked before the state of the locks, never after it.
    private let state = Guarded(State())
    private let location: ResumeLocks.Location
    private let locks: ResumeLocks

    init(of location: ResumeLocks.Location, in locks: ResumeLocks) {
        self.location = location
        self.locks = locks
    }

    deinit { release() }

    /// Whether ``acquire()`` was called, even without success.
    var wasRequested: Bool { state.withLock { $0.wasRequested } }

    /// Waits while a canceled exchange has the lock.
    ///
    /// - Returns: `false` if another exchange has it, or the waiting task is canceled.
    func waitUntilFree() async -> Bool {
        while !Task.isCancelled, let waiter = locks.waiter(for: location) { await waiter.value {} }
        return locks.isFree(location)
    }

    /// Acquires the lock. This fails if its exchange was canceled before, because the next exchange may have read the
    /// location already.
    ///
    /// - Returns: whether the exchange has it now.
    func acquire() -> Bool {
        state.withLock { state in
            state.wasRequested = true
            if !state.isHeld, !state.isClosed { state.isHeld = locks.addHolder(of: location) }
            return state.isHeld
        }
    }

    /// Notes that the exchange was canceled and ends soon. From now on others may wait for the release.
    func cancel() {
        state.withLock { state in
            state.isClosed = true
            if state.isHeld { locks.cancelHolder(of: location) }
        }
    }

    func release() {
        let holder = state.withLock { state -> ResumeLocks.Holder? in
            defer { state.isHeld = false }
            state.isClosed = true
            return state.isHeld ? locks.removeHolder(of: location) : nil
        }
        for waiter in holder?.waiters ?? [] { waiter.fulfill(with: ()) }
    }
}
