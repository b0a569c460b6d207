/// The maintenance of a store by a person, outside the programs that use it.
extension Cache {
    /// Evicts entries down to 90 % of a capacity: expired entries first, then others by SIEVE. Returns the space to the
    /// file system, unless readers in other processes still need it.
    ///
    /// - Parameter capacity: bytes on disk, the write-ahead log included, as ``diskCapacity``, which does not change.
    package func evict(to capacity: Int64) async throws(CacheError) -> CacheEviction {
        guard let file = sqlite?.file else { return try await evictRemotely(to: capacity) }
        let eviction = Eviction(file: file, capacity: capacity, now: now)
        let done = try await writer.alone { () throws(CacheError) in try eviction.run() }
        if done.count > 0 { writer.count(in: now().hour) { $0.evictions += Int64(done.count) } }
        return done
    }

    private func evictRemotely(to capacity: Int64) async throws(CacheError) -> CacheEviction {
        let storage = storage
        return try await writer.alone { () throws(CacheError) in
            let before = try storage.totals().diskBytes
            guard let count = try storage.evict(to: capacity) else {
                throw CacheError(.other, "\(storage.name) evicts by its own rules: set its limit there")
            }
            let after = try storage.totals().diskBytes
            let usage = CacheUsage(used: after, free: 0, bound: capacity)
            return CacheEviction(count: count, bytes: max(0, before - after), usage: usage)
        }
    }

    /// Returns the used part of a capacity.
    package func usage(of capacity: Int64) throws(CacheError) -> CacheUsage {
        try Eviction(file: file, capacity: capacity, now: now).usage()
    }
}
