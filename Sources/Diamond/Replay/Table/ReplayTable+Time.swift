import DiamondSQLite

/// Timed transitions of jobs.
extension ReplayTable {
    /// Makes the waiting jobs ready whose time has come.
    static func promote(
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            "SELECT id FROM job INDEXED BY job_by_time WHERE state = 1 AND run_at <= ?1 ORDER BY run_at LIMIT ?2")
        for id in try due(statement, ledger.now) {
            guard var row = try due(id, in: [.waiting], on: connection, &ledger) else { continue }
            let old = row.state
            (row.state, row.reason) = (.ready, .due)
            try save(row, .retry, from: old, on: connection, &ledger)
        }
    }

    /// Whether a job waits for the network.
    static func hasOffline(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.integer(
            "SELECT EXISTS (SELECT 1 FROM job INDEXED BY job_offline WHERE state = 1 AND reason = 'offline')") != 0
    }

    /// Makes ready what waits for the network, which is back.
    ///
    /// - Returns: whether there may be more.
    static func reach(
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        let statement = try connection.statement(
            "SELECT id FROM job INDEXED BY job_offline WHERE state = 1 AND reason = 'offline' ORDER BY id LIMIT ?")
        try statement.bind(slice, at: 1)
        let ids = try Self.ids(in: statement)
        for id in ids {
            guard var row = try due(id, in: [.waiting], on: connection, &ledger) else { continue }
            let old = row.state
            (row.state, row.reason, row.runAt) = (.ready, .online, ledger.now)
            try save(row, .retry, from: old, on: connection, &ledger)
        }
        return ids.count >= slice
    }

    static func expire(
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            SELECT id FROM job INDEXED BY job_by_expiry
            WHERE expires_at IS NOT NULL AND state IN (0, 1, 3) AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2
            """
        )
        for id in try due(statement, ledger.now) {
            guard var row = try due(id, in: [.ready, .waiting, .held], on: connection, &ledger) else { continue }
            let old = row.state
            row.expire()
            try save(row, .expire, from: old, on: connection, &ledger)
        }
    }

    /// A job that an index has named; `nil` where it is not in a state in which it may be named, or is damaged.
    private static func due(
        _ id: Int64,
        in states: [ReplayState],
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayRow? {
        guard let written = try written(id, on: connection), states.contains(written.row.state) else {
            try reindex(on: connection, &ledger)
            return nil
        }
        return try sound(id, on: connection, &ledger)
    }

    private static func due(_ statement: borrowing SQLiteStatement, _ now: Int64) throws(SQLiteError) -> [Int64] {
        try statement.bind(now, at: 1)
        try statement.bind(slice, at: 2)
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
        return try statement.step() ? statement.optional(0) : nil
    }
}
