import DiamondSQLite
import Foundation

/// Reading rows as records, unverified, as other storages return them.
extension CacheTable {
    /// Returns the whole entries of some selections as records.
    static func records(
        of selections: [CacheSelection], under key: RequestKey, bodyLimit: Int,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [CacheRecord] {
        var ids: [Int64] = []
        for selection in selections {
            let statement = try connection.statement(
                once: "SELECT id FROM entry WHERE (\(sql: condition(selection))) AND is_partial = 0")
            while try statement.step() { ids.append(statement.int64(0)) }
        }
        return try records(Array(Set(ids)), bodyLimit: bodyLimit, on: connection).map { record in
            var record = record
            if record.key != key { record.entry.requestKey = key }
            return record
        }
    }

    /// Returns the entries with some ids as records, in the same order.
    static func records(
        _ ids: [Int64], bodyLimit: Int, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [CacheRecord] {
        var records: [CacheRecord] = []
        for id in ids {
            if let record = try record(id, bodyLimit: bodyLimit, on: connection) { records.append(record) }
        }
        return records
    }

    private static func record(
        _ id: Int64, bodyLimit: Int, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> CacheRecord? {
        let row = try connection.statement(
            """
            SELECT key, request, status, headers, stored_at, initial_age, lifetime, flags, duration, body_size,
                body_digest, checksum, is_visited, NULL AS chunk_checksum, NULL AS bytes, seal, id, NULL AS chunk, url,
                key_prefix, is_partial, method, identity
            FROM entry WHERE id = \(id)
            """, columns: Column.self)
        guard try row.step(), let key = RequestKey(stored: row.data(Column.key)), let stored = StoredResponse(row: row)
        else { return nil }
        var entry = CacheEntry(
            key: key, request: Array(row.data(Column.request)), url: row.text(Column.url),
            method: row.text(Column.method), identity: row.optionalText(Column.identity), stored: stored)
        let (size, digest) = (row.int64(Column.bodySize), row.data(Column.bodyDigest))
        let (checksum, seal) = (row.int64(Column.checksum), row.optionalText(Column.seal))
        entry.tags = try tags(of: id, on: connection)
        let chunks = size <= bodyLimit ? try chunks(of: id, on: connection) : []
        var record = CacheRecord(
            entry, seal: seal, body: BodyRows(chunks, size: size, column: digest), checksum: checksum)
        record.row = id
        return record
    }

    private static func chunks(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Data] {
        try connection.rows(
            """
            SELECT bytes FROM body WHERE id BETWEEN \(id << chunkBits) AND \(id << chunkBits | (1 << chunkBits - 1))
            ORDER BY id
            """
        ) { $0.data(0) }
    }

    /// Returns some chunks of the body of a record; `nil` if the record is gone or has another body.
    static func chunks(
        _ numbers: Range<Int>, of record: CacheRecord, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Data]? {
        let id = try connection.first(
            """
            SELECT id FROM entry WHERE key_prefix = \(record.key.prefix) AND variant = 0 AND is_partial = 0
                AND key = \(record.key) AND body_digest = \(record.bodyID)
            """
        ) { $0.int64(0) }
        guard let id else { return nil }
        let chunks = try chunks(of: id, on: connection)
        return Array(chunks[numbers.clamped(to: 0..<chunks.count)])
    }
}
