import DiamondSQLite

/// Rebuilding the indexes if damaged rows violate a unique index.
extension ReplayTable {
    /// Drops the unique indexes, puts every damaged job in review, resolves the remaining duplicates, and rebuilds all
    /// indexes.
    static func resolveDuplicates(
        on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let indexes = try uniqueIndexes(on: connection)
        for index in indexes { try connection.execute("DROP INDEX \(index.name)") }
        try connection.execute("REINDEX job")
        var last = Int64.min
        while case let ids = try ids(after: last, on: connection), let end = ids.last {
            for id in ids { try reviewIfDamaged(id, on: connection, ledger: &ledger) }
            last = end
        }
        try reviewDuplicateRuns(on: connection, ledger: &ledger)
        try freeDuplicateNames(on: connection)
        try clearDuplicateHeads(on: connection)
        try updateHeads(on: connection)
        for index in indexes { try connection.execute(index.sql) }
    }

    private static func reviewIfDamaged(
        _ id: Int64, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard let stored = try storedRow(id, on: connection), !stored.isIntact else { return }
        let row = stored.row
        if !row.isMarkedDamaged, !row.isDiscarded { try putInReview(row, on: connection, ledger: &ledger) }
    }

    // MARK: Duplicates

    private struct Index {
        var name: String
        var sql: String
    }

    private static func uniqueIndexes(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Index] {
        try connection.rows(
            """
            SELECT name, sql FROM sqlite_master
            WHERE type = 'index' AND tbl_name = 'job' AND name IN ('job_head', 'job_running', 'job_unique')
            """
        ) { Index(name: $0.text(0), sql: $0.text(1)) }
    }

    /// Puts all running jobs of an ordering key in review, except the newest. A damaged page may contain an old state
    /// of a job.
    private static func reviewDuplicateRuns(
        on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let ids = try connection.integers(
            """
            SELECT id FROM job WHERE state = 2 AND ordering_key IS NOT NULL AND id NOT IN (
                SELECT max(id) FROM job WHERE state = 2 AND ordering_key IS NOT NULL GROUP BY ordering_key)
            """
        )
        for id in ids {
            guard let stored = try storedRow(id, on: connection) else { continue }
            try putInReview(stored.row, on: connection, ledger: &ledger)
        }
    }

    /// Removes a unique name from all jobs except the newest, as when a new job takes it over.
    private static func freeDuplicateNames(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.execute(
            """
            UPDATE job SET unique_states = 0
            WHERE unique_key IS NOT NULL AND (unique_states >> state) & 1 AND id NOT IN (
                SELECT max(id) FROM job WHERE unique_key IS NOT NULL AND (unique_states >> state) & 1
                GROUP BY unique_key)
            """
        )
    }

    /// Clears the heads of ordering keys that have several.
    private static func clearDuplicateHeads(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.execute(
            """
            UPDATE job SET is_head = 0
            WHERE is_head = 1 AND ordering_key IN (
                SELECT ordering_key FROM job WHERE ordering_key IS NOT NULL AND is_head = 1
                GROUP BY ordering_key HAVING count(*) > 1)
            """
        )
    }
}
