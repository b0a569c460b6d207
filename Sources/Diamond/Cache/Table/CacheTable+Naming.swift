import Crypto
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
        let statement = try connection.statement(
            """
            UPDATE entry SET key = ?, url = ?, identity = ?
            WHERE key_prefix = ? AND variant = 0 AND is_partial = ?
            """
        )
        try statement.bind(entry.key, at: 1)
        try statement.bind(entry.url, at: 2)
        try statement.bind(entry.identity, at: 3)
        try statement.bind(entry.key.prefix, at: 4)
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

extension SQLiteStatement {
    /// Binds a key without the allocation of ``RequestKey/bytes``.
    func bind(_ key: RequestKey, at index: Int32) throws(SQLiteError) {
        try key.withUnsafeBytes { bytes in result(of: bytes, at: index) }.get()
    }

    func bind(_ digest: Checksum.Digest, at index: Int32) throws(SQLiteError) {
        try digest.withUnsafeBytes { bytes in result(of: bytes, at: index) }.get()
    }

    // withUnsafeBytes has no typed throws.
    private func result(of bytes: UnsafeRawBufferPointer, at index: Int32) -> Result<Void, SQLiteError> {
        Result { () throws(SQLiteError) in try bind(bytes: bytes, at: index) }
    }
}
