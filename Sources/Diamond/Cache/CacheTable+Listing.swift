import DiamondSQLite
import Foundation

/// What people and statistics ask of the tables.
extension CacheTable {
    static func list(
        limit: Int,
        offset: Int,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [CacheListing] {
        let statement = try connection.statement(
            """
            SELECT key, method, url, status, stored_at, initial_age, lifetime, flags, body_size
            FROM entry ORDER BY stored_at DESC, id DESC LIMIT ? OFFSET ?
            """
        )
        try statement.bind(Int64(limit), at: 1)
        try statement.bind(Int64(offset), at: 2)
        var listings: [CacheListing] = []
        while try statement.step() { if let listing = CacheListing(row: statement) { listings.append(listing) } }
        return listings
    }

    /// The entries whose keys begin with these hexadecimal digits, at most two: enough to tell whether it is one.
    static func list(
        beginning digits: String,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [CacheListing] {
        let statement = try connection.statement(
            """
            SELECT key, method, url, status, stored_at, initial_age, lifetime, flags, body_size
            FROM entry WHERE substr(lower(hex(key)), 1, ?) = ? LIMIT 2
            """
        )
        try statement.bind(Int64(digits.utf8.count), at: 1)
        try statement.bind(digits.lowercased(), at: 2)
        var listings: [CacheListing] = []
        while try statement.step() { if let listing = CacheListing(row: statement) { listings.append(listing) } }
        return listings
    }

    static func canonicalForm(
        of key: RequestKey,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> String? {
        let statement = try connection.statement("SELECT request FROM entry WHERE key_prefix = ? AND key = ?")
        try statement.bind(key.prefix, at: 1)
        try statement.bind(key.bytes, at: 2)
        return try statement.step() ? statement.text(0) : nil
    }

    static func statistics(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> CacheStatistics {
        let statement = try connection.statement(
            "SELECT count(*), coalesce(sum(body_size), 0), min(stored_at), max(stored_at) FROM entry"
        )
        guard try statement.step() else { return CacheStatistics() }
        return CacheStatistics(
            entries: Int(statement.int64(0)),
            bodyBytes: statement.int64(1),
            oldest: statement.isNull(2) ? nil : statement.int64(2),
            newest: statement.isNull(3) ? nil : statement.int64(3)
        )
    }

    // MARK: The store's secret

    static func secret(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Data? {
        let statement = try connection.statement("SELECT value FROM fact WHERE name = 'secret'")
        return try statement.step() ? statement.data(0) : nil
    }

    static func keepSecret(_ secret: Data, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement("INSERT OR IGNORE INTO fact (name, value) VALUES ('secret', ?)")
        try statement.bind(secret, at: 1)
        try statement.run()
    }
}
