#if Postgres && canImport(CDiamondPostgres)
package import Diamond
import DiamondSQLite

/// Expiry and eviction, in small batches, each of which is a transaction. One process of the fleet does it at a time.
extension PostgresCacheStorage {
    /// The most records that one transaction removes.
    private static let batchSize = 500
    /// The part of the capacity that is left after an eviction.
    private static let fill = 0.9

    /// Removes what is past its retention, evicts down to the capacity, and forgets old announcements and stamps.
    package func tend() async throws(CacheError) {
        let clock = clock
        try await repeatBatches { (connection) throws(PostgresError) in
            let selected: PostgresSQL = "retention < (SELECT \(clock.sql)) AND NOT is_pinned ORDER BY retention"
            return try Self.evictBatch(selected, of: .max, on: connection).count
        }
        if try await size() > capacity { _ = try await evict(to: Int64(Double(capacity) * Self.fill)) }
        try await repeatBatches { (connection) throws(PostgresError) in
            try connection.rows(
                """
                DELETE FROM cache_change WHERE position IN (
                    SELECT position FROM cache_change WHERE announced_at < now() - interval '1 minute'
                        AND position < (SELECT max(position) FROM cache_change)
                    ORDER BY position LIMIT \(Self.batchSize)) RETURNING position
                """
            ).count
        }
        try await forgetStamps()
    }

    /// Forgets changes of names that no stored record has missed. Those of all records and of hosts, which have many
    /// records, are few.
    private func forgetStamps() async throws(CacheError) {
        _ = try await inTurn { (connection) throws(PostgresError) in
            try connection.rows(
                """
                DELETE FROM cache_stamp AS stamp WHERE name IN (
                    SELECT name FROM cache_stamp WHERE name <> 0 AND changed_at < now() - interval '1 hour'
                    ORDER BY changed_at LIMIT \(Self.batchSize))
                AND NOT EXISTS (SELECT FROM cache_record WHERE names @> ARRAY[stamp.name] AND position < invalidated)
                RETURNING name
                """
            ).count
        }
    }

    package func evict(to bytes: Int64) async throws(CacheError) -> Int? {
        var left = try await size() - bytes
        var count = 0
        let clock = clock
        for isExpired in [true, false] {
            var isMore = true
            while left > 0, isMore {
                let batch = try await inTurn { [left] (connection) throws(PostgresError) in
                    let selected: PostgresSQL =
                        isExpired
                        ? "expiry < (SELECT \(clock.sql)) AND NOT is_pinned ORDER BY expiry"
                        : "NOT is_pinned ORDER BY stored_at"
                    return try Self.evictBatch(selected, of: left, on: connection)
                }
                guard let batch else { return count }
                left -= batch.bytes
                count += batch.count
                isMore = batch.count > 0
            }
        }
        return count
    }

    /// The bytes of all entries.
    private func size() async throws(CacheError) -> Int64 {
        try await ask(within: .seconds(20)) { (connection) throws(PostgresError) in
            try connection.rows("SELECT coalesce(sum(size), 0)::bigint AS size FROM cache_record").first?.int64("size")
                ?? 0
        }
    }

    private struct Batch: Sendable {
        let count: Int
        let bytes: Int64
    }

    /// Removes a batch of records.
    ///
    /// - Parameters:
    ///   - selected: a condition and an order.
    ///   - bytes: the size after which no more are removed.
    private static func evictBatch(
        _ selected: PostgresSQL, of bytes: Int64, on connection: PostgresConnection
    ) throws(PostgresError) -> Batch {
        let keys: PostgresSQL = """
            SELECT key FROM (
                SELECT key, sum(size) OVER (ROWS UNBOUNDED PRECEDING) - size AS removed FROM (
                    SELECT key, size FROM cache_record WHERE \(selected) LIMIT \(batchSize) FOR UPDATE SKIP LOCKED
                ) AS page) AS summed
            WHERE removed < \(bytes)
            """
        let row = try delete(keys, on: connection).first
        return Batch(count: Int(row?.int64("records") ?? 0), bytes: row?.int64("bytes") ?? 0)
    }

    /// Runs a statement that returns the number of removed rows, until it removes less than a batch.
    private func repeatBatches(
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Int
    ) async throws(CacheError) {
        while try await inTurn(body) ?? 0 == Self.batchSize {}
    }

    /// Runs a body in a transaction, unless another process does at the moment.
    ///
    /// - Returns: `nil` if another one does.
    private func inTurn<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(CacheError) -> Value? {
        try await ask(within: .seconds(20)) { (connection) throws(PostgresError) in
            try connection.transaction { (connection) throws(PostgresError) in
                let lock = try connection.rows(
                    "SELECT pg_try_advisory_xact_lock(\(Int64(PostgresJobs.Lock.cache.rawValue))::int, 2) AS is_free")
                guard lock.first?.bool("is_free") == true else { return nil }
                return try body(connection)
            }
        }
    }
}
#endif
