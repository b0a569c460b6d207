package import DiamondSQLite

/// Rows after the end of a body. No lookup reads them, but they take space.
extension CacheTable {
    /// Returns the number of such rows of an entry.
    package static func surplus(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int {
        // `start` is the number of bytes before a row. SQLite finds the lengths in the heads of the rows, and reads no
        // body.
        let statement = try connection.statement(
            """
            SELECT count(*) FROM (
                SELECT sum(length(bytes)) OVER (ORDER BY id) - length(bytes) AS start
                FROM body WHERE id BETWEEN ?1 << 20 AND (?1 << 20) + 1048575)
            WHERE start >= (SELECT body_size FROM entry WHERE id = ?1)
            """
        )
        try statement.bind(id, at: 1)
        return try statement.step() ? Int(statement.int64(0)) : 0
    }

    /// - Returns: `false` if they were removed meanwhile.
    package static func deleteSurplus(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError)
        -> Bool
    {
        let statement = try connection.statement(
            """
            DELETE FROM body WHERE id IN (
                SELECT id FROM (
                    SELECT id, sum(length(bytes)) OVER (ORDER BY id) - length(bytes) AS start
                    FROM body WHERE id BETWEEN ?1 << 20 AND (?1 << 20) + 1048575)
                WHERE start >= (SELECT body_size FROM entry WHERE id = ?1))
            """
        )
        try statement.bind(id, at: 1)
        try statement.run()
        return connection.changes > 0
    }
}
