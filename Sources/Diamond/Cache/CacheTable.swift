import DiamondSQLite
import Foundation

/// All the SQL of the tables `entry` and `body`.
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
        case entry(StoredResponse)
        /// The row is there and cannot be trusted.
        case damaged(reason: String)
    }

    static func find(
        _ key: RequestKey,
        request: [UInt8],
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Finding {
        let statement = try connection.statement(
            """
            SELECT key, request, status, headers, stored_at, initial_age, lifetime, flags, body_size, body_digest, bytes
            FROM entry LEFT JOIN body ON body.id BETWEEN entry.id << 20 AND (entry.id << 20) + 1048575
            WHERE key_prefix = ? ORDER BY body.id
            """
        )
        try statement.bind(key.prefix, at: 1)
        guard try statement.step(), isSame(statement, key, request) else { return .nothing }
        let size = Int(statement.int64(8))
        let digest = statement.data(9)
        guard var stored = StoredResponse(row: statement), (0...largestBody).contains(size) else {
            return .damaged(reason: "its row makes no sense")
        }
        stored.body = try body(of: statement, size: size)
        guard stored.body.count == size else { return .damaged(reason: "its body is incomplete") }
        guard BodyDigest.matches(stored.body, digest) else { return .damaged(reason: "its body's checksum is wrong") }
        return .entry(stored)
    }

    // The whole key and the whole canonical form, so that no collision of prefixes can answer for another request.
    private static func isSame(_ row: borrowing SQLiteStatement, _ key: RequestKey, _ request: [UInt8]) -> Bool {
        row.withBytes(0) { bytes in key.bytes.withUnsafeBytes { isEqual($0, bytes) } }
            && row.withBytes(1) { bytes in request.withUnsafeBytes { isEqual($0, bytes) } }
    }

    private static func isEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        guard let left = left.baseAddress, let start = right.baseAddress else { return true }
        return memcmp(left, start, right.count) == 0
    }

    private static func body(of rows: borrowing SQLiteStatement, size: Int) throws(SQLiteError) -> Data {
        var body = rows.data(10)
        guard body.count < size else { return body }
        body.reserveCapacity(size)
        while try rows.step() { rows.withBytes(10) { body.append(contentsOf: $0) } }
        return body
    }

    static func store(_ entry: CacheEntry, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let id = try upsert(entry, on: connection)
        try deleteBody(of: id, on: connection)
        try insertBody(entry.stored.body, of: id, on: connection)
    }

    private static func upsert(
        _ entry: CacheEntry,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int64 {
        let statement = try connection.statement(
            """
            INSERT INTO entry (key_prefix, key, request, url, method, identity, status, headers, stored_at, initial_age,
                lifetime, flags, body_size, body_digest)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (key_prefix) DO UPDATE SET key = excluded.key, request = excluded.request, url = excluded.url,
                method = excluded.method, identity = excluded.identity, status = excluded.status, headers = excluded.headers,
                stored_at = excluded.stored_at, initial_age = excluded.initial_age, lifetime = excluded.lifetime,
                flags = excluded.flags, body_size = excluded.body_size, body_digest = excluded.body_digest
            RETURNING id
            """
        )
        try statement.bind(entry.key.prefix, at: 1)
        try statement.bind(entry.key.bytes, at: 2)
        try statement.bind(String(decoding: entry.request, as: UTF8.self), at: 3)
        try statement.bind(entry.url, at: 4)
        try statement.bind(entry.method, at: 5)
        try statement.bind(entry.identity, at: 6)
        try bind(entry.stored, to: statement, from: 7)
        try statement.bind(Int64(entry.stored.body.count), at: 13)
        try statement.bind(BodyDigest.digest(of: entry.stored.body), at: 14)
        let id = try statement.step() ? statement.int64(0) : 0
        // RETURNING gives its row before the statement has ended; it has to end before the transaction can.
        _ = try statement.step()
        return id
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

    private static func deleteBody(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement("DELETE FROM body WHERE id BETWEEN ? AND ?")
        try statement.bind(id << chunkBits, at: 1)
        try statement.bind((id + 1) << chunkBits - 1, at: 2)
        try statement.run()
    }

    private static func insertBody(
        _ body: Data,
        of id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let statement = try connection.statement("INSERT INTO body (id, bytes) VALUES (?, ?)")
        var chunk = id << chunkBits
        var rest = body[...]
        while !rest.isEmpty {
            try statement.bind(chunk, at: 1)
            try statement.run(lending: rest.prefix(chunkSize), at: 2)
            rest = rest.dropFirst(chunkSize)
            chunk += 1
        }
    }

    /// Writes what a 304 changed; the body stays where it is. Only onto the row that was confirmed: another process may
    /// have stored a newer one meanwhile.
    static func confirm(
        _ entry: CacheEntry,
        replacing old: StoredResponse,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            UPDATE entry SET status = ?, headers = ?, stored_at = ?, initial_age = ?, lifetime = ?, flags = ?
            WHERE key_prefix = ? AND key = ? AND stored_at = ? AND body_size = ? AND headers = ?
            """
        )
        try bind(entry.stored, to: statement, from: 1)
        try statement.bind(entry.key.prefix, at: 7)
        try statement.bind(entry.key.bytes, at: 8)
        try statement.bind(old.storedAt, at: 9)
        try statement.bind(Int64(old.body.count), at: 10)
        try statement.bind(old.headerBlock, at: 11)
        try statement.run()
    }

    static func delete(_ key: RequestKey, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int {
        let statement = try connection.statement("DELETE FROM entry WHERE key_prefix = ? AND key = ?")
        try statement.bind(key.prefix, at: 1)
        try statement.bind(key.bytes, at: 2)
        try statement.run()
        return connection.changes
    }

    static func delete(identity: String, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int {
        let statement = try connection.statement("DELETE FROM entry WHERE identity = ?")
        try statement.bind(identity, at: 1)
        try statement.run()
        return connection.changes
    }

    static func deleteAll(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int {
        let count = try connection.integer("SELECT count(*) FROM entry")
        // First the bodies, in one go: the trigger then finds none row by row.
        try connection.statement("DELETE FROM body").run()
        try connection.statement("DELETE FROM entry").run()
        return Int(count)
    }
}

extension StoredResponse {
    /// From columns 2 to 7 of a look-up, without the body; `nil` for values that nobody has written.
    fileprivate init?(row: borrowing SQLiteStatement) {
        let times = [row.int64(4), row.int64(5), row.int64(6)]
        guard (100...999).contains(row.int64(2)), times.allSatisfy(CacheTable.times.contains) else { return nil }
        self.init(
            status: Int(row.int64(2)),
            headerBlock: row.data(3),
            body: Data(),
            storedAt: row.int64(4),
            initialAge: row.int64(5),
            lifetime: row.isNull(6) ? nil : row.int64(6),
            flags: .init(rawValue: row.int64(7))
        )
    }
}
