/// The right of one process to send a request whose response is missing, while the others wait for its record.
public struct CacheLease: Hashable, Sendable {
    /// The key of the request: a lease is kept where the records of that key are.
    public let key: RequestKey
    /// The name among the leases of the key, in digits: requests with one key may select different variants.
    public let name: String
    /// A random number, which distinguishes the leases of one name.
    public let token: UInt64

    /// Creates a lease with a random token.
    package init(on key: RequestKey, name: String) {
        self.key = key
        self.name = name
        token = UInt64.random(in: 0 ... .max)
    }
}

/// A storage with leases, so that one process of a fleet sends a request and the others wait for its record.
///
/// Leases save requests, and protect nothing: a storage may lose them. A process asks for one when a response is
/// missing. It waits 50 milliseconds at most for the answer, and sends the request if there is none.
public protocol LeasingCacheStorage: CacheStorage {
    /// Takes a lease, unless a process has one with the same key and name.
    ///
    /// - Parameters:
    ///   - lease: the lease.
    ///   - time: the time after which the storage ends it, if its process does not.
    /// - Returns: whether the lease was taken.
    func take(_ lease: CacheLease, for time: Duration) async throws(CacheError) -> Bool

    /// Whether any process has a lease with the key and name of this one. If none has, lookups find what the last one
    /// has stored, and ``CacheStorage/changes(since:)`` knows the changes.
    func isTaken(_ lease: CacheLease) async throws(CacheError) -> Bool

    /// Ends a lease. One with another token stays.
    func end(_ lease: CacheLease) async throws(CacheError)
}
