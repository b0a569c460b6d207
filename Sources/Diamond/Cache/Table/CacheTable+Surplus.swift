package import DiamondSQLite

/// Rows after the end of a body. No lookup reads them, but they take space.
extension CacheTable {
    /// Returns the number of such rows of an entry.
    package static func surplus(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int {
        // `start` is the number of bytes before a row. SQLite finds the lengths in the heads of the rows, and reads no
        // body.
        return try connection.count(
            """
            SELECT count(*) FROM (
                SELECT sum(length(bytes)) OVER (ORDER BY id) - length(bytes) AS start
                FROM body WHERE id BETWEEN \(id) << 20 AND (\(id) << 20) + 1048575)
            WHERE start >= (SELECT body_size FROM entry WHERE id = \(id))
            """
        )
    }

    /// - Returns: `false` if they were removed meanwhile.
    package static func deleteSurplus(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError)
        -> Bool
    {
        try connection.run(
            """
            DELETE FROM body WHERE id IN (
                SELECT id FROM (
                    SELECT id, sum(length(bytes)) OVER (ORDER BY id) - length(bytes) AS start
                    FROM body WHERE id BETWEEN \(id) << 20 AND (\(id) << 20) + 1048575)
                WHERE start >= (SELECT body_size FROM entry WHERE id = \(id)))
            """
        )
        return connection.changes > 0
    }
}
