#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// State behind a lock: the only way to it is the closure that holds the lock.
///
/// A plain platform lock on purpose: ThreadSanitizer reports false races on `Synchronization.Mutex` on Linux. Never
/// call out of the closure to code that could come back.
///
/// `@unchecked Sendable`: `state` is touched only in `withLock`, while `lock` is held.
package final class Guarded<State>: @unchecked Sendable {
    #if canImport(Darwin)
    private typealias Lock = os_unfair_lock_s
    #else
    private typealias Lock = pthread_mutex_t
    #endif

    private let lock: UnsafeMutablePointer<Lock>
    private var state: State

    package init(_ state: sending State) {
        self.state = state
        lock = .allocate(capacity: 1)
        lock.initialize(to: Lock())
        #if !canImport(Darwin)
        pthread_mutex_init(lock, nil)
        #endif
    }

    deinit {
        #if !canImport(Darwin)
        pthread_mutex_destroy(lock)
        #endif
        lock.deinitialize(count: 1)
        lock.deallocate()
    }

    /// Runs `body` with the state, alone.
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if canImport(Darwin)
        os_unfair_lock_lock(lock)
        defer { os_unfair_lock_unlock(lock) }
        #else
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        #endif
        return try body(&state)
    }
}
