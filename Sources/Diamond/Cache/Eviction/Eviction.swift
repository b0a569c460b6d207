import DiamondSQLite

/// A worker that keeps the file within its bound. It removes the leftovers of transfers and expired entries first, then
/// others by SIEVE, down to 90 % of the bound. It works in slices of a few milliseconds, on the writer's queue only.
package final class Eviction: Sendable {
    private struct State {
        var capacity: Int64
        /// Whether eviction is in progress and continues below the bound.
        var isUnderWay = false
        /// Whether pages were given back that the file still has, until its log is empty.
        var isShrinking = false
        /// Bytes that this process may write before it looks again.
        var allowance: Int64 = 0
    }

    /// The bytes that the log next to the file takes. They count for the bound, too.
    package static let logBytes: Int64 = 16 << 20
    /// Pages given back to the file system in one slice: about a millisecond.
    private static let vacuumPages = 64
    /// Free pages are used again; from this part of the file on, they are given back.
    private static let freePart: Int64 = 8
    /// The part of the bound that is written before the next look.
    private static let allowedPart: Int64 = 128
    /// No body is larger than this part of the bound.
    package static let largestPart: Int64 = 4

    private let file: CacheFile
    private let state: Guarded<State>
    private let now: @Sendable () -> Int64

    init(file: CacheFile, capacity: Int64, now: @escaping @Sendable () -> Int64) {
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

    /// Whether there may be something to evict. A check takes as long as half an entry, so it is not made for each
    /// entry.
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

    /// Whole hours since 1970.
    var hour: Int64 { CacheCounts.hour(of: now()) }

    /// The bound of the pages in use, in bytes.
    private var bound: Int64 { Self.bound(of: capacity) }

    static func bound(of capacity: Int64) -> Int64 { max(capacity - logBytes, capacity / 2) }

    /// Returns the bytes of a capacity that entries use: the middle between the bound and the 90 % of it at which
    /// eviction stops.
    package static func usable(of capacity: Int64) -> Int64 { bound(of: capacity) / 100 * 95 }

    /// Whether a body is so large that others would have to go for it in numbers.
    func isTooLarge(_ bodySize: Int) -> Bool { Int64(bodySize) > bound / Self.largestPart }

    /// Evicts what fits in one transaction, if there is something to evict.
    ///
    /// - Parameter pages: the pages of the file, if they have just been read.
    func slice(_ pages: CachePages? = nil) throws(CacheError) -> (count: Int, isMore: Bool) {
        let usage = if let pages { usage(pages) } else { try usage() }
        let isUnderWay = state.withLock { state in
            state.isUnderWay = usage.used > (state.isUnderWay ? usage.goal : usage.bound)
            // What is left, but no more than a small part: there may be several processes.
            let rest = min(usage.bound - usage.used, usage.bound / Self.allowedPart)
            // Unless the capacity was changed meanwhile.
            state.allowance = Self.bound(of: state.capacity) == usage.bound ? rest : 0
            return state.isUnderWay
        }
        guard isUnderWay else { return (0, try giveBack(usage)) }
        let eviction = try evict(to: usage.goal)
        if eviction.isExhausted { stopEviction(at: usage.bound) }
        return (eviction.count, !eviction.isExhausted)
    }

    /// Nothing is left that may go: where what is pinned takes more than the bound, a look behind each write would take what
    /// was just stored.
    private func stopEviction(at bound: Int64) {
        state.withLock { state in
            state.isUnderWay = false
            let isSame = Self.bound(of: state.capacity) == bound
            if isSame { state.allowance = max(state.allowance, bound / Self.allowedPart) }
        }
    }

    private func evict(to goal: Int64) throws(CacheError) -> CacheTable.Eviction {
        let now = now()
        return try file.erasing { (connection) throws(SQLiteError) in
            // Others may have made room while this waited for its turn.
            let excess = try CacheTable.pages(on: connection).used - goal
            guard excess > 0 else { return CacheTable.Eviction() }
            let left = try CacheTable.evictLeftovers(at: now, on: connection)
            guard left.isExhausted else { return left }
            let expired = try CacheTable.evictExpired(before: now, excess: excess, on: connection)
            return expired.isExhausted ? try CacheTable.evictUnvisited(excess: excess, on: connection) : expired
        }
    }

    /// Whether so much of a file holds nothing that it is given back.
    package static func isWasteful(free: Int64, used: Int64) -> Bool { free > max(used / freePart, 1 << 20) }

    /// - Returns: whether more can be given back.
    private func giveBack(_ usage: CacheUsage) throws(CacheError) -> Bool {
        guard Self.isWasteful(free: usage.free, used: usage.used) else {
            finishShrinking()
            return false
        }
        state.withLock { $0.isShrinking = true }
        try file.vacuum(pages: Self.vacuumPages)
        // A file that somebody has rebuilt without incremental vacuum gives nothing back.
        return try freeBytes() < usage.free
    }

    private func finishShrinking() {
        let isShrinking = state.withLock { state in
            defer { state.isShrinking = false }
            return state.isShrinking
        }
        if isShrinking { file.database.emptyLog() }
    }

    /// Evicts until the file is within its bound, and gives back all that holds nothing.
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

    /// Gives back all that holds nothing, so that no file holds what was erased.
    func vacuumAll() throws(CacheError) {
        var (before, free) = (Int64.max, try freeBytes())
        while free > 0, free < before {
            try file.retryingOnFullDisk { () throws(CacheError) in try file.vacuum(pages: Self.vacuumPages) }
            (before, free) = (free, try freeBytes())
        }
        file.database.emptyLog()
    }

    private func freeBytes() throws(CacheError) -> Int64 { try usage().free }
}
