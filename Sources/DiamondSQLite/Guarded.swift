#if canImport(Darwin)
public import Darwin
#elseif canImport(Glibc)
public import Glibc
#elseif canImport(Musl)
public import Musl
#elseif canImport(Android)
public import Android
#endif

/// State that is only accessible in a closure that holds its lock.
///
/// A platform lock, because ThreadSanitizer reports false races on `Synchronization.Mutex` on Linux. The lock is not
/// recursive: the closure must not call code that may access the same state.
///
/// Inlinable, because a request takes some twenty locks, and a generic call to another module costs more than the lock.
/// `public`, because Swift 6.3 does not inline `package` functions. No product exports this module.
///
/// `@unchecked Sendable`: the state is touched only in `withLock` and `withLockIfFree`, while the lock is held.
public struct Guarded<State>: @unchecked Sendable {
    #if canImport(Darwin)
    @usableFromInline typealias Lock = os_unfair_lock_s
    #else
    @usableFromInline typealias Lock = pthread_mutex_t
    #endif

    /// The lock and the state in one allocation, which does not move.
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
        // Outside the closure, so that the state is moved. Inside, large states were copied.
        storage.withUnsafeMutablePointerToElements { $0 }.initialize(to: state)
    }

    /// The identity of the state, which all copies have.
    @inlinable public var id: ObjectIdentifier { ObjectIdentifier(storage) }

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

    /// Runs `body` with exclusive access to the state. Returns `nil`, without waiting, if the lock is held.
    func withLockIfFree<Result>(_ body: (inout State) -> Result) -> Result? {
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
