import DiamondSQLite

/// Deleting jobs that ended long ago, and those of an identity that has signed out.
extension ReplayTable {
    /// The number of hours whose counts are stored: those of 400 days.
    private static let storedHours: Int64 = 400 * 24

    /// Deletes a batch of the done and dead jobs beyond the limits of a retention, and the oldest hourly counts.
    ///
    /// - Returns: whether there may be more to delete.
    static func deleteEnded(
        beyond retention: ReplayRetention,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        var isMore = false
        try deleteOldestHours(on: connection)
        let counts = try stateCounts(on: connection)
        for state in [ReplayState.done, .dead] {
            let limit = state == .done ? retention.done : retention.dead
            var count = state == .dead ? try deadCount(on: connection) : counts[state] ?? 0
            // The recorded number may be damaged, and no job must be deleted for that.
            if state == .done, count > limit.count {
                count = try connection.count("SELECT count(*) FROM job WHERE state = 4")
            }
            let surplus = max(0, count - limit.count)
            let old = try ended(state, before: ledger.now - limit.age, on: connection)
            let oldest = surplus > old.count ? try ended(state, before: .max, atMost: surplus, on: connection) : old
            for id in oldest {
                // The state of a damaged row may be wrong.
                guard try isDeletable(id, on: connection, ledger: &ledger) else { continue }
                try connection.run("DELETE FROM job WHERE id = \(id)")
                ledger.note(.forget, of: id, from: state, to: nil, reason: .expired)
            }
            isMore = isMore || oldest.count >= batchSize
        }
        return isMore
    }

    private static func isDeletable(
        _ id: Int64,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        guard let stored = try storedRow(id, on: connection) else { return false }
        if !stored.isIntact, stored.row.state == .done, stored.row.reason == .discarded { return true }
        return try checkedRow(id, on: connection, ledger: &ledger)?.state.isEnd == true
    }

    // Limited by number, not by age, so that a clock that is far ahead deletes at most one hour. Grouped, because
    // SQLite 3.40 ignores the OFFSET of a DISTINCT subquery.
    private static func deleteOldestHours(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run(
            """
            DELETE FROM hour WHERE hour <= (
                SELECT hour FROM hour GROUP BY hour ORDER BY hour DESC LIMIT 1 OFFSET \(storedHours))
            """
        )
    }

    /// Returns the number of dead jobs that may be deleted. Jobs that must stay do not count towards the limit.
    private static func deadCount(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int {
        try connection.count("SELECT count(*) FROM job WHERE state = 5 AND (is_strict = 0 OR ordering_key IS NULL)")
    }

    // Excludes dead jobs in strict order, which block later jobs until a person has decided. Also excludes jobs whose
    // answers have not been consumed, and those that create an object whose id other jobs wait for.
    private static func ended(
        _ state: ReplayState,
        before time: QueueTime,
        atMost limit: Int = .max,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        try connection.integers(
            """
            SELECT id FROM job WHERE state = \(state.rawValue) AND changed_at < \(time)
                AND (state = 4 OR is_strict = 0 OR ordering_key IS NULL)
                AND NOT EXISTS (SELECT 1 FROM answer WHERE answer.job = job.id AND taken_at IS NULL)
                AND NOT EXISTS (SELECT 1 FROM edge JOIN job AS other ON other.id = edge.job
                    WHERE edge.name = job.creates AND other.state < 4)
            ORDER BY changed_at LIMIT \(min(Int64(limit), batchSize))
            """
        )
    }

    // MARK: Signing out

    /// Returns the identities that have signed out, as they are in their columns.
    static func signedOut(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [String] {
        try connection.rows("SELECT name FROM hold WHERE kind = 'identity' AND is_sign_out = 1") { $0.text(0) }
    }

    /// Returns a batch of the jobs of an identity to delete after it has signed out, in the order of their ids.
    ///
    /// - Parameters:
    ///   - identity: the identity as it is in its column.
    ///   - includesOpen: whether to return all its jobs. Otherwise returns those that have ended, without those that
    ///     open jobs need: they stop later jobs in strict order, or create an object whose id a job waits for.
    static func jobs(
        of identity: String,
        includingOpen includesOpen: Bool,
        after last: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        try connection.integers(
            """
            SELECT id FROM job NOT INDEXED WHERE id > \(last) AND identity = \(identity) AND (\(includesOpen) OR (
                state > 3
                AND NOT (state > 4 AND is_strict = 1 AND EXISTS (
                    SELECT 1 FROM job AS other WHERE other.ordering_key = job.ordering_key AND other.state < 4))
                AND NOT EXISTS (SELECT 1 FROM edge JOIN job AS other ON other.id = edge.job
                    WHERE edge.name = job.creates AND other.state < 4)))
            ORDER BY id LIMIT \(batchSize)
            """
        )
    }

    /// Deletes jobs, with their requests, answers and failures. An owner that runs one of them has lost it.
    static func delete(
        _ ids: [Int64],
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        var keys: Set<String> = []
        var objects: Set<String> = []
        for id in ids {
            guard let stored = try storedRow(id, on: connection) else { continue }
            if !stored.isIntact { try reindex(on: connection, ledger: &ledger) }
            try connection.run("DELETE FROM job WHERE id = \(id)")
            ledger.note(.forget, of: id, from: stored.row.state, to: nil, reason: .signedOut)
            if let key = stored.row.orderingKey { keys.insert(key) }
            objects.insert(stored.row.creates)
        }
        for key in keys.sorted() { try updateHead(of: key, on: connection) }
        // Jobs of another identity may wait for the ids of the objects.
        for name in objects.sorted() { try updateReasons(ofJobsAwaiting: name, on: connection, ledger: &ledger) }
    }
}
