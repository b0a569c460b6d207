#if Postgres && canImport(CDiamondPostgres)
package import Diamond
import DiamondSQLite
import Foundation

/// Invalidating and erasing.
extension PostgresCacheStorage {
    /// The most records that one transaction marks or erases.
    private static let pageSize = 5_000
    /// The time after which the erasure of the records of a name goes on in the background.
    private static let sweepTime = Duration.seconds(1)

    package func invalidate(
        _ selections: [CacheSelection], announcing names: ChangedNames?
    ) async throws(CacheError) -> CacheRecordCount {
        let conditions = selections.map(\.condition)
        var count = CacheRecordCount()
        for condition in conditions where condition.name == nil { count += try await mark(condition) }
        let stamps = conditions.compactMap(\.name)
        // Records that are stale by a stamp are not read.
        if !stamps.isEmpty { count += .unknown }
        try await announce(conditions, names)
        return count
    }

    package func erase(
        _ selections: [CacheSelection], announcing names: ChangedNames?
    ) async throws(CacheError) -> CacheRecordCount {
        let conditions = selections.map(\.condition)
        var count = CacheRecordCount()
        for condition in conditions where condition.name == nil { count += try await erase(condition) }
        let position = try await announce(conditions, names, isErasure: true)
        for condition in conditions where condition.name != nil {
            count += try await erase(condition, before: position, within: Self.sweepTime)
        }
        return count
    }

    /// Announces a change of selected records, and changes the stamps of their names.
    @discardableResult
    private func announce(
        _ conditions: [CacheCondition], _ names: ChangedNames?, isErasure: Bool = false
    ) async throws(CacheError) -> Int64 {
        let stamps = conditions.compactMap(\.name)
        // The memory tiers know the records of other names.
        let isBroad = stamps.contains(where: \.isCommon) || names == nil && !conditions.allSatisfy(\.isNarrow)
        var all = isBroad || conditions.isEmpty && names == nil ? nil : names ?? ChangedNames()
        for case .keys(let keys) in conditions { all?.keys.formUnion(keys.map(\.prefix)) }
        return try await announce(all, stamps: stamps.map(\.number), isErasure: isErasure)
    }

    /// Marks the records that a condition selects, page by page.
    private func mark(_ condition: CacheCondition) async throws(CacheError) -> CacheRecordCount {
        try await forEachPage { (connection) throws(PostgresError) in
            try connection.rows(
                """
                WITH changed AS (
                    UPDATE cache_record SET is_stale = true WHERE key IN (
                        SELECT key FROM cached WHERE NOT stale AND \(condition.sql) LIMIT \(Self.pageSize))
                    RETURNING is_response)
                SELECT count(*) AS records, count(*) FILTER (WHERE is_response) AS responses FROM changed
                """)
        }
    }

    /// Erases the records that a condition selects, page by page. After some time, the rest follows in the background.
    ///
    /// - Parameters:
    ///   - position: the position of the erasure of a name: nothing finds its records any more.
    ///   - limit: the time; `nil` to return when nothing is left.
    private func erase(
        _ condition: CacheCondition, before position: Int64? = nil, within limit: Duration? = nil
    ) async throws(CacheError) -> CacheRecordCount {
        let selected: PostgresSQL =
            if let position { "\(condition.sql) AND position < \(position)" } else { condition.sql }
        let count = try await forEachPage(within: limit) { (connection) throws(PostgresError) in
            try Self.delete(
                "SELECT key FROM cache_record WHERE \(selected) LIMIT \(Self.pageSize) FOR UPDATE", on: connection)
        }
        if !count.isComplete { Task { try? await erase(condition, before: position) } }
        return count
    }

    /// Repeats a statement that returns the numbers of changed records and responses, until it changes less than a page.
    ///
    /// - Returns: the sum; incomplete if the time was up before.
    private func forEachPage(
        within limit: Duration? = nil,
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> PostgresRows
    ) async throws(CacheError) -> CacheRecordCount {
        let end = limit.map { ContinuousClock.now + $0 }
        var count = CacheRecordCount()
        while true {
            let page = try await ask(within: .seconds(20)) { (connection) throws(PostgresError) in
                CacheRecordCount(try body(connection))
            }
            count += page
            if page.records < Self.pageSize { return count }
            if let end, ContinuousClock.now >= end { count += .unknown }
            if !count.isComplete { return count }
        }
    }

    /// Deletes records and their chunks.
    ///
    /// - Parameter keys: a query for their keys.
    /// - Returns: a row with their number, that of the responses among them, and their bytes.
    static func delete(
        _ keys: PostgresSQL, on connection: PostgresConnection
    ) throws(PostgresError) -> PostgresRows {
        try connection.rows(
            """
            WITH gone AS (
                    DELETE FROM cache_record WHERE key IN (\(keys))
                    RETURNING key, is_response, size),
                chunks AS (DELETE FROM cache_chunk USING gone WHERE cache_chunk.key = gone.key)
            SELECT count(*) AS records, count(*) FILTER (WHERE is_response) AS responses,
                coalesce(sum(size), 0)::bigint AS bytes FROM gone
            """)
    }
}

extension CacheRecordCount {
    fileprivate init(_ rows: PostgresRows) {
        self.init()
        guard let row = rows.first else { return }
        for number in 0..<row.int64("records") { add(isResponse: number < row.int64("responses")) }
    }
}

extension CacheCondition {
    /// The name whose stamp selects the records; `nil` for other conditions.
    fileprivate var name: CacheName? {
        switch self {
        case .all: .all
        case .name(let name): CacheName(name)
        case .keys, .urlPrefix, .storedBefore, .expired: nil
        }
    }

    /// Whether the memory tiers know which of their records it selects.
    fileprivate var isNarrow: Bool {
        switch self {
        case .all, .name, .keys: true
        case .urlPrefix, .storedBefore, .expired: false
        }
    }

    /// The condition on rows of `cache_record` and `cached`.
    var sql: PostgresSQL {
        switch self {
        case .all: "true"
        case .keys(let keys): "key = ANY(\(keys.map(\.bytes)))"
        case .name(let name): "names @> \([CacheName(name).number])"
        case .urlPrefix(let prefix): "starts_with(url, \(prefix))"
        case .storedBefore(let time): "stored_at < \(time)"
        case .expired(let time): "expiry < \(time) AND NOT is_pinned"
        }
    }
}
#endif
