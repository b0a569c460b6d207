package import DiamondSQLite

/// Timed transitions of jobs, and the record of the queue's time.
extension ReplayTable {
    /// Makes the waiting jobs that have reached their time ready.
    static func promote(
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let due: SQL = """
            SELECT id FROM job INDEXED BY job_by_time WHERE state = 1 AND run_at <= \(ledger.now)
            ORDER BY run_at LIMIT \(batchSize)
            """
        for id in try connection.integers(due) {
            guard var row = try indexedRow(id, in: [.waiting], on: connection, ledger: &ledger) else { continue }
            let old = row.state
            row.promote()
            try save(row, verb: .retry, from: old, on: connection, ledger: &ledger)
        }
    }

    /// Whether a job waits for the network.
    static func hasOffline(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.integer(
            "SELECT EXISTS (SELECT 1 FROM job INDEXED BY job_offline WHERE state = 1 AND reason = 'offline')") != 0
    }

    /// Makes the jobs that wait for the network ready, because it is reachable again.
    ///
    /// - Returns: whether there may be more.
    static func retryOffline(
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        let ids = try connection.integers(
            """
            SELECT id FROM job INDEXED BY job_offline WHERE state = 1 AND reason = 'offline'
            ORDER BY id LIMIT \(batchSize)
            """
        )
        for id in ids {
            guard var row = try indexedRow(id, in: [.waiting], on: connection, ledger: &ledger) else { continue }
            let old = row.state
            row.enter(.ready, reason: .online)
            row.runAt = ledger.now
            try save(row, verb: .retry, from: old, on: connection, ledger: &ledger)
        }
        return ids.count >= batchSize
    }

    /// Ends the jobs that have expired.
    static func expire(
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let expired: SQL = """
            SELECT id FROM job INDEXED BY job_by_expiry
            WHERE expires_at IS NOT NULL AND state IN (0, 1, 3) AND expires_at <= \(ledger.now)
            ORDER BY expires_at LIMIT \(batchSize)
            """
        for id in try connection.integers(expired) {
            guard var row = try indexedRow(id, in: [.ready, .waiting, .held], on: connection, ledger: &ledger) else {
                continue
            }
            let old = row.state
            row.expire()
            try save(row, verb: .expire, from: old, on: connection, ledger: &ledger)
        }
    }

    /// Returns the row of a job that an index has found; `nil` if the row is missing, is damaged, or has a state that
    /// does not belong in the index.
    static func indexedRow(
        _ id: Int64,
        in states: [ReplayState],
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayRow? {
        guard let stored = try storedRow(id, on: connection), states.contains(stored.row.state) else {
            try reindex(on: connection, ledger: &ledger)
            return nil
        }
        return try checkedRow(stored, on: connection, ledger: &ledger)
    }

    /// Returns the time of the next timed transition; `nil` for none.
    static func nextTime(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> QueueTime? {
        let statement = try connection.statement(
            """
            SELECT min(time) FROM (
                SELECT min(run_at) AS time FROM job INDEXED BY job_by_time WHERE state = 1
                UNION ALL
                SELECT min(expires_at) FROM job INDEXED BY job_by_expiry
                WHERE expires_at IS NOT NULL AND state IN (0, 1, 3)
            )
            """
        )
        return try statement.step() ? statement.optionalTime(0) : nil
    }

    // MARK: The record of the time

    enum ClockColumn: Int, SQLiteColumns { case boot, zero, uptime, wall, doubt, since }

    package static func queueClock(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> QueueClock? {
        let statement = try connection.statement(
            "SELECT boot, zero, uptime, wall, doubt, since FROM clock", columns: ClockColumn.self)
        guard try statement.step() else { return nil }
        return QueueClock(
            boot: statement.text(ClockColumn.boot), timeAtBoot: statement.time(ClockColumn.zero),
            uptime: statement.time(ClockColumn.uptime), wall: statement.time(ClockColumn.wall),
            unconfirmedOffTime: statement.int64(ClockColumn.doubt), inStepSince: statement.time(ClockColumn.since))
    }

    static func save(
        _ clock: QueueClock, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO clock (id, boot, zero, uptime, wall, doubt, since)
            VALUES (1, \(clock.boot), \(clock.timeAtBoot), \(clock.uptime), \(clock.wall),
                \(clock.unconfirmedOffTime), \(clock.inStepSince))
            ON CONFLICT (id) DO UPDATE SET boot = excluded.boot, zero = excluded.zero, uptime = excluded.uptime,
                wall = excluded.wall, doubt = excluded.doubt, since = excluded.since
            """
        )
    }

    /// Shortens waits that are longer than any rule sets, for example in a file that was written on another machine
    /// before its clock was set. The new wait is the longest that the job's rule sets.
    ///
    /// - Returns: whether there may be more.
    static func correctTimes(
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        let ids = try connection.integers(
            "SELECT id FROM job WHERE \(sql: isTooLate(at: ledger.now)) LIMIT \(batchSize)")
        for id in ids {
            guard var row = try checkedRow(id, on: connection, ledger: &ledger), row.state == .waiting else { continue }
            row.runAt = ledger.now + ReplayBackoff.delay(after: row.attempts, draw: 1)
            try save(row, verb: .retry, from: .waiting, on: connection, ledger: &ledger)
        }
        return ids.count >= batchSize
    }

    /// The condition for jobs that wait longer than any rule sets. It excludes jobs that were added for a later time,
    /// or are held.
    private static func isTooLate(at now: QueueTime) -> SQL {
        """
        state = 1 AND reason IN ('backoff', 'retryAfter', 'offline', 'returned', 'rescued') AND run_at > \(now)
            + CASE reason WHEN 'retryAfter' THEN \(ReplayBackoff.longestWait) ELSE \(ReplayBackoff.cap.milliseconds) END
        """
    }

    /// Returns the number of jobs with impossible times: they wait longer than any rule sets, or were added or changed
    /// in the future.
    package static func untimely(
        at now: QueueTime, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int {
        let latest = now + QueueClock.tolerance
        return try connection.count(
            """
            SELECT count(*) FROM job
            WHERE (\(sql: isTooLate(at: now))) OR enqueued_at > \(latest) OR changed_at > \(latest)
            """
        )
    }
}
