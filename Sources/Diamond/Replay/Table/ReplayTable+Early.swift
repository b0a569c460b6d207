import DiamondSQLite
import Foundation

/// Jobs that are sent before the end of their backoff. An answer of their origin may come at any time, so they are
/// found by an index, however many jobs wait.
extension ReplayTable {
    /// Returns the ids of jobs that wait, and may be sent before their time.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of ids.
    ///   - now: the queue's time, in milliseconds since 1970.
    static func early(
        _ retry: EarlyRetry,
        limit: Int64 = batchSize,
        at now: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        var ids: [Int64] = []
        for search in retry.searches {
            let rest = limit - Int64(ids.count)
            guard rest > 0 else { break }
            ids += try early(search, of: retry, limit: rest, at: now, on: connection)
        }
        return ids
    }

    private static func early(
        _ search: EarlyRetry.Search,
        of retry: EarlyRetry,
        limit: Int64,
        at now: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        let statement = try connection.statement(search.sql)
        try statement.bind(now, at: 1)
        try statement.bind(retry.failureLimit(at: now), at: 2)
        try statement.bind(limit, at: 3)
        for (index, value) in search.values(on: connection).enumerated() {
            try statement.bind(value, at: Int32(index + 4))
        }
        return try ids(in: statement)
    }

    /// Makes a batch of waiting jobs ready before their time.
    ///
    /// - Parameter start: the queue's time at the start of the early retry. Jobs that fail later are left out.
    /// - Returns: whether there may be more.
    static func retryEarly(
        _ retry: EarlyRetry,
        since start: Int64,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        let ids = try early(retry, at: start, on: connection)
        var count = 0
        for id in ids {
            guard var row = try indexedRow(id, in: [.waiting], on: connection, ledger: &ledger),
                retry.waits.contains(row.reason)
            else { continue }
            row.retryEarly(retry, at: ledger.now)
            try save(row, verb: .retry, from: .waiting, on: connection, ledger: &ledger)
            count += 1
        }
        // Without a change, the next batch would be the same.
        return count > 0 && ids.count >= batchSize
    }
}

extension EarlyRetry.Search {
    /// The statement that finds the jobs. Its first bound values are the current time, the latest time of a failure,
    /// and the limit. The ``values(on:)`` follow.
    fileprivate var sql: StaticString {
        switch self {
        case .failed:
            """
            SELECT id FROM job INDEXED BY job_early WHERE state = 1 AND is_head = 1 AND reason = 'backoff'
                AND failure = ?4 AND origin = ?5 AND changed_at <= ?2 AND run_at > ?1 LIMIT ?3
            """
        case .failedAnywhere:
            """
            SELECT id FROM job INDEXED BY job_early WHERE state = 1 AND is_head = 1 AND reason = 'backoff'
                AND failure = ?4 AND changed_at <= ?2 AND run_at > ?1 LIMIT ?3
            """
        case .backoff:
            """
            SELECT id FROM job INDEXED BY job_early WHERE state = 1 AND is_head = 1 AND reason = 'backoff'
                AND changed_at <= ?2 AND run_at > ?1 LIMIT ?3
            """
        case .offline:
            """
            SELECT id FROM job INDEXED BY job_offline WHERE state = 1 AND is_head = 1 AND reason = 'offline'
                AND changed_at <= ?2 AND run_at > ?1 LIMIT ?3
            """
        case .released:
            """
            SELECT id FROM job INDEXED BY job_by_time WHERE state = 1 AND is_head = 1 AND reason = 'released'
                AND failure IS NOT NULL AND changed_at <= ?2 AND run_at > ?1 LIMIT ?3
            """
        }
    }

    fileprivate func values(on connection: borrowing SQLiteConnection) -> [String] {
        switch self {
        case .failed(let code, let origin): [code, connection.stored(origin: origin)]
        case .failedAnywhere(let code): [code]
        case .backoff, .offline, .released: []
        }
    }
}

extension SQLiteConnection {
    /// Returns an origin as it is in its column: the scheme, and the host as it is stored.
    fileprivate func stored(origin: String) -> String {
        guard let slashes = origin.range(of: "://") else { return origin }
        return origin[..<slashes.upperBound] + stored(String(origin[slashes.upperBound...]), .host)
    }
}
