#if canImport(Darwin)
public import Darwin
#else
public import Glibc
#endif

/// State behind a lock: the only way to it is the closure that holds the lock.
///
/// A plain platform lock on purpose: ThreadSanitizer reports false races on `Synchronization.Mutex` on Linux. Never
/// call out of the closure to code that could come back.
///
/// Inlinable, because a request takes some twenty locks, and a generic call to another module costs more than the lock.
/// `public`, because Swift 6.3 inlines nothing that is `package`; no product offers this module.
///
/// `@unchecked Sendable`: the state is touched only in `withLock`, while the lock is held.
public struct Guarded<State>: @unchecked Sendable {
    #if canImport(Darwin)
    @usableFromInline typealias Lock = os_unfair_lock_s
    #else
    @usableFromInline typealias Lock = pthread_mutex_t
    #endif

    /// Lock and state in one piece of memory that does not move.
    @usableFromInline final class Storage: ManagedBuffer<Lock, State> {
        @inlinable deinit {
            withUnsafeMutablePointers { (lock, state) in
                #if !canImport(Darwin)
                pthread_mutex_destroy(lock)
                #endif
                _ = state.deinitialize(count: 1)
            }
        }
    }

    @usableFromInline let storage: ManagedBuffer<Lock, State>

    @inlinable public init(_ state: sending State) {
        storage = Storage.create(minimumCapacity: 1) { _ in Lock() }
        #if !canImport(Darwin)
        storage.withUnsafeMutablePointerToHeader { _ = pthread_mutex_init($0, nil) }
        #endif
        // Out of the closure, so that the state is moved: large ones were copied, and freed at once.
        storage.withUnsafeMutablePointerToElements { $0 }.initialize(to: state)
    }

    /// Runs `body` with exclusive access to the state.
    @inlinable public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withUnsafeMutablePointers { (lock, state) throws(Failure) in
            #if canImport(Darwin)
            os_unfair_lock_lock(lock)
            defer { os_unfair_lock_unlock(lock) }
            #else
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            #endif
            return try body(&state.pointee)
        }
    }

    /// Runs `body` with the state, alone; returns `nil` if the lock is taken.
    @inlinable public func withLockIfFree<Result>(_ body: (inout State) -> Result) -> Result? {
        storage.withUnsafeMutablePointers { (lock, state) in
            #if canImport(Darwin)
            guard os_unfair_lock_trylock(lock) else { return nil }
            defer { os_unfair_lock_unlock(lock) }
            #else
            guard pthread_mutex_trylock(lock) == 0 else { return nil }
            defer { pthread_mutex_unlock(lock) }
            #endif
            return body(&state.pointee)
        }
    }
}
