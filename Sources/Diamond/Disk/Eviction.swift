import DiamondSQLite

/// Keeps the file within its bound: what is expired first, then by SIEVE, down to 90 % of it, in slices of a few
/// milliseconds. Used from the writer's queue alone.
final class Eviction: Sendable {
    private struct State {
        var capacity: Int64
        /// Whether it goes on below the bound.
        var isUnderWay = false
        /// Whether pages were given back that the file still has, until its log is empty.
        var isShortening = false
    }

    /// What the log beside the file takes: it counts for the bound, too.
    private static let logBytes: Int64 = 16 << 20
    /// Pages given back to the file system in one slice: about a millisecond.
    private static let vacuumPages = 64
    /// Free pages are used again; from this part of the file on, they are given back.
    private static let freePart: Int64 = 8

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
        set { state.withLock { $0.capacity = max(0, newValue) } }
    }

    /// Whole hours since 1970.
    var hour: Int64 { now() / 3_600_000 }

    /// Of pages in use.
    private var bound: Int64 {
        let capacity = capacity
        return max(capacity - Self.logBytes, capacity / 2)
    }

    /// Whether a body is so large that others would have to go for it in numbers.
    func isTooLarge(_ bodySize: Int) -> Bool { Int64(bodySize) > bound / 4 }

    /// One transaction's worth of work, where there is some.
    func slice() throws(CacheError) -> (count: Int, isMore: Bool) {
        let bound = bound
        let used = try file.read { (connection) throws(SQLiteError) in try CacheTable.usedBytes(on: connection) }
        let isUnderWay = state.withLock { state in
            state.isUnderWay = used > (state.isUnderWay ? bound / 10 * 9 : bound)
            return state.isUnderWay
        }
        guard isUnderWay else { return (0, try giveBack(used)) }
        let eviction = try evict()
        if eviction.isExhausted { state.withLock { $0.isUnderWay = false } }
        return (eviction.count, !eviction.isExhausted)
    }

    private func evict() throws(CacheError) -> CacheTable.Eviction {
        let now = now()
        return try file.write { (connection) throws(SQLiteError) in
            let expired = try CacheTable.evictExpired(before: now, on: connection)
            return expired.isExhausted ? try CacheTable.evictUnvisited(on: connection) : expired
        }
    }

    /// - Returns: whether more can be given back.
    private func giveBack(_ used: Int64) throws(CacheError) -> Bool {
        guard try freeBytes() > max(used / Self.freePart, 1 << 20) else {
            finishShortening()
            return false
        }
        state.withLock { $0.isShortening = true }
        try file.vacuum(pages: Self.vacuumPages)
        return true
    }

    private func finishShortening() {
        let isShortening = state.withLock { state in
            defer { state.isShortening = false }
            return state.isShortening
        }
        if isShortening { file.database.emptyLog() }
    }

    /// Gives back all that holds nothing, so that no file holds what was erased.
    func giveBackAll() throws(CacheError) {
        var (before, free) = (Int64.max, try freeBytes())
        while free > 0, free < before {
            try file.vacuum(pages: Self.vacuumPages)
            (before, free) = (free, try freeBytes())
        }
        file.database.emptyLog()
    }

    private func freeBytes() throws(CacheError) -> Int64 {
        try file.read { (connection) throws(SQLiteError) in try CacheTable.freeBytes(on: connection) }
    }
}
