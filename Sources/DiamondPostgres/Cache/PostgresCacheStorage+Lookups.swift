#if Postgres && canImport(CDiamondPostgres)
package import Diamond
import DiamondSQLite
package import Foundation

/// Lookups. Each is one statement.
extension PostgresCacheStorage {
    /// The most records under a request key, its index and the newest variants: each lookup reads all of them.
    static let mostRecords = 65

    package func records(under key: RequestKey, bodyLimit: Int) async throws(CacheError) -> [CacheRecord] {
        let start = watch.withLock { $0.start }
        let records = try await ask { (connection) throws(PostgresError) in
            let rows = try connection.rows(
                """
                SELECT found.*, chunk.data FROM (
                    SELECT key, head, stale, is_pinned, body_id, body_size <= \(bodyLimit) AS has_body,
                        CASE WHEN body_size <= \(bodyLimit) THEN body END AS body
                    FROM cached WHERE key = \(key.bytes) OR request_key = \(key.bytes) AND request_key <> key
                    ORDER BY is_response, stored_at DESC LIMIT \(Self.mostRecords)) AS found
                LEFT JOIN cache_chunk AS chunk
                    ON chunk.key = found.key AND chunk.body = body_id AND has_body AND found.body IS NULL
                ORDER BY found.key, number
                """)
            return Self.records(of: rows)
        }
        watch.withLock { watch in for record in records { watch.hold(record, since: start) } }
        return records
    }

    /// Returns the records of rows, each of which has a chunk. A damaged one, or one without all of its chunks, is none.
    private static func records(of rows: PostgresRows) -> [CacheRecord] {
        var records: [CacheRecord] = []
        var index = 0
        while index < rows.count {
            let row = rows[index]
            var chunks = [row.optionalData("body") ?? row.optionalData("data")].compactMap(\.self)
            index += 1
            while index < rows.count, rows[index].data("key") == row.data("key") {
                chunks.append(rows[index].data("data"))
                index += 1
            }
            guard let record = CacheRecord(row, chunks: chunks),
                chunks.count == (row.bool("has_body") ? record.chunkCount : 0)
            else { continue }
            records.append(record)
        }
        return records
    }

    package func chunks(_ numbers: Range<Int>, of record: CacheRecord) async throws(CacheError) -> [Data]? {
        let chunks = try await ask { (connection) throws(PostgresError) in
            try connection.rows(
                """
                SELECT coalesce(record.body, data) AS data FROM cached AS record
                LEFT JOIN cache_chunk AS chunk ON chunk.key = record.key AND chunk.body = body_id AND record.body IS NULL
                WHERE record.key = \(record.key.bytes) AND body_id = \(record.bodyNumber)
                    AND coalesce(number, 0) >= \(numbers.lowerBound) AND coalesce(number, 0) < \(numbers.upperBound)
                ORDER BY number
                """
            ).map { $0.optionalData("data") }.compactMap(\.self)
        }
        return chunks.count == numbers.count ? chunks : nil
    }
}

extension CacheRecord {
    /// Reads a row; `nil` for a damaged head, or that of another record.
    init?(_ row: PostgresRows.Row, chunks: [Data] = []) {
        let isPinned = row.bool("is_pinned")
        self.init(head: row.data("head"), isStale: row.bool("stale"), isPinned: isPinned, chunks: chunks)
        guard key.bytes == row.data("key") else { return nil }
    }

    /// ``bodyHash`` as a number of PostgreSQL.
    var bodyNumber: Int64 { Int64(bitPattern: bodyHash) }
}
#endif
