import DiamondSQLite

/// What was answered from the cache and what was stored, counted and recorded until it is written.
///
/// In eight parts with a lock each, so that threads that ask for different things seldom wait for each other. What is of
/// one key is in one part, in its order.
final class AccessRecorder: Sendable {
    private struct Part {
        var counts: CacheCounts?
        var accesses = AccessLog()
    }

    private static let partCount = 8

    private let parts = (0..<AccessRecorder.partCount).map { _ in Guarded(Part()) }

    /// Records an access.
    ///
    /// - Returns: whether so much waits since now that it is to be written.
    func record(_ access: CacheAccess) -> Bool { part(of: access).withLock { $0.accesses.add(access) } }

    /// Records an access, and counts it in an hour.
    ///
    /// - Returns: the same, and the counts of another hour, which has ended.
    func count(
        _ access: CacheAccess,
        in hour: Int64,
        _ body: (inout CacheCounts) -> Void
    ) -> (isFull: Bool, finished: CacheCounts?) {
        part(of: access).withLock { part in (part.accesses.add(access), part.counts.count(in: hour, body)) }
    }

    /// Gives away what waits.
    func take() -> (counts: [CacheCounts], accesses: [CacheAccess]) {
        var (counts, accesses): ([CacheCounts], [CacheAccess]) = ([], [])
        for part in parts {
            part.withLock { part in
                if let count = part.counts.take() { counts.append(count) }
                accesses += part.accesses.take()
            }
        }
        return (counts, accesses)
    }

    /// What is recorded from now on.
    func sample(_ sampling: Sampling) {
        for part in parts { part.withLock { $0.accesses.sampling = sampling } }
    }

    private func part(of access: CacheAccess) -> Guarded<Part> {
        parts[Int(truncatingIfNeeded: access.prefix) & (Self.partCount - 1)]
    }
}

extension CacheCounts? {
    /// Counts something in an hour.
    ///
    /// - Returns: the counts of another hour, which has ended.
    mutating func count(in hour: Int64, _ body: (inout CacheCounts) -> Void) -> CacheCounts? {
        let finished = flatMap { $0.hour == hour ? nil : $0 }
        var current = finished == nil ? self ?? CacheCounts(hour: hour) : CacheCounts(hour: hour)
        body(&current)
        self = current
        return finished
    }
}
