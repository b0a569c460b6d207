import DiamondSQLite

/// One exchange's lock of a place in the ``ResumeStore``. Released at the latest when it is deallocated.
final class ResumeLock: Sendable {
    private struct State {
        var isHeld = false
        /// Whether the exchange has tried to acquire it.
        var wasRequested = false
        /// Whether it was canceled or released, and cannot be acquired any more.
        var isClosed = false
    }

    // Taken before the store's, never the other way.
    private let state = Guarded(State())
    private let place: ResumeStore.Place
    private let store: ResumeStore

    init(of place: ResumeStore.Place, in store: ResumeStore) {
        self.place = place
        self.store = store
    }

    deinit { release() }

    /// Whether ``acquire()`` was called, with success or without.
    var wasRequested: Bool { state.withLock { $0.wasRequested } }

    /// Waits while a canceled exchange has the lock.
    ///
    /// - Returns: `false` where another exchange has it, and where the waiting task is canceled.
    func waitUntilFree() async -> Bool {
        while !Task.isCancelled, let waiter = store.waiter(for: place) { await waiter.value {} }
        return store.isFree(place)
    }

    /// Acquires the lock, unless its exchange was canceled before: the next one may have looked already.
    ///
    /// - Returns: whether the exchange has it now.
    func acquire() -> Bool {
        state.withLock { state in
            state.wasRequested = true
            if !state.isHeld, !state.isClosed { state.isHeld = store.addHolder(of: place) }
            return state.isHeld
        }
    }

    /// Lets others wait for the release: the exchange was canceled, and ends soon.
    func cancel() {
        state.withLock { state in
            state.isClosed = true
            if state.isHeld { store.cancelHolder(of: place) }
        }
    }

    func release() {
        let holder = state.withLock { state -> ResumeStore.Holder? in
            defer { state.isHeld = false }
            state.isClosed = true
            return state.isHeld ? store.removeHolder(of: place) : nil
        }
        for waiter in holder?.waiters ?? [] { waiter.fulfill(with: ()) }
    }
}
