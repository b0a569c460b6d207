import DiamondSQLite
import Foundation

/// Writing entries.
extension CacheTable {
    /// Stores an entry in clear, uncompressed.
    ///
    /// - Returns: the row's id; `nil` if a newer response was stored since the request was sent.
    @discardableResult
    static func store(_ entry: CacheEntry, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int64? {
        try store(entry, BodyRows(entry.stored.body), on: connection)
    }

    /// Whether the whole entry of a key was stored after the request of another response was sent, and is newer.
    static func hasNewer(
        than entry: CacheEntry, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        let statement = try connection.statement(
            """
            SELECT 1 FROM entry
            WHERE key_prefix = ?1 AND variant = 0 AND is_partial = 0 AND key = ?2 AND stored_at > ?3
                AND (stored_at - initial_age, stored_at - duration) > (?4, ?3)
            """
        )
        try statement.bind(entry.key.prefix, at: 1)
        try statement.bind(entry.key, at: 2)
        try statement.bind(entry.stored.sentAt, at: 3)
        try statement.bind(entry.stored.originTime, at: 4)
        return try statement.step()
    }

    /// - Returns: the row's id; `nil` if a newer response was stored since the request was sent.
    static func store(
        _ row: CacheRow,
        isPartial: Bool = false,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int64? {
        try store(row.entry, row.body, seal: row.seal, isPartial: isPartial, on: connection)
    }

    // Separate parameters, because a CacheRow would copy the entry.
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
        func run(_ sql: StaticString, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
            let statement = try connection.statement(sql)
            try bind(entry, body, seal: seal, to: statement)
            try statement.bind(checksum, at: 16)
            try statement.bind(Int64(isPartial ? 1 : 0), at: 18)
            try statement.run()
        }
        try run(insertion, on: connection)
        if connection.changes > 0 { return (connection.lastInsertedID, true) }
        if !isPartial, try hasNewer(than: entry, on: connection) { return nil }
        try run(replacement, on: connection)
        if connection.changes == 0 {
            try rename(entry, isPartial: isPartial, on: connection)
            try run(replacement, on: connection)
        }
        return (try id(of: entry.key, isPartial: isPartial, on: connection), false)
    }

    private static let insertion: StaticString = """
        INSERT INTO entry (key_prefix, key, request, url, method, identity, status, headers, stored_at, initial_age,
            lifetime, flags, duration, body_size, body_digest, checksum, seal, is_partial)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (key_prefix, variant, is_partial) DO NOTHING
        """

    /// The update with the same bindings. The replaced response was requested, which counts as a use. The columns that
    /// name the entry are not set, because SQLite updates every index over a set column, even if the value is
    /// unchanged.
    private static let replacement: StaticString = """
        UPDATE entry SET request = ?3, method = ?5, status = ?7, headers = ?8, stored_at = ?9, initial_age = ?10,
            lifetime = ?11, flags = ?12 | (flags & 16), duration = ?13, body_size = ?14, body_digest = ?15,
            checksum = ?16, seal = ?17, is_visited = 1
        WHERE key_prefix = ?1 AND variant = 0 AND is_partial = ?18 AND key = ?2 AND url = ?4 AND identity IS ?6
        """

    /// Binds all values of an entry.
    private static func bind(
        _ entry: CacheEntry,
        _ body: BodyRows,
        seal: String?,
        to statement: borrowing SQLiteStatement
    ) throws(SQLiteError) {
        try statement.bind(entry.key.prefix, at: 1)
        try statement.bind(entry.key, at: 2)
        // A sealed request is no text.
        if seal == nil {
            try statement.bind(utf8: entry.request, at: 3)
        } else {
            try statement.bind(Data(entry.request), at: 3)
        }
        try statement.bind(entry.url, at: 4)
        try statement.bind(entry.method, at: 5)
        try statement.bind(entry.identity, at: 6)
        try bind(entry.stored, to: statement, from: 7)
        try statement.bind(body.size, at: 14)
        try statement.bind(body.checksums.column, at: 15)
        try statement.bind(seal, at: 17)
    }

    /// Binds status, headers, times, flags and duration to seven parameters, in the order of the columns. These are all
    /// parts of a response that the row's checksum covers, except the body.
    static func bind(
        _ stored: StoredResponse,
        to statement: borrowing SQLiteStatement,
        from first: Int32
    ) throws(SQLiteError) {
        try statement.bind(Int64(stored.status), at: first)
        try statement.bind(stored.headerBlock, at: first + 1)
        try statement.bind(stored.storedAt, at: first + 2)
        try statement.bind(stored.initialAge, at: first + 3)
        try statement.bind(stored.lifetime, at: first + 4)
        try statement.bind(stored.flags.rawValue, at: first + 5)
        try statement.bind(stored.duration, at: first + 6)
    }

    static func deleteBody(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement("DELETE FROM body WHERE id BETWEEN ? AND ?")
        try statement.bind(id << chunkBits, at: 1)
        try statement.bind(id << chunkBits | (1 << chunkBits - 1), at: 2)
        try statement.run()
    }

    private static func insertBody(
        _ body: BodyRows,
        of id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let statement = try connection.statement("INSERT INTO body (id, bytes) VALUES (?, ?)")
        try body.forEach { (number, bytes) throws(SQLiteError) in
            try statement.bind(id << chunkBits + Int64(number), at: 1)
            try statement.run(lending: bytes, at: 2)
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
        let statement = try connection.statement(
            """
            UPDATE entry SET status = ?, headers = ?, stored_at = ?, initial_age = ?, lifetime = ?,
                flags = ? | (flags & 16), duration = ?, checksum = ? WHERE id = ?
            """
        )
        try bind(stored, to: statement, from: 1)
        try statement.bind(checksum, at: 8)
        try statement.bind(id, at: 9)
        try statement.run()
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
            WHERE key_prefix = ? AND variant = 0 AND is_partial = 0 AND key = ? AND stored_at = ?
                AND (body_size = ? OR flags & 32) AND headers = ? AND flags & 8 <= ? AND seal IS NULL
            """
        )
        try statement.bind(entry.key.prefix, at: 1)
        try statement.bind(entry.key.bytes, at: 2)
        try statement.bind(old.storedAt, at: 3)
        try statement.bind(Int64(old.bodySize), at: 4)
        try statement.bind(old.headerBlock, at: 5)
        try statement.bind(old.flags.intersection(.invalidated).rawValue, at: 6)
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
        let statement = try connection.statement("INSERT OR IGNORE INTO tag (entry, name) VALUES (?, ?)")
        try statement.bind(id, at: 1)
        try statement.bind(tag, at: 2)
        try statement.run()
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
        let statement = try connection.statement("SELECT name FROM tag WHERE entry = ?")
        try statement.bind(id, at: 1)
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
        let statement = try connection.statement("DELETE FROM tag WHERE entry = ?")
        try statement.bind(id, at: 1)
        try statement.run()
    }
}
