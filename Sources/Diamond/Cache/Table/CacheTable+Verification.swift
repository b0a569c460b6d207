package import DiamondSQLite
package import Foundation

/// The reads of a verification, a page at a time, and the repairs.
extension CacheTable {
    /// An entry, verified with its body.
    package struct InspectedEntry {
        /// The key; `nil` if the row has no valid one.
        package var key: RequestKey?
        package var url: String
        package var bodySize: Int64
        /// The checksum that its row holds.
        package var checksum: Int64
        /// The damage of the entry.
        package var damage: String?
        /// Whether it is sealed, and was not opened.
        package var isLocked = false
        /// The number of rows after the end of its body, which no lookup reads.
        package var surplus = 0
    }

    /// The rows of one page.
    private static let pageSize: Int64 = 1024

    /// Returns the errors that SQLite's integrity check finds, at most 100 lines.
    package static func integrityErrors(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [String] {
        let lines = try connection.rows("PRAGMA integrity_check(100)") { $0.text(0) }
        return lines == ["ok"] ? [] : lines
    }

    // MARK: Entries

    /// Returns a page of the ids of entries after one.
    package static func ids(after id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Int64] {
        try connection.integers("SELECT id FROM entry WHERE id > \(id) ORDER BY id LIMIT \(pageSize)")
    }

    /// Verifies an entry as a lookup does, a chunk of its body at a time; `nil` if it was removed in the meantime.
    ///
    /// - Parameter sealing: the sealing that opens sealed entries; `nil` without a key, to verify only the checksums.
    package static func inspect(
        _ id: Int64,
        sealing: Sealing? = nil,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> InspectedEntry? {
        let statement = try connection.statement(
            """
            SELECT key, request, status, headers, stored_at, initial_age, lifetime, flags, duration, body_size,
                iif(body.id & 1048575, NULL, body_digest) AS body_digest, entry.checksum, is_visited,
                body.checksum AS chunk_checksum, bytes, seal, entry.id, body.id AS chunk, url, key_prefix, is_partial
            FROM entry LEFT JOIN body ON body.id BETWEEN entry.id << 20 AND (entry.id << 20) + 1048575
            WHERE entry.id = \(id) ORDER BY body.id
            """, columns: Column.self
        )
        guard try statement.step() else { return nil }
        var entry = InspectedEntry(
            key: RequestKey(stored: statement.data(Column.key)), url: statement.text(Column.url),
            bodySize: statement.int64(Column.bodySize),
            checksum: statement.int64(Column.checksum))
        let isSealed = !statement.isNull(Column.seal)
        if isSealed { entry.url = url(of: statement, key: entry.key, sealing: sealing) ?? "•••" }
        guard let key = entry.key else {
            entry.damage = "its key is invalid"
            return entry
        }
        guard key.prefix == statement.int64(Column.keyPrefix) else {
            entry.damage = "no lookup finds it: its index has another key"
            return entry
        }
        let result = try verified(inspecting: statement, key: key, sealing: isSealed ? sealing : nil)
        if case .damaged(let reason) = result { entry.damage = reason }
        if case .locked = result { entry.isLocked = true }
        if case .entry = result, isSealed, sealing == nil { entry.isLocked = true }
        entry.surplus = try surplus(of: id, on: connection)
        return entry
    }

    private static func verified(
        inspecting rows: borrowing SQLiteStatement,
        key: RequestKey,
        sealing: Sealing?
    ) throws(SQLiteError) -> LookupResult {
        let request = rows.withBytes(Column.request) { Array($0) }
        let isPartial = rows.int64(Column.isPartial) != 0
        guard let sealing else {
            return try verified(rows, key: key, request: request, isPartial: isPartial, readsBody: false)
        }
        return try verified(rows, key: key, request: nil, sealing: sealing, isPartial: isPartial)
    }

    /// Returns the URL of a sealed row; `nil` if it cannot be opened.
    private static func url(
        of row: borrowing SQLiteStatement,
        key: RequestKey?,
        sealing: Sealing?
    ) -> String? {
        guard let key, let sealing else { return nil }
        return try? sealing.open(request: row.data(Column.request), keyID: row.text(Column.seal), key: key).url
    }

    /// Removes a damaged entry, unless a program has replaced it since it was verified.
    ///
    /// - Parameter checksum: the checksum that its row held.
    package static func deleteDamaged(
        _ id: Int64,
        checksum: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        guard try erase(where: "id = \(id) AND checksum = \(checksum)", on: connection) else { return false }
        // Its key may be damaged, too.
        try addChange(of: nil, on: connection)
        return true
    }

    // MARK: Orphans

    /// The rows whose entry is missing.
    package struct Orphans {
        /// The numbers of rows by the id of the missing entry.
        package var counts: [Int64: Int] = [:]
        /// The position where the next page begins; `nil` after the last.
        package var last: Int64?
    }

    /// Returns the orphans in a page of the rows of bodies.
    package static func orphanedBodies(
        after id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Orphans {
        let statement = try connection.statement(
            """
            SELECT body.id, entry.id FROM body LEFT JOIN entry ON entry.id = body.id >> 20
            WHERE body.id > \(id) ORDER BY body.id LIMIT \(pageSize)
            """
        )
        var orphans = Orphans()
        while try statement.step() {
            let id = statement.int64(0)
            orphans.last = id
            if statement.isNull(1) { orphans.counts[id >> chunkBits, default: 0] += 1 }
        }
        return orphans
    }

    /// Returns all orphaned tags, without pages: they are few, and in one index.
    package static func orphanedTags(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Orphans {
        let statement = try connection.statement(
            "SELECT entry, count(*) FROM tag WHERE entry NOT IN (SELECT id FROM entry) GROUP BY entry")
        var orphans = Orphans()
        while try statement.step() { orphans.counts[statement.int64(0)] = Int(statement.int64(1)) }
        return orphans
    }

    /// Removes the rows of a missing entry, unless the entry exists again.
    package static func deleteOrphans(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError)
        -> Bool
    {
        guard try inspect(id, on: connection) == nil else { return false }
        try deleteBody(of: id, on: connection)
        let count = connection.changes
        try deleteTags(of: id, on: connection)
        return count + connection.changes > 0
    }

    // MARK: Rows after the end of a body. No lookup reads them, but they take space.

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

    // MARK: Facts

    /// Whether the hand of eviction is a valid number. A number after the last entry is valid: eviction then starts
    /// again.
    package static func hasSoundHand(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        let statement = try connection.statement("SELECT value FROM fact WHERE name = 'hand'")
        guard try statement.step() else { return true }
        return Int64(statement.text(0)).map { $0 >= 0 } ?? false
    }

    /// Whether the store has a valid secret, or a sealed one.
    package static func hasSoundSecret(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        guard let secret = try secret(on: connection) else { return try !sealedSecrets(on: connection).isEmpty }
        return secret.count == 32
    }

    /// Replaces a missing or invalid secret.
    ///
    /// - Returns: `false` if another program has saved a valid one meanwhile.
    package static func replaceSecret(by secret: Data, on connection: borrowing SQLiteConnection) throws(SQLiteError)
        -> Bool
    {
        guard try !hasSoundSecret(on: connection) else { return false }
        try connection.run("DELETE FROM fact WHERE name = 'secret'")
        try saveSecret(secret, on: connection)
        return true
    }
}
