import Crypto
package import DiamondSQLite
package import Foundation

/// The store's own facts: its secret, its changes, and the counts of each hour.
extension CacheTable {
    package static func secret(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Data? {
        try connection.first("SELECT value FROM fact WHERE name = 'secret'") { $0.data(0) }
    }

    package static func saveSecret(_ secret: Data, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run("INSERT OR IGNORE INTO fact (name, value) VALUES ('secret', \(secret))")
    }

    // MARK: Erasures

    /// The reason why rows of an identity were erased that are not overwritten yet.
    enum Erasure: String { case signOut = "1", other = "0" }

    /// Returns the erasure that is not overwritten yet; `nil` for none.
    static func erasure(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Erasure? {
        let statement = try connection.statement("SELECT value FROM fact WHERE name = 'erased'")
        guard try statement.step() else { return nil }
        return Erasure(rawValue: String(decoding: statement.data(0), as: UTF8.self)) ?? .other
    }

    static func note(_ erasure: Erasure, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO fact (name, value) VALUES ('erased', \(Data(erasure.rawValue.utf8)))
            ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)
            """
        )
    }

    /// Notes an erasure if one of these entries has an identity and is in clear.
    static func note(
        _ erasure: Erasure, of ids: [Int64], on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        for id in ids {
            let statement = try connection.statement(
                "SELECT 1 FROM entry WHERE id = \(id) AND identity IS NOT NULL AND seal IS NULL")
            if try statement.step() { return try note(erasure, on: connection) }
        }
    }

    /// Erases the entries of a condition. Notes the erasure if one has an identity and is in clear.
    ///
    /// - Returns: whether there were any.
    @discardableResult
    static func erase(
        where condition: SQL, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        let owned = try connection.integers(
            "DELETE FROM entry WHERE \(sql: condition) RETURNING identity IS NOT NULL AND seal IS NULL")
        if owned.contains(where: { $0 != 0 }) { try note(.other, on: connection) }
        return !owned.isEmpty
    }

    static func clearErasure(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run("DELETE FROM fact WHERE name = 'erased'")
    }

    // MARK: Changes

    /// Returns the position of the newest change.
    static func newestChange(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> ChangePosition {
        ChangePosition(rawValue: try connection.integer("SELECT coalesce(max(id), 0) FROM change"))
    }

    /// Returns the changes after a position.
    static func changes(
        after position: ChangePosition,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> CacheChanges {
        let newest = try newestChange(on: connection)
        let unknown = CacheChanges(position: newest, names: nil)
        guard newest > position else {
            return newest == position ? CacheChanges(position: newest, names: ChangedNames()) : unknown
        }
        let statement = try connection.statement(
            "SELECT key_prefix, url, id FROM change WHERE id > \(position) ORDER BY id")
        var names = ChangedNames()
        var count: Int64 = 0
        while try statement.step() {
            count += 1
            // A trigger deletes the oldest changes: if one is missing, anything may have changed.
            guard statement.int64(2) == position.rawValue + count else { return unknown }
            if !statement.isNull(0) {
                names.keys.insert(statement.int64(0))
            } else if !statement.isNull(1) {
                names.urls.insert(statement.int64(1))
            } else {
                return unknown
            }
        }
        let isComplete = position.rawValue + count >= newest.rawValue
        return CacheChanges(position: newest, names: isComplete ? names : nil)
    }

    /// Returns the positions of the changes after a position that concern all entries of a URL.
    ///
    /// - Parameter url: ``CacheCoding/urlHash(of:)``.
    static func invalidations(
        of url: Int64,
        after position: ChangePosition,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [ChangePosition] {
        try connection.rows(
            "SELECT id FROM change WHERE id > \(position) AND key_prefix IS NULL AND (url IS NULL OR url = \(url))"
        ) { ChangePosition(rawValue: $0.int64(0)) }
    }

    /// Returns a 64-bit hash of a text, the same in every process.
    static func hash(of text: String) -> Int64 {
        var hash = SHA256()
        var text = text
        text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return hash.finalize().withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
    }

    /// Records the entries that were removed or marked stale, whether or not the file had them.
    ///
    /// - Parameter names: the names of the entries; `nil` if any entry may have changed.
    static func addChanges(of names: ChangedNames?, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        guard let names else { return try addChange(of: nil, on: connection) }
        if !names.urls.isEmpty, try hasSeveralSecrets(on: connection) {
            return try addChange(of: nil, on: connection)
        }
        for key in names.keys { try addChange(of: key, on: connection) }
        for url in names.urls { try addChange(of: nil, url: url, on: connection) }
    }

    /// Records that an entry was removed, or, with `nil` for both, that anything may have changed.
    static func addChange(
        of prefix: Int64?,
        url: Int64? = nil,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run("INSERT INTO change (key_prefix, url) VALUES (\(prefix), \(url))")
    }

    /// Whether the store is used both in clear and sealed, or with seals that do not know each other. Each of them then
    /// computes another hash for a URL.
    private static func hasSeveralSecrets(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.integer("SELECT count(*) FROM fact WHERE name >= 'secret' AND name < 'secret!'") > 1
    }

    // MARK: Hours

    /// The most hours that are kept: 400 days.
    static let maximumHours: Int64 = 400 * 24
    private static let lastHour = WallTime(rawValue: times.upperBound).hour

    static func add(_ counts: CacheCounts, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        // Saturating: a sum that overflows to a floating-point number would fail every transaction of this hour.
        try connection.run(
            """
            UPDATE hour SET hits = min(hits, 1 << 53) + \(counts.hits),
                stale_hits = min(stale_hits, 1 << 53) + \(counts.staleHits),
                revalidations = min(revalidations, 1 << 53) + \(counts.revalidations),
                misses = min(misses, 1 << 53) + \(counts.misses), stores = min(stores, 1 << 53) + \(counts.stores),
                evictions = min(evictions, 1 << 53) + \(counts.evictions),
                bytes_served = min(bytes_served, 1 << 53) + \(counts.bytesServed),
                time_saved = min(time_saved, 1 << 53) + \(counts.millisecondsSaved)
            WHERE hour = \(counts.hour)
            """
        )
        guard connection.changes == 0 else { return }
        try insert(counts, on: connection)
        try deleteOldestHours(on: connection)
    }

    private static func insert(_ counts: CacheCounts, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO hour (hour, hits, stale_hits, revalidations, misses, stores, evictions, bytes_served, time_saved)
            VALUES (\(counts.hour), \(counts.hits), \(counts.staleHits), \(counts.revalidations), \(counts.misses),
                \(counts.stores), \(counts.evictions), \(counts.bytesServed), \(counts.millisecondsSaved))
            """
        )
    }

    /// Returns the counts from an hour on, the oldest first, without rows that Diamond never writes.
    static func hours(
        from hour: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [CacheCounts] {
        let statement = try connection.statement(
            """
            SELECT hour, hits, stale_hits, revalidations, misses, stores, evictions, bytes_served, time_saved
            FROM hour WHERE hour >= \(hour) ORDER BY hour
            """, columns: CacheCounts.Column.self
        )
        var hours: [CacheCounts] = []
        while try statement.step() {
            let hour = statement.int64(CacheCounts.Column.hour)
            let columns = CacheCounts.Column.counts.map { statement.int64($0) }
            guard hour <= lastHour, columns.allSatisfy(times.contains) else { continue }
            hours.append(CacheCounts(hour: hour, columns: columns))
        }
        return hours
    }

    // By their number, not by their age: a clock that is far ahead then deletes one row at most.
    private static func deleteOldestHours(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run(
            "DELETE FROM hour WHERE hour <= (SELECT hour FROM hour ORDER BY hour DESC LIMIT 1 OFFSET \(maximumHours))")
    }
}
