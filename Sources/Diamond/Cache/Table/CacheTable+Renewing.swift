package import DiamondSQLite
import Foundation

/// The entries of programs before version 4 of the schema, whose bodies have SHA-256: they get ``BodyChecksums``.
extension CacheTable {
    /// The number of bytes of bodies after which a flush reads no further entry for new checksums.
    static let renewalLimit: Int64 = 16 << 20

    /// The new checksums of an entry.
    package struct Renewal: Sendable {
        fileprivate let id: Int64
        let bodySize: Int64
        fileprivate let checksums: BodyChecksums
        /// The checksum of its row.
        fileprivate let checksum: Int64
        /// The checksum that its row had when it was read.
        fileprivate let before: Int64
    }

    /// Returns the key prefixes of all entries in clear that have SHA-256.
    package static func renewable(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Int64] {
        try connection.integers(
            "SELECT key_prefix FROM entry WHERE is_partial = 0 AND seal IS NULL AND length(body_digest) = 32")
    }

    /// Reads an entry in clear that has SHA-256, a chunk at a time; `nil` if there is none, or it is damaged.
    package static func renewal(
        of prefix: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Renewal? {
        let rows = try connection.statement(
            """
            SELECT key, request, status, headers, stored_at, initial_age, lifetime, flags, duration, body_size,
                body_digest, entry.checksum, is_visited, body.checksum AS chunk_checksum, bytes, seal, entry.id
            FROM entry LEFT JOIN body ON body.id BETWEEN entry.id << 20 AND (entry.id << 20) + 1048575
            WHERE key_prefix = \(prefix) AND variant = 0 AND is_partial = 0 AND seal IS NULL AND length(body_digest) = 32
            ORDER BY body.id
            """, columns: Column.self
        )
        guard try rows.step(), let key = RequestKey(stored: rows.data(Column.key)),
            let stored = StoredResponse(row: rows)
        else {
            return nil
        }
        let request = rows.withBytes(Column.request) { Array($0) }
        guard isSound(stored, row: rows, key: key, request: request) else { return nil }
        let (id, size, before) = (rows.int64(Column.id), rows.int64(Column.bodySize), rows.int64(Column.checksum))
        let body = try BodyVerification(rows, size: Int(size)) { _ in }
        guard body.size == Int(size), body.isSound else { return nil }
        let checksum = Checksum.row(
            key: key, request: request, stored: stored, bodySize: size, digest: body.checksums.column)
        return Renewal(
            id: id, bodySize: size, checksums: body.checksums, checksum: checksum, before: before)
    }

    /// Writes new checksums, unless the row was changed since it was read. The body stays as it is.
    package static func write(_ renewal: Renewal, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE entry SET body_digest = \(renewal.checksums.column), checksum = \(renewal.checksum)
            WHERE id = \(renewal.id) AND checksum = \(renewal.before)
            """
        )
    }
}
