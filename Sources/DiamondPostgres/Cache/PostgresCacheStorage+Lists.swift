#if Postgres && canImport(CDiamondPostgres)
package import Diamond
import DiamondSQLite
import Foundation

/// Lists and counts, for tools: some read all entries.
extension PostgresCacheStorage {
    package func list(
        _ groups: [[CacheSelection]], by order: CacheOrder, after cursor: CacheCursor?, limit: Int
    ) async throws(CacheError) -> [CacheRecord] {
        try await ask(within: .seconds(20)) { (connection) throws(PostgresError) in
            var condition: PostgresSQL = "true"
            for group in groups { condition = "\(condition) AND (\(Self.any(of: group)))" }
            if let cursor { condition = "\(condition) AND \(order.rest(after: cursor))" }
            return try connection.rows(
                """
                SELECT key, head, stale, is_pinned FROM cached WHERE \(condition)
                ORDER BY \(order.sql) LIMIT \(limit)
                """
            ).map { CacheRecord($0) }.compactMap(\.self)
        }
    }

    package func count(_ selections: [CacheSelection], onlyValid: Bool) async throws(CacheError) -> Int {
        try await ask(within: .seconds(20)) { (connection) throws(PostgresError) in
            let rows = try connection.rows(
                """
                SELECT count(*) AS count FROM cached
                WHERE is_response AND NOT (stale AND \(onlyValid)) AND (\(Self.any(of: selections)))
                """)
            return Int(rows.first?.int64("count") ?? 0)
        }
    }

    /// Returns the condition of records that are in any of some selections.
    private static func any(of selections: [CacheSelection]) -> PostgresSQL {
        selections.map(\.condition.sql).reduce("false") { "\($0) OR \($1)" }
    }

    package func totals() async throws(CacheError) -> CacheTotals {
        try await ask(within: .seconds(20)) { (connection) throws(PostgresError) in
            let row = try connection.rows(
                """
                SELECT count(*) FILTER (WHERE is_response) AS entries, coalesce(sum(body_size), 0)::bigint AS bytes,
                    pg_total_relation_size('cache_record') + pg_total_relation_size('cache_chunk') AS disk FROM cached
                """
            ).first
            return CacheTotals(
                entries: Int(row?.int64("entries") ?? 0), bodyBytes: row?.int64("bytes") ?? 0,
                diskBytes: row?.int64("disk") ?? 0)
        }
    }

    package func setPinned(_ isPinned: Bool, for key: RequestKey) async throws(CacheError) -> Bool {
        try await ask { (connection) throws(PostgresError) in
            try connection.rows(
                "UPDATE cache_record SET is_pinned = \(isPinned) WHERE key = \(key.bytes) RETURNING key"
            ).count > 0
        }
    }
}

extension CacheOrder {
    fileprivate var sql: PostgresSQL {
        switch self {
        case .newest: "stored_at DESC, prefix DESC"
        case .largest: "body_size DESC, prefix DESC"
        case .url: "url, prefix"
        }
    }

    /// Returns the condition of records after a cursor.
    fileprivate func rest(after cursor: CacheCursor) -> PostgresSQL {
        switch self {
        case .newest: "(stored_at, prefix) < (\(cursor.number), \(cursor.id))"
        case .largest: "(body_size, prefix) < (\(cursor.number), \(cursor.id))"
        case .url: "(url, prefix) > (\(cursor.url), \(cursor.id))"
        }
    }
}
#endif
