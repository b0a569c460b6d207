/// The operations on a store that people run, apart from the programs that use it.
extension Cache {
    /// Brings the store within a bound now: what is expired first, then by SIEVE, down to 90 % of it. Gives the space
    /// back, as far as readers of other processes allow.
    ///
    /// - Parameter capacity: bytes on disk, the log included, as ``diskCapacity``, which stays as it is.
    package func evict(to capacity: Int64) async throws(CacheError) -> CacheEviction {
        let eviction = Eviction(file: file, capacity: capacity, now: now)
        let done = try await writer.alone { () throws(CacheError) in try eviction.run() }
        if done.count > 0 { writer.count(in: eviction.hour) { $0.evictions += Int64(done.count) } }
        return done
    }

    /// Returns the usage of a bound.
    package func usage(of capacity: Int64) throws(CacheError) -> CacheUsage {
        try Eviction(file: file, capacity: capacity, now: now).usage()
    }
}
