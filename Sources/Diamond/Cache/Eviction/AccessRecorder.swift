import DiamondSQLite

/// A recorder that counts and keeps the accesses of the cache, hits and stores, until they are written.
///
/// It has eight parts with a lock each, so that threads that ask for different things seldom wait for each other. All
/// accesses of one key are in one part, in their order.
final class AccessRecorder: Sendable {
    private struct Part {
        var counts: [CacheCounts] = []
        var accesses = AccessLog()
    }

    private static let partCount = 8

    private let parts = (0..<AccessRecorder.partCount).map { _ in Guarded(Part()) }

    /// Records an access.
    ///
    /// - Returns: whether enough accesses wait now that they have to be written.
    func record(_ access: CacheAccess) -> Bool { part(of: access).withLock { $0.accesses.add(access) } }

    /// Records an access, and counts it in an hour.
    ///
    /// - Returns: whether enough accesses wait now that they have to be written, or whether there are counts of another
    ///   hour, which has ended.
    func count(
        _ access: CacheAccess,
        in hour: Int64,
        _ body: (inout CacheCounts) -> Void
    ) -> Bool {
        part(of: access).withLock { part in
            let isFull = part.accesses.add(access)
            return part.counts.count(in: hour, body) || isFull
        }
    }

    /// Removes and returns the counts and accesses that wait.
    func take() -> (counts: [CacheCounts], accesses: [CacheAccess]) {
        var (counts, accesses): ([CacheCounts], [CacheAccess]) = ([], [])
        for part in parts {
            part.withLock { part in
                counts += part.counts
                part.counts = []
                accesses += part.accesses.take()
            }
        }
        return (counts, accesses)
    }

    /// Takes back accesses that could not be written, and puts them before newer ones.
    func putBack(_ accesses: [CacheAccess]) {
        for (number, accesses) in Dictionary(grouping: accesses, by: Self.number) {
            parts[number].withLock { $0.accesses.putBack(accesses) }
        }
    }

    /// Sets the sample of accesses that are recorded from now on.
    func sample(_ sampling: Sampling) {
        for part in parts { part.withLock { $0.accesses.sampling = sampling } }
    }

    private func part(of access: CacheAccess) -> Guarded<Part> { parts[Self.number(of: access)] }

    private static func number(of access: CacheAccess) -> Int {
        Int(truncatingIfNeeded: access.prefix) & (partCount - 1)
    }
}
