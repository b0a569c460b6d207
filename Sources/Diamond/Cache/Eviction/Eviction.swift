import DiamondSQLite

/// Keeps the used pages of the file within a bound. It removes the leftovers of transfers first, then expired
/// entries, then others by SIEVE (see ``Sieve``), down to 90 % of the bound. It works in slices of a few
/// milliseconds, on the writer's queue only.
package final class Eviction: Sendable {
    private struct State {
        var capacity: Int64
        /// Whether eviction is in progress and continues below the bound.
        var isUnderWay = false
        /// Whether pages were vacuumed, but the log has not been emptied since. The file gets shorter only then.
        var isShrinking = false
        /// The bytes that this process may write before the next check.
        var allowance: Int64 = 0
    }

    /// The bytes of the write-ahead log. They count toward the capacity.
    package static let logBytes: Int64 = 16 << 20
    /// The pages returned to the file system in one slice, which takes about a millisecond.
    private static let vacuumPages = 64
    /// Free bytes up to the used bytes divided by this, but at least 1 MiB, are left in the file for reuse.
    private static let freePart: Int64 = 8
    /// This process writes at most the bound divided by this before the next check.
    private static let allowedPart: Int64 = 128
    /// The divisor of the bound for the largest body.
    package static let largestPart: Int64 = 4

    private let file: CacheFile
    private let state: Guarded<State>
    let now: @Sendable () -> WallTime

    init(file: CacheFile, capacity: Int64, now: @escaping @Sendable () -> WallTime) {
        self.file = file
        self.now = now
        state = Guarded(State(capacity: capacity))
    }

    var capacity: Int64 {
        get { state.withLock { $0.capacity } }
        set {
            state.withLock { state in
                state.capacity = max(0, newValue)
                state.allowance = 0
            }
        }
    }

    /// Whether there may be something to evict. A check takes half the time of writing an entry, so it is not made for
    /// each entry.
    var needsCheck: Bool { state.withLock { $0.allowance <= 0 } }

    /// Counts the bytes that are about to be written. Other processes count their own.
    ///
    /// - Returns: whether to check the usage after the write.
    func spend(_ bytes: Int64) -> Bool {
        state.withLock { state in
            state.allowance -= bytes
            return state.allowance <= 0
        }
    }

    /// The bound of the pages in use, in bytes.
    private var bound: Int64 { Self.bound(of: capacity) }

    static func bound(of capacity: Int64) -> Int64 { max(capacity - logBytes, capacity / 2) }

    /// Returns the bytes of a capacity that entries use: the middle between the bound and the 90 % of it at which
    /// eviction stops.
    package static func usable(of capacity: Int64) -> Int64 { bound(of: capacity) / 100 * 95 }

    /// Whether a body is so large that many entries would have to be evicted for it.
    func isTooLarge(_ bodySize: Int) -> Bool { Int64(bodySize) > bound / Self.largestPart }

    /// Evicts what fits in one transaction, if there is something to evict.
    ///
    /// - Parameter pages: the pages of the file, if they have just been read.
    func slice(_ pages: CachePages? = nil) throws(CacheError) -> (count: Int, isMore: Bool) {
        let usage = if let pages { usage(pages) } else { try usage() }
        let isUnderWay = state.withLock { state in
            state.isUnderWay = usage.used > (state.isUnderWay ? usage.goal : usage.bound)
            // At most a small part of the bound, because other processes may write, too.
            let rest = min(usage.bound - usage.used, usage.bound / Self.allowedPart)
            // Unless the capacity was changed in the meantime.
            state.allowance = Self.bound(of: state.capacity) == usage.bound ? rest : 0
            return state.isUnderWay
        }
        guard isUnderWay else { return (0, try vacuumSlice(usage)) }
        let eviction = try evict(to: usage.goal)
        if eviction.isExhausted { stopEviction(at: usage.bound) }
        return (eviction.count, !eviction.isExhausted)
    }

    /// Stops an eviction that has nothing left to remove. If pinned entries take more than the bound, a check after
    /// each write would evict the entry just stored.
    private func stopEviction(at bound: Int64) {
        state.withLock { state in
            state.isUnderWay = false
            let isSame = Self.bound(of: state.capacity) == bound
            if isSame { state.allowance = max(state.allowance, bound / Self.allowedPart) }
        }
    }

    private func evict(to goal: Int64) throws(CacheError) -> CacheTable.EvictionSlice {
        let now = now()
        return try file.erasing { (connection) throws(SQLiteError) in
            // Another process may have evicted while this one waited for the write lock.
            let excess = try CacheTable.pages(on: connection).used - goal
            guard excess > 0 else { return CacheTable.EvictionSlice() }
            let left = try CacheTable.evictLeftovers(at: now, on: connection)
            guard left.isExhausted else { return left }
            let expired = try CacheTable.evictExpired(before: now, excess: excess, on: connection)
            return expired.isExhausted ? try CacheTable.evictUnvisited(excess: excess, on: connection) : expired
        }
    }

    /// Whether a file has so many free pages that they are returned to the file system.
    package static func isWasteful(free: Int64, used: Int64) -> Bool { free > max(used / freePart, 1 << 20) }

    /// Vacuums some pages, if the file has many free ones.
    ///
    /// - Returns: whether more can be vacuumed.
    private func vacuumSlice(_ usage: CacheUsage) throws(CacheError) -> Bool {
        guard Self.isWasteful(free: usage.free, used: usage.used) else {
            finishShrinking()
            return false
        }
        state.withLock { $0.isShrinking = true }
        try file.vacuum(pages: Self.vacuumPages)
        // A file that was rebuilt without incremental vacuum does not shrink.
        return try freeBytes() < usage.free
    }

    private func finishShrinking() {
        let isShrinking = state.withLock { state in
            defer { state.isShrinking = false }
            return state.isShrinking
        }
        if isShrinking { file.database.emptyLog() }
    }

    /// Evicts to 90 % of the bound if the used pages exceed it, and vacuums all free pages.
    func run() throws(CacheError) -> CacheEviction {
        let before = try usage()
        var count = 0
        while true {
            let slice = try slice()
            count += slice.count
            guard slice.isMore else { break }
        }
        try vacuumAll()
        let after = try usage()
        return CacheEviction(count: count, bytes: max(0, before.used - after.used), usage: after)
    }

    /// Returns the used bytes and the bound.
    func usage() throws(CacheError) -> CacheUsage { usage(try file.read(CacheTable.pages)) }

    private func usage(_ pages: CachePages) -> CacheUsage {
        CacheUsage(used: pages.used, free: pages.free, bound: bound)
    }

    /// Returns all free pages to the file system, so that no file holds erased bytes.
    func vacuumAll() throws(CacheError) {
        var before = Int64.max
        var free = try freeBytes()
        while free > 0, free < before {
            try file.retryingOnFullDisk { () throws(CacheError) in try file.vacuum(pages: Self.vacuumPages) }
            before = free
            free = try freeBytes()
        }
        file.database.emptyLog()
    }

    private func freeBytes() throws(CacheError) -> Int64 { try usage().free }
}
