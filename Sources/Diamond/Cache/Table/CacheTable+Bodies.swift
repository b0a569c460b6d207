package import DiamondSQLite
import Foundation

/// The statements that write and read bodies in pieces.
extension CacheTable {
    /// Updates the row of a partial entry, unless another writer has changed or removed it.
    ///
    /// - Parameters:
    ///   - isVisited: whether eviction removes other entries first.
    ///   - checksum: the checksum that the row has if no other writer has changed it.
    /// - Returns: whether the row was updated.
    static func update(
        _ row: PartialRow,
        to stored: StoredResponse,
        isPartial: Bool = true,
        isVisited: Bool,
        checksum: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        try connection.run(
            """
            UPDATE entry SET \(sql: assignments(of: stored)), flags = \(stored.flags.rawValue),
                body_size = \(row.bodySize), body_digest = \(row.checksums.column), checksum = \(row.checksum),
                is_partial = \(isPartial), is_visited = \(isVisited)
            WHERE id = \(row.id) AND key = \(row.entry.key) AND checksum = \(checksum) AND is_partial = 1
            """
        )
        return connection.changes > 0
    }

    /// Writes a chunk: a new one, or the last one with more bytes.
    static func putChunk(
        _ bytes: Data,
        number: Int,
        of id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO body (id, bytes) VALUES (\(id << chunkBits + Int64(number)), \(lending: bytes))
            ON CONFLICT (id) DO UPDATE SET checksum = NULL, bytes = excluded.bytes
            """
        )
    }

    /// Removes the whole entry of a key, which another one replaces.
    ///
    /// - Returns: its flags; `nil` if there was none.
    static func deleteWhole(
        _ key: RequestKey,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> StoredResponse.Flags? {
        let statement = try connection.statement(
            "DELETE FROM entry WHERE key_prefix = \(key.prefix) AND variant = 0 AND is_partial = 0 RETURNING flags")
        guard try statement.step() else { return nil }
        let flags = StoredResponse.Flags(rawValue: statement.int64(0))
        // The statement ends only after the step that follows the RETURNING row.
        _ = try statement.step()
        return flags
    }

    /// Removes a partial entry, unless another writer has changed it.
    static func deletePart(
        _ id: Int64, of key: RequestKey, checksum: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try erase(
            where: "id = \(id) AND key = \(key) AND checksum = \(checksum) AND is_partial = 1", on: connection)
    }

    /// Removes the partial entry of a key, even if another process writes it: that writer notices with its next write.
    static func deletePart(of key: RequestKey, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try erase(
            where: "key_prefix = \(key.prefix) AND variant = 0 AND is_partial = 1 AND key = \(key)", on: connection)
    }

    // MARK: Reading

    /// A chunk as it was read.
    struct StoredChunk {
        /// `nil` if its row is missing.
        let bytes: Data?
        /// Whether the entry has the body that was looked up.
        let isOfSameBody: Bool
    }

    /// Returns a chunk of an entry; `nil` if the entry is gone.
    static func chunk(
        _ number: Int,
        of outline: BodyOutline,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> StoredChunk? {
        try withChunk(number, of: outline, on: connection) { bytes, isOfSameBody in
            StoredChunk(bytes: bytes.map { Data($0) }, isOfSameBody: isOfSameBody)
        }
    }

    /// Passes on a chunk of an entry, read in one snapshot with the entry: its id may have passed to another one. The
    /// bytes are valid in `body`.
    ///
    /// - Parameter body: receives the bytes, `nil` if their row is missing, and whether the entry has the body that was
    ///   looked up.
    /// - Returns: `nil` if the entry is gone.
    static func withChunk<Result>(
        _ number: Int,
        of outline: BodyOutline,
        on connection: borrowing SQLiteConnection,
        _ body: (_ bytes: UnsafeRawBufferPointer?, _ isOfSameBody: Bool) -> Result
    ) throws(SQLiteError) -> Result? {
        try connection.first(
            """
            SELECT bytes, body_digest = \(outline.digest) FROM entry
                LEFT JOIN body ON body.id = \(outline.id << chunkBits + Int64(number))
            WHERE entry.id = \(outline.id) AND key = \(outline.key)
            """
        ) { row in
            let isOfSameBody = row.int64(1) != 0
            guard !row.isNull(0) else { return body(nil, isOfSameBody) }
            return row.withBytes(0) { body($0, isOfSameBody) }
        }
    }

    /// Returns the row of an entry and the rows of its body, all in one snapshot. No chunk is read: SQLite finds
    /// their lengths in the headers of their rows.
    static func outline(
        of key: RequestKey,
        isPartial: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> OutlineRow? {
        let rows = try connection.statement(
            """
            SELECT key, request, status, headers, stored_at, initial_age, lifetime, flags, duration, body_size,
                iif(body.id & 1048575, NULL, body_digest) AS body_digest, entry.checksum, is_visited,
                body.checksum AS chunk_checksum, length(bytes) AS bytes, seal, entry.id, body.id AS chunk
            FROM entry LEFT JOIN body ON body.id BETWEEN entry.id << 20 AND (entry.id << 20) + 1048575
            WHERE key_prefix = \(key.prefix) AND variant = 0 AND is_partial = \(isPartial) ORDER BY body.id
            """, columns: Column.self
        )
        guard try rows.step(), rows.withBytes(Column.key, { $0.elementsEqual(key.bytes) }) else { return nil }
        var row = OutlineRow(row: rows, isPartial: isPartial)
        while row.readChunk(from: rows), try rows.step() {}
        return row
    }

    // MARK: Leftovers of transfers

    // With INDEXED BY: without a column of this index in the query, SQLite 3.40 scans another index with every entry.
    static func arePartials(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.integer(
            "SELECT EXISTS (SELECT 1 FROM entry INDEXED BY entry_by_leaving WHERE is_partial = 1)") == 1
    }

    package static func partialCount(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int {
        try connection.count("SELECT count(*) FROM entry INDEXED BY entry_by_leaving WHERE is_partial = 1")
    }

    /// The milliseconds without a write after which a partial entry without a validator is a leftover: no live writer
    /// pauses for so long.
    static let idleLimit: Int64 = 3_600_000
    /// The milliseconds after which a partial entry with a validator will not be continued: a week, as for
    /// downloads.
    static let resumableLifetime = PartFile.lifetime

    /// Returns the partial entries that were not written for an hour, or for a week if they have a validator, the
    /// oldest first.
    ///
    /// - Parameter limit: negative for all.
    package static func leftovers(
        at now: WallTime,
        limit: Int64 = -1,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        try connection.integers(
            "SELECT id FROM entry WHERE \(sql: isLeftover(at: now)) ORDER BY stored_at LIMIT \(limit)")
    }

    private static func isLeftover(at now: WallTime) -> SQL {
        """
        is_partial = 1 AND stored_at < \(now - idleLimit)
            AND (flags & 2 = 0 OR stored_at < \(now - resumableLifetime))
        """
    }

    package static func deleteLeftover(
        _ id: Int64,
        at now: WallTime,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        try erase(where: "id = \(id) AND \(sql: isLeftover(at: now))", on: connection)
    }
}
