import DiamondSQLite

/// Timed transitions of jobs.
extension ReplayTable {
    /// Makes the waiting jobs that have reached their time ready.
    static func promote(
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            "SELECT id FROM job INDEXED BY job_by_time WHERE state = 1 AND run_at <= ?1 ORDER BY run_at LIMIT ?2")
        for id in try ids(in: statement, before: ledger.now) {
            guard var row = try indexedRow(id, in: [.waiting], on: connection, ledger: &ledger) else { continue }
            let old = row.state
            row.state = .ready
            row.reason = .due
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
        let statement = try connection.statement(
            "SELECT id FROM job INDEXED BY job_offline WHERE state = 1 AND reason = 'offline' ORDER BY id LIMIT ?")
        try statement.bind(batchSize, at: 1)
        let ids = try Self.ids(in: statement)
        for id in ids {
            guard var row = try indexedRow(id, in: [.waiting], on: connection, ledger: &ledger) else { continue }
            let old = row.state
            row.state = .ready
            row.reason = .online
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
        let statement = try connection.statement(
            """
            SELECT id FROM job INDEXED BY job_by_expiry
            WHERE expires_at IS NOT NULL AND state IN (0, 1, 3) AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2
            """
        )
        for id in try ids(in: statement, before: ledger.now) {
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
        return try checkedRow(id, on: connection, ledger: &ledger)
    }

    private static func ids(
        in statement: borrowing SQLiteStatement, before now: Int64
    ) throws(SQLiteError) -> [Int64] {
        try statement.bind(now, at: 1)
        try statement.bind(batchSize, at: 2)
        return try ids(in: statement)
    }

    /// Returns the time of the next timed transition; `nil` for none.
    static func nextTime(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int64? {
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
        return try statement.step() ? statement.optional(0)?.clamped(to: ReplayRow.sensible) : nil
    }
}
