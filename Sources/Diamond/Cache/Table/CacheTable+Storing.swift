import DiamondSQLite
import Foundation

/// Writing entries.
extension CacheTable {
    /// Whether the whole entry of a key was stored after the request of another response was sent, and is newer.
    static func hasNewer(
        than entry: CacheEntry, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        try connection.hasRow(
            """
            SELECT 1 FROM entry
            WHERE key_prefix = \(entry.key.prefix) AND variant = 0 AND is_partial = 0 AND key = \(entry.key)
                AND stored_at > \(entry.stored.sentAt)
                AND (stored_at - initial_age, stored_at - duration)
                    > (\(entry.stored.originTime), \(entry.stored.sentAt))
            """
        )
    }

    /// - Returns: the row's id; `nil` if a newer response was stored since the request was sent.
    static func store(
        _ row: CacheRecord,
        isPartial: Bool = false,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int64? {
        try store(row.entry, row.body, seal: row.seal, isPartial: isPartial, on: connection)
    }

    // Separate parameters, because a record would copy the entry.
    private static func store(
        _ entry: CacheEntry,
        _ body: BodyRows,
        seal: String? = nil,
        isPartial: Bool = false,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int64? {
        guard let (id, isNew) = try upsert(entry, body, seal: seal, isPartial: isPartial, on: connection) else {
            return nil
        }
        if !isNew {
            try deleteBody(of: id, on: connection)
            try deleteTags(of: id, on: connection)
        }
        try insertBody(body, of: id, on: connection)
        try addTags(entry.names, to: id, on: connection)
        return id
    }

    static func chunks(of body: Data) -> [Data] {
        stride(from: body.startIndex, to: body.endIndex, by: chunkSize).map { start in
            body[start..<min(start + chunkSize, body.endIndex)]
        }
    }

    /// - Returns: the row's id, and whether the row is new; `nil` if the row has a newer response.
    private static func upsert(
        _ entry: CacheEntry,
        _ body: BodyRows,
        seal: String?,
        isPartial: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> (id: Int64, isNew: Bool)? {
        // Two statements, although an upsert could do both: an update fires a trigger, for which SQLite would copy
        // every page that the statement touches into a statement journal. That takes a fifth of the time.
        let checksum = entry.checksum(bodySize: body.size, digest: body.checksums.column)
        let stored = entry.stored
        // A sealed request is no text.
        let isText = seal == nil
        try connection.run(
            """
            INSERT INTO entry (key_prefix, key, request, url, method,
                identity, status, headers, stored_at, initial_age,
                lifetime, flags, duration, body_size, body_digest,
                checksum, seal, is_partial)
            VALUES (\(entry.key.prefix), \(entry.key), \(entry.request, isText: isText), \(entry.url), \(entry.method),
                \(entry.identity), \(stored.status), \(stored.headerBlock), \(stored.storedAt), \(stored.initialAge),
                \(stored.lifetime), \(stored.flags.rawValue), \(stored.duration), \(body.size), \(body.checksums.column),
                \(checksum), \(seal), \(isPartial))
            ON CONFLICT (key_prefix, variant, is_partial) DO NOTHING
            """
        )
        if connection.changes > 0 { return (connection.lastInsertedID, true) }
        if !isPartial, try hasNewer(than: entry, on: connection) { return nil }
        // The replaced response was requested, which counts as a use. The columns that name the entry are not set,
        // because SQLite updates every index over a set column, even if the value is unchanged.
        let replacement: SQL = """
            UPDATE entry SET request = \(entry.request, isText: isText), method = \(entry.method),
                \(sql: assignments(of: stored)), flags = \(stored.flags.rawValue) | (flags & 16),
                body_size = \(body.size), body_digest = \(body.checksums.column), checksum = \(checksum), seal = \(seal),
                is_visited = 1
            WHERE key_prefix = \(entry.key.prefix) AND variant = 0 AND is_partial = \(isPartial) AND key = \(entry.key)
                AND url = \(entry.url) AND identity IS \(entry.identity)
            """
        try connection.run(replacement)
        if connection.changes == 0 {
            try rename(entry, isPartial: isPartial, on: connection)
            try connection.run(replacement)
        }
        return (try id(of: entry.key, isPartial: isPartial, on: connection), false)
    }

    /// Returns assignments for status, headers, times and duration. The row's checksum covers these, the flags and the
    /// body.
    static func assignments(of stored: StoredResponse) -> SQL {
        """
        status = \(stored.status), headers = \(stored.headerBlock), stored_at = \(stored.storedAt),
            initial_age = \(stored.initialAge), lifetime = \(stored.lifetime), duration = \(stored.duration)
        """
    }

    static func deleteBody(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run(
            "DELETE FROM body WHERE id BETWEEN \(id << chunkBits) AND \(id << chunkBits | (1 << chunkBits - 1))")
    }

    private static func insertBody(
        _ body: BodyRows,
        of id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try body.forEach { (number, bytes) throws(SQLiteError) in
            try connection.run(
                """
                INSERT INTO body (id, bytes) VALUES (\(id << chunkBits + Int64(number)), \(lending: bytes))
                """
            )
        }
    }

    /// Writes the changes of a 304; the body stays where it is. It changes only the row that was confirmed: another
    /// process may have stored a newer one in the meantime, or marked it stale.
    ///
    /// - Returns: whether there is such a row.
    static func confirm(
        _ entry: CacheEntry,
        replacing old: StoredResponse,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        guard let row = try confirmed(entry, replacing: old, on: connection) else { return false }
        var entry = entry
        entry.stored.flags.formUnion(row.flags.intersection(.compressed))
        let checksum = entry.checksum(bodySize: row.size, digest: row.digest)
        try update(row.id, to: entry.stored, checksum: checksum, on: connection)
        try addTags(entry.names, to: row.id, on: connection)
        return true
    }

    static func update(
        _ id: Int64,
        to stored: StoredResponse,
        checksum: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE entry SET \(sql: assignments(of: stored)), flags = \(stored.flags.rawValue) | (flags & 16),
                checksum = \(checksum)
            WHERE id = \(id)
            """
        )
    }

    /// A row whose response is confirmed.
    private struct ConfirmedRow {
        let id: Int64
        let digest: Data
        let size: Int64
        let flags: StoredResponse.Flags
    }

    private static func confirmed(
        _ entry: CacheEntry,
        replacing old: StoredResponse,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> ConfirmedRow? {
        let statement = try connection.statement(
            """
            SELECT id, body_digest, body_size, flags FROM entry
            WHERE key_prefix = \(entry.key.prefix) AND variant = 0 AND is_partial = 0 AND key = \(entry.key)
                AND stored_at = \(old.storedAt) AND (body_size = \(old.bodySize) OR flags & 32)
                AND headers = \(old.headerBlock) AND flags & 8 <= \(old.flags.intersection(.invalidated).rawValue) AND seal IS NULL
            """
        )
        guard try statement.step() else { return nil }
        return ConfirmedRow(
            id: statement.int64(0), digest: statement.data(1), size: statement.int64(2),
            flags: .init(rawValue: statement.int64(3)))
    }

    // MARK: Tags

    private static func insertTag(
        _ tag: String,
        of id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run("INSERT OR IGNORE INTO tag (entry, name) VALUES (\(id), \(tag))")
    }

    static func replaceTags(
        of id: Int64,
        by tags: Tags,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try deleteTags(of: id, on: connection)
        try addTags(tags, to: id, on: connection)
    }

    /// Returns the names of an entry: those of the request that stored it, and of requests that revalidated it.
    static func tags(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Tags {
        let statement = try connection.statement("SELECT name FROM tag WHERE entry = \(id)")
        var names: Tags = []
        while try statement.step() { names.insert(statement.text(0)) }
        return names
    }

    static func addTags(
        _ tags: Tags,
        to id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        for tag in tags { try insertTag(tag, of: id, on: connection) }
    }

    static func deleteTags(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run("DELETE FROM tag WHERE entry = \(id)")
    }
}
