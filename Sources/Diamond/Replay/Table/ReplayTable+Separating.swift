import DiamondSQLite

/// Making the indexes anew where several rows say what only one may: one of them is damaged.
extension ReplayTable {
    /// Takes the unique indexes away, puts every damaged job in review, lets one job keep what only one may have, and makes
    /// all indexes anew.
    static func separate(
        on connection: borrowing SQLiteConnection, _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let indexes = try uniqueIndexes(on: connection)
        for index in indexes { try connection.execute("DROP INDEX \(index.name)") }
        try connection.execute("REINDEX job")
        var last = Int64.min
        while case let ids = try ids(after: last, on: connection), let end = ids.last {
            for id in ids { try setAside(id, on: connection, &ledger) }
            last = end
        }
        try stopSeconds(on: connection, &ledger)
        try freeSecondNames(on: connection)
        try freeHeads(on: connection)
        try settleLines(on: connection)
        for index in indexes { try connection.execute(index.sql) }
    }

    private static func setAside(
        _ id: Int64, on connection: borrowing SQLiteConnection, _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard let written = try written(id, on: connection), !written.isSound else { return }
        let row = written.row
        if !row.isSetAside, !row.isGivenUp { try putInReview(row, on: connection, &ledger) }
    }

    // MARK: What only one may have

    private struct Index {
        var name: String
        var sql: String
    }

    private static func uniqueIndexes(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Index] {
        let statement = try connection.statement(
            """
            SELECT name, sql FROM sqlite_master
            WHERE type = 'index' AND tbl_name = 'job' AND name IN ('job_head', 'job_running', 'job_unique')
            """
        )
        var indexes: [Index] = []
        while try statement.step() { indexes.append(Index(name: statement.text(0), sql: statement.text(1))) }
        return indexes
    }

    /// Puts all running jobs of a line but the newest in review: a page of the file may be as it was long ago.
    private static func stopSeconds(
        on connection: borrowing SQLiteConnection, _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            SELECT id FROM job WHERE state = 2 AND ordering_key IS NOT NULL AND id NOT IN (
                SELECT max(id) FROM job WHERE state = 2 AND ordering_key IS NOT NULL GROUP BY ordering_key)
            """
        )
        for id in try ids(in: statement) {
            guard let written = try written(id, on: connection) else { continue }
            try putInReview(written.row, on: connection, &ledger)
        }
    }

    /// The newest job keeps a unique name, as where one takes it over.
    private static func freeSecondNames(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.execute(
            """
            UPDATE job SET unique_states = 0
            WHERE unique_key IS NOT NULL AND (unique_states >> state) & 1 AND id NOT IN (
                SELECT max(id) FROM job WHERE unique_key IS NOT NULL AND (unique_states >> state) & 1
                GROUP BY unique_key)
            """
        )
    }

    /// Lines with several heads have none for now.
    private static func freeHeads(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
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
