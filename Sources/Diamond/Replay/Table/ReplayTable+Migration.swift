import DiamondSQLite

/// The migration of files that were written before jobs had checksums.
extension ReplayTable {
    /// Computes the checksums of the jobs that have none, and notes the codes of their last failed attempts.
    static func seal(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement("SELECT id FROM job WHERE digest = 0 AND checksum = 0")
        for id in try ids(in: statement) {
            guard let stored = try storedRow(id, withRequest: true, on: connection) else { continue }
            var row = stored.row
            row.digest = ReplayRow.digest(of: stored.request)
            try seal(row, on: connection)
        }
    }

    private static func seal(_ row: ReplayRow, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            UPDATE job SET digest = ?2, checksum = ?3,
                failure = (SELECT code FROM attempt WHERE job = ?1 ORDER BY id DESC LIMIT 1)
            WHERE id = ?1
            """
        )
        try statement.bind(row.id, at: 1)
        try statement.bind(row.digest, at: 2)
        try statement.bind(row.checksum, at: 3)
        try statement.run()
    }
}
