import DiamondSQLite

/// What a row is found by, as it is written.
extension CacheTable {
    /// The row of another request with the same prefix, or one that was sealed otherwise, takes the name of this one.
    static func rename(
        _ row: CacheRow,
        isPartial: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            UPDATE entry SET key = ?, url = ?, identity = ?
            WHERE key_prefix = ? AND variant = 0 AND is_partial = ?
            """
        )
        try row.entry.key.bind(to: statement, at: 1)
        try statement.bind(row.entry.url, at: 2)
        try statement.bind(row.entry.identity, at: 3)
        try statement.bind(row.entry.key.prefix, at: 4)
        try statement.bind(Int64(isPartial ? 1 : 0), at: 5)
        try statement.run()
    }

    static func id(
        of key: RequestKey,
        isPartial: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int64 {
        let statement = try connection.statement(
            "SELECT id FROM entry WHERE key_prefix = ? AND variant = 0 AND is_partial = ?")
        try statement.bind(key.prefix, at: 1)
        try statement.bind(Int64(isPartial ? 1 : 0), at: 2)
        return try statement.step() ? statement.int64(0) : 0
    }
}

extension RequestKey {
    /// Without memory of its own, as ``bytes`` would take.
    func bind(to statement: borrowing SQLiteStatement, at index: Int32) throws(SQLiteError) {
        let bound = withUnsafeBytes { bytes in
            Result { () throws(SQLiteError) in try statement.bind(bytes: bytes, at: index) }
        }
        try bound.get()
    }
}
