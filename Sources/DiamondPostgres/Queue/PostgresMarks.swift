#if Postgres && canImport(CDiamondPostgres)
import Diamond

/// The places in the indexes from which claims read.
///
/// While somebody holds a snapshot, the index entries of jobs that were claimed stay, and a search from the start would
/// read all of them. A job that is made ready later has a higher `turn`: the id of its transaction. So a claim that has
/// taken all ready jobs need not look below the oldest transaction that was running at that time.
///
/// A server that has crashed, and a replica that has taken its place, may give the ids of lost transactions again. All
/// connections are new then, so the marks hold only until the next one is made.
///
/// Some other transaction may run for hours. Ours take at most seconds, so the mark passes it after ``quickly``. Once a
/// second, a sweep reads from further below, and once a minute from the start, in case one of ours took longer, or has
/// undone a claim. It lowers the mark to what it finds.
struct PostgresMarks {
    /// The state of the server's transactions when a claim began.
    struct Snapshot {
        /// No transaction below it is running.
        var lowest: Int64
        /// No transaction from here on had begun.
        var next: Int64
        /// A time after it was taken. Not that of the call, which may have waited long for a connection: then the
        /// snapshot would count as old, and the marks would pass transactions that run.
        var time = Uptime.now
    }

    /// The end of the search of a claim, which has taken the first ready jobs of a priority.
    struct Place {
        var priority: Int64
        /// The turn of the last job; `nil` if it has taken them all.
        var last: Int64?
        /// The snapshot before the search.
        var snapshot: Snapshot
    }

    /// The lowest turn for each priority.
    private var turns: [Int64: Int64] = [:]
    /// The snapshots of the last seconds, the oldest first.
    private var snapshots: [(time: Uptime, next: Int64)] = []
    private var nextSweep = Uptime.min
    private var nextFullSweep = Uptime.min
    /// The time up to which timed jobs were handled.
    private var handledTime = QueueTime.min
    private var nextFullTimes = Uptime.min
    /// The number of connections that the marks come from.
    private var connections = 0

    private static let quickly: Int64 = 2_000
    private static let safely: Int64 = 10_000
    private static let sweepTime: Int64 = 1_000
    private static let fullSweepTime: Int64 = 60_000

    /// Forgets all marks if a connection was made since.
    mutating func begin(on connections: Int) {
        guard connections != self.connections else { return }
        self = PostgresMarks()
        self.connections = connections
    }

    /// Returns the lowest turn to read for a priority.
    func start(_ priority: Int64, _ sweep: Sweep) -> Int64 {
        switch sweep {
        case .full: .min
        case .recent(let turn): min(turn, turns[priority] ?? .min)
        case .none: turns[priority] ?? .min
        }
    }

    enum Sweep: Hashable {
        case none
        case recent(Int64)
        case full
    }

    /// Returns how far below the marks to read now.
    mutating func sweep(at now: Uptime) -> Sweep {
        guard now >= nextSweep else { return .none }
        nextSweep = now + Self.sweepTime
        guard now < nextFullSweep else {
            nextFullSweep = now + Self.fullSweepTime
            return .full
        }
        guard let oldest = snapshots.first(where: { $0.time <= now - Self.safely }) else { return .none }
        return .recent(oldest.next)
    }

    /// Notes the end of a search.
    mutating func advance(to place: Place) {
        let snapshot = place.snapshot
        let now = snapshot.time
        snapshots.removeAll { $0.time < now - 2 * Self.safely }
        if snapshots.last.map({ $0.time + 100 <= now }) ?? true { snapshots.append((now, snapshot.next)) }
        let passed = snapshots.last { $0.time <= now - Self.quickly }?.next ?? .min
        let limit = max(snapshot.lowest, passed)
        turns[place.priority] = max(turns[place.priority] ?? .min, min(place.last ?? .max, limit))
    }

    /// Lets the next claim find a ready job.
    ///
    /// - Returns: whether it was below the mark.
    mutating func lower(_ priority: Int64, to turn: Int64) -> Bool {
        guard let mark = turns[priority], turn < mark else { return false }
        turns[priority] = turn
        return true
    }

    /// The time from which timed jobs are searched, unless it is time to search all.
    var usualStartOfTimes: QueueTime { handledTime - 30_000 }

    /// Returns the time from which timed jobs are searched. Earlier ones were handled, or are found once a minute.
    mutating func startOfTimes(at now: Uptime) -> QueueTime {
        guard now < nextFullTimes else {
            nextFullTimes = now + Self.fullSweepTime
            return .min
        }
        return usualStartOfTimes
    }

    /// Lets the next claim search all times, because there are more jobs than one claim handles.
    mutating func searchAllTimes() { nextFullTimes = .min }

    /// Notes that the jobs up to a time were handled.
    mutating func handleTimes(before time: QueueTime) { handledTime = max(handledTime, time) }
}
#endif
