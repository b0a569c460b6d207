import DiamondSQLite

/// The columns by which a row is found.
extension CacheTable {
    /// Gives a row the key, URL and identity of an entry: the row may be that of another request with the same prefix,
    /// or sealed with another secret.
    static func rename(
        _ entry: CacheEntry,
        isPartial: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE entry SET key = \(entry.key), url = \(entry.url), identity = \(entry.identity)
            WHERE key_prefix = \(entry.key.prefix) AND variant = 0 AND is_partial = \(isPartial)
            """
        )
    }

    static func id(
        of key: RequestKey,
        isPartial: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int64 {
        try connection.integer(
            "SELECT id FROM entry WHERE key_prefix = \(key.prefix) AND variant = 0 AND is_partial = \(isPartial)")
    }
}

extension SQL.StringInterpolation {
    mutating func appendInterpolation(_ key: RequestKey) { appendInterpolation(key.bytes) }
}
