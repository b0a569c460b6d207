import Crypto
import DiamondSQLite
import Foundation

/// The SQL of the cache's tables; in this file, the lookup.
package enum CacheTable {
    /// The bytes of a full row of `body`. Larger rows than 128 KiB are no faster, and take memory.
    static let chunkSize = 128 << 10
    /// An entry's rows of `body` have the ids from `entry << 20` on: 2^20 chunks, 128 GiB.
    static let chunkBits: Int64 = 20

    /// The range of valid times in milliseconds: they can be added without overflow.
    static let times: ClosedRange<Int64> = 0...(1 << 53)

    /// The largest body: 2^20 chunks.
    static let largestBody = chunkSize << 20
    /// The most memory that is reserved for a body before its chunks are read.
    private static let largestReserve = 16 << 20

    /// The result of one lookup.
    enum LookupResult {
        /// There is no entry for the request.
        case nothing
        /// An entry, and whether it was used since eviction last passed it. An entry in clear without ``BodyChecksums``
        /// counts as unused: its use gives it some.
        case entry(StoredResponse, isVisited: Bool)
        /// A row that cannot be trusted.
        case damaged(reason: String)
        /// A sound row that this process cannot read.
        case locked(UnreadableReason)
    }

    /// The columns of a lookup. `bytes` and the columns with `chunk` are those of a row of the body.
    enum Column: Int, SQLiteColumns {
        case key, request, status, headers, storedAt, initialAge, lifetime, flags, duration, bodySize, bodyDigest
        case checksum, isVisited, chunkChecksum, bytes, seal
        // A lookup ends here.
        case id, chunk, url, keyPrefix, isPartial, method, identity
    }

    static func find(
        _ key: RequestKey,
        request: [UInt8],
        sealing: Sealing? = nil,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> LookupResult {
        let statement = try connection.statement(
            """
            SELECT key, request, status, headers, stored_at, initial_age, lifetime, flags, duration, body_size,
                iif(body.id & 1048575, NULL, body_digest) AS body_digest, entry.checksum, is_visited,
                body.checksum AS chunk_checksum, bytes, seal
            FROM entry LEFT JOIN body ON body.id BETWEEN entry.id << 20 AND (entry.id << 20) + 1048575
            WHERE key_prefix = \(key.prefix) AND variant = 0 AND is_partial = 0 ORDER BY body.id
            """, columns: Column.self
        )
        guard try statement.step() else { return .nothing }
        if let sealing { return try verified(statement, key: key, request: request, sealing: sealing).unpacked }
        guard isSame(statement, key: key, request: request) else { return unreadable(statement, key: key) }
        return try verified(statement, key: key, request: request).unpacked
    }

    /// Returns the entry in its rows, still compressed and sealed, if it is sound. The caller has read the first row.
    ///
    /// - Parameters:
    ///   - isPartial: whether the row's column says that the entry is partial. The flag that the checksum covers has to
    ///     agree.
    ///   - readsBody: `false` to verify only; then one chunk at a time is in memory.
    static func verified(
        _ statement: borrowing SQLiteStatement,
        key: RequestKey,
        request: [UInt8],
        isPartial: Bool = false,
        readsBody: Bool = true
    ) throws(SQLiteError) -> LookupResult {
        let size = Int(statement.int64(Column.bodySize))
        guard let stored = StoredResponse(row: statement), (0...largestBody).contains(size),
            stored.flags.contains(.partial) == isPartial
        else {
            return .damaged(reason: "its row has invalid values")
        }
        guard isSound(stored, row: statement, key: key, request: request) else {
            return .damaged(reason: "its row's checksum is wrong")
        }
        let isVisited = statement.int64(Column.isVisited) != 0 && !isRenewable(statement)
        return try entry(stored, size: size, isVisited: isVisited, of: statement, readsBody: readsBody)
    }

    // Compares the whole key and canonical form, so that a collision of prefixes cannot return another request's
    // response.
    static func isSame(_ row: borrowing SQLiteStatement, key: RequestKey, request: [UInt8]) -> Bool {
        row.withBytes(Column.key) { bytes in key.withUnsafeBytes { isEqual($0, bytes) } }
            && row.withBytes(Column.request) { bytes in request.withUnsafeBytes { isEqual($0, bytes) } }
    }

    private static func isEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        guard let left = left.baseAddress, let start = right.baseAddress else { return true }
        return memcmp(left, start, right.count) == 0
    }

    static func isSound(
        _ stored: StoredResponse,
        row: borrowing SQLiteStatement,
        key: RequestKey,
        request: [UInt8]
    ) -> Bool {
        let checksum = row.withBytes(Column.bodyDigest) { digest in
            Checksum.row(
                key: key, request: request, stored: stored, bodySize: row.int64(Column.bodySize), digest: digest)
        }
        return checksum == row.int64(Column.checksum)
    }

    private static func entry(
        _ stored: StoredResponse,
        size: Int,
        isVisited: Bool,
        of rows: borrowing SQLiteStatement,
        readsBody: Bool
    ) throws(SQLiteError) -> LookupResult {
        // A variable of its own: `stored.body` is computed, and would be copied with each chunk.
        var bytes = Data()
        let body = try BodyVerification(rows, size: size) { chunk in
            if readsBody { append(chunk, to: &bytes, size: size) }
        }
        guard body.size == size else { return .damaged(reason: "its body is incomplete") }
        guard body.isSound else { return .damaged(reason: "its body's checksum is wrong") }
        var stored = stored
        stored.body = bytes
        return .entry(stored, isVisited: isVisited)
    }

    private static func append(_ chunk: UnsafeRawBufferPointer, to body: inout Data, size: Int) {
        if body.isEmpty {
            guard chunk.count < size else { return body = Data(chunk) }
            // The size in the row is not verified yet: limit the reserved memory.
            body.reserveCapacity(min(size, largestReserve))
        }
        body.append(contentsOf: chunk)
    }

    /// Whether an entry in clear has no ``BodyChecksums``.
    private static func isRenewable(_ row: borrowing SQLiteStatement) -> Bool {
        row.isNull(Column.seal) && row.withBytes(Column.bodyDigest) { $0.count } == Checksum.Digest.byteCount
    }
}

extension StoredResponse {
    private typealias Column = CacheTable.Column

    /// Creates a response without its body from the columns of a lookup; `nil` for values that Diamond never writes.
    init?(row: borrowing SQLiteStatement) {
        let isSensible = [Column.storedAt, .initialAge, .lifetime, .duration].allSatisfy {
            CacheTable.times.contains(row.int64($0))
        }
        guard (100...999).contains(row.int64(Column.status)), isSensible else { return nil }
        self.init(
            status: Int(row.int64(Column.status)),
            headerBlock: row.data(Column.headers),
            body: Data(),
            storedAt: row.time(Column.storedAt),
            initialAge: row.int64(Column.initialAge),
            lifetime: row.optional(Column.lifetime),
            flags: .init(rawValue: row.int64(Column.flags)),
            duration: row.int64(Column.duration)
        )
    }
}
