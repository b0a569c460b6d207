import DiamondSQLite
import Foundation

/// All the SQL of the cache's tables: here what a look-up finds and what a store writes.
enum CacheTable {
    /// Bytes of one row of `body`: from 128 KiB on, larger rows gain nothing and cost memory.
    static let chunkSize = 128 << 10
    /// An entry's rows of `body` have the ids from `entry << 20` on: 2^20 chunks, 128 GiB.
    static let chunkBits: Int64 = 20

    /// Milliseconds that can be added to each other without a thought.
    static let times: ClosedRange<Int64> = 0...(1 << 53)

    /// 2^20 chunks.
    private static let largestBody = chunkSize << 20

    /// What one look-up found.
    enum Finding {
        case nothing
        /// With whether it was used since eviction last came by.
        case entry(StoredResponse, isVisited: Bool)
        /// The row is there and cannot be trusted.
        case damaged(reason: String)
        /// The row is there, and not for this process to read.
        case locked(CacheLock)
    }

    static func find(
        _ key: RequestKey,
        request: [UInt8],
        sealing: Sealing? = nil,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Finding {
        let statement = try connection.statement(
            """
            SELECT key, request, status, headers, stored_at, initial_age, lifetime, flags, duration, body_size,
                body_digest, entry.checksum, is_visited, body.checksum, bytes, seal
            FROM entry LEFT JOIN body ON body.id BETWEEN entry.id << 20 AND (entry.id << 20) + 1048575
            WHERE key_prefix = ? AND variant = 0 AND is_partial = 0 ORDER BY body.id
            """
        )
        try statement.bind(key.prefix, at: 1)
        guard try statement.step() else { return .nothing }
        if let sealing { return try finding(of: statement, key, request, sealing) }
        guard isSame(statement, key, request) else { return unreadable(statement, key) }
        return try finding(of: statement, key, request)
    }

    /// What the rows of an entry hold, the first of which has been read, in the form it is written in: the one place that
    /// decides what is sound.
    ///
    /// - Parameter keepsBody: `false` for the verdict alone; then one chunk at a time is in memory.
    static func finding(
        of statement: borrowing SQLiteStatement,
        _ key: RequestKey,
        _ request: [UInt8],
        keepsBody: Bool = true
    ) throws(SQLiteError) -> Finding {
        let size = Int(statement.int64(9))
        guard let stored = StoredResponse(row: statement), (0...largestBody).contains(size) else {
            return .damaged(reason: "its row makes no sense")
        }
        guard isSound(stored, statement, key, request) else { return .damaged(reason: "its row's checksum is wrong") }
        let isVisited = statement.int64(12) != 0
        return try entry(stored, size: size, isVisited: isVisited, of: statement, keepsBody)
    }

    // The whole key and the whole canonical form, so that no collision of prefixes can answer for another request.
    private static func isSame(_ row: borrowing SQLiteStatement, _ key: RequestKey, _ request: [UInt8]) -> Bool {
        row.withBytes(0) { bytes in key.withUnsafeBytes { isEqual($0, bytes) } }
            && row.withBytes(1) { bytes in request.withUnsafeBytes { isEqual($0, bytes) } }
    }

    private static func isEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        guard let left = left.baseAddress, let start = right.baseAddress else { return true }
        return memcmp(left, start, right.count) == 0
    }

    private static func isSound(
        _ stored: StoredResponse,
        _ row: borrowing SQLiteStatement,
        _ key: RequestKey,
        _ request: [UInt8]
    ) -> Bool {
        let digest = row.data(10)
        let checksum = Checksum.row(
            key: key.bytes, request: request, stored: stored, bodySize: row.int64(9), digest: digest)
        return checksum == row.int64(11)
    }

    private static func entry(
        _ stored: StoredResponse,
        size: Int,
        isVisited: Bool,
        of rows: borrowing SQLiteStatement,
        _ keepsBody: Bool
    ) throws(SQLiteError) -> Finding {
        let digest = rows.data(10)
        var stored = stored
        stored.body = rows.data(14)
        var count = stored.body.count
        let isWhole = count >= size
        let checksums =
            isWhole
            ? [Checksum.digest(of: stored.body)]
            : try chunks(of: rows, into: &stored.body, keepsBody ? size : nil, &count)
        guard count == size else { return .damaged(reason: "its body is incomplete") }
        guard let checksums, Checksum.digest(ofChunks: checksums) == digest else {
            return .damaged(reason: "its body's checksum is wrong")
        }
        return .entry(stored, isVisited: isVisited)
    }

    /// Appends the chunks behind the first one, or, without a size, only counts their bytes.
    ///
    /// - Returns: the checksums of all, or `nil` where one is wrong.
    private static func chunks(
        of rows: borrowing SQLiteStatement,
        into body: inout Data,
        _ size: Int?,
        _ count: inout Int
    ) throws(SQLiteError) -> [Data]? {
        if let size { body.reserveCapacity(size) }
        var checksums = [Checksum.digest(of: body)]
        var isSound = isEqual(rows, 13, checksums[0])
        while try rows.step() {
            let checksum = rows.withBytes(14) { Checksum.digest(of: $0) }
            isSound = isSound && isEqual(rows, 13, checksum)
            checksums.append(checksum)
            rows.withBytes(14) { bytes in
                count += bytes.count
                if size != nil { body.append(contentsOf: bytes) }
            }
        }
        return isSound ? checksums : nil
    }

    private static func isEqual(_ row: borrowing SQLiteStatement, _ column: Int32, _ bytes: Data) -> Bool {
        row.withBytes(column) { left in bytes.withUnsafeBytes { isEqual(left, $0) } }
    }
}

extension CacheTable {
    // MARK: Storing

    static func store(_ entry: CacheEntry, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try store(CacheRow(entry), on: connection)
    }

    static func store(_ row: CacheRow, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let (id, isNew) = try upsert(row, on: connection)
        if !isNew {
            try deleteBody(of: id, on: connection)
            try deleteTags(of: id, on: connection)
        }
        try insertBody(row, of: id, on: connection)
        for tag in row.entry.tags { try insertTag(tag, of: id, on: connection) }
    }

    static func chunks(of body: Data) -> [Data] {
        stride(from: body.startIndex, to: body.endIndex, by: chunkSize).map { start in
            body[start..<min(start + chunkSize, body.endIndex)]
        }
    }

    /// - Returns: the row's id, and whether the row is new.
    private static func upsert(
        _ row: CacheRow,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> (id: Int64, isNew: Bool) {
        let entry = row.entry
        // An answer that is replaced was asked for: that counts as use.
        let statement = try connection.statement(
            """
            INSERT INTO entry (key_prefix, key, request, url, method, identity, status, headers, stored_at, initial_age,
                lifetime, flags, duration, body_size, body_digest, checksum, seal)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (key_prefix, variant, is_partial) DO UPDATE SET key = excluded.key, request = excluded.request,
                url = excluded.url, method = excluded.method, identity = excluded.identity, status = excluded.status,
                headers = excluded.headers, stored_at = excluded.stored_at, initial_age = excluded.initial_age,
                lifetime = excluded.lifetime, flags = excluded.flags | (flags & 16), duration = excluded.duration,
                body_size = excluded.body_size, body_digest = excluded.body_digest, checksum = excluded.checksum,
                seal = excluded.seal, is_visited = 1
            RETURNING id, is_visited
            """
        )
        try statement.bind(entry.key.prefix, at: 1)
        try statement.bind(entry.key.bytes, at: 2)
        try bind(entry.request, isSealed: row.seal != nil, to: statement, at: 3)
        try statement.bind(entry.url, at: 4)
        try statement.bind(entry.method, at: 5)
        try statement.bind(entry.identity, at: 6)
        try bind(entry.stored, to: statement, from: 7)
        try statement.bind(entry.stored.duration, at: 13)
        try statement.bind(row.bodySize, at: 14)
        try statement.bind(row.digest, at: 15)
        try statement.bind(row.checksum, at: 16)
        try statement.bind(row.seal, at: 17)
        let place = try statement.step() ? (statement.int64(0), statement.int64(1) == 0) : (0, false)
        // RETURNING gives its row before the statement has ended; it has to end before the transaction can.
        _ = try statement.step()
        return place
    }

    private static func bind(
        _ request: [UInt8],
        isSealed: Bool,
        to statement: borrowing SQLiteStatement,
        at index: Int32
    ) throws(SQLiteError) {
        if isSealed { return try statement.bind(Data(request), at: index) }
        try statement.bind(String(decoding: request, as: UTF8.self), at: index)
    }

    private static func checksum(of entry: CacheEntry, _ size: Int64, _ digest: Data) -> Int64 {
        Checksum.row(
            key: entry.key.bytes, request: entry.request, stored: entry.stored, bodySize: size, digest: digest)
    }

    /// Binds status, headers, times and flags to six places in the order of the columns.
    private static func bind(
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
    }

    static func deleteBody(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement("DELETE FROM body WHERE id BETWEEN ? AND ?")
        try statement.bind(id << chunkBits, at: 1)
        try statement.bind((id + 1) << chunkBits - 1, at: 2)
        try statement.run()
    }

    private static func insertBody(
        _ row: CacheRow,
        of id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let statement = try connection.statement("INSERT INTO body (id, checksum, bytes) VALUES (?, ?, ?)")
        for (number, chunk) in row.chunks.enumerated() {
            try statement.bind(id << chunkBits + Int64(number), at: 1)
            try statement.bind(row.chunks.count > 1 ? row.checksums[number] : nil, at: 2)
            try statement.run(lending: chunk, at: 3)
        }
    }

    /// Writes what a 304 changed; the body stays where it is. Only onto the row that was confirmed: another process may
    /// have stored a newer one meanwhile.
    static func confirm(
        _ entry: CacheEntry,
        replacing old: StoredResponse,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        guard let (id, digest) = try confirmed(entry, old, on: connection) else { return }
        try update(id, to: entry.stored, checksum: checksum(of: entry, Int64(old.body.count), digest), on: connection)
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
                flags = ? | (flags & 16), checksum = ? WHERE id = ?
            """
        )
        try bind(stored, to: statement, from: 1)
        try statement.bind(checksum, at: 7)
        try statement.bind(id, at: 8)
        try statement.run()
    }

    private static func confirmed(
        _ entry: CacheEntry,
        _ old: StoredResponse,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> (id: Int64, digest: Data)? {
        let statement = try connection.statement(
            """
            SELECT id, body_digest FROM entry
            WHERE key_prefix = ? AND variant = 0 AND is_partial = 0 AND key = ? AND stored_at = ? AND body_size = ?
                AND headers = ? AND seal IS NULL
            """
        )
        try statement.bind(entry.key.prefix, at: 1)
        try statement.bind(entry.key.bytes, at: 2)
        try statement.bind(old.storedAt, at: 3)
        try statement.bind(Int64(old.body.count), at: 4)
        try statement.bind(old.headerBlock, at: 5)
        return try statement.step() ? (statement.int64(0), statement.data(1)) : nil
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

    static func deleteTags(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement("DELETE FROM tag WHERE entry = ?")
        try statement.bind(id, at: 1)
        try statement.run()
    }
}

extension StoredResponse {
    /// From columns 2 to 8 of a look-up, without the body; `nil` for values that nobody has written.
    init?(row: borrowing SQLiteStatement) {
        let isSensible = (4...6).allSatisfy { CacheTable.times.contains(row.int64($0)) }
        guard (100...999).contains(row.int64(2)), isSensible else { return nil }
        self.init(
            status: Int(row.int64(2)),
            headerBlock: row.data(3),
            body: Data(),
            storedAt: row.int64(4),
            initialAge: row.int64(5),
            lifetime: row.isNull(6) ? nil : row.int64(6),
            flags: .init(rawValue: row.int64(7)),
            duration: row.int64(8)
        )
    }
}
