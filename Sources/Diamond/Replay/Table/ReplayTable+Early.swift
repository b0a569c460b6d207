import DiamondSQLite
import Foundation

/// Jobs that are sent before the end of their backoff. An answer of their origin may come at any time, so they are
/// found by an index, however many jobs wait.
extension ReplayTable {
    /// Returns the ids of jobs that wait, and may be sent before their time.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of ids.
    ///   - now: the queue's time.
    static func early(
        _ retry: ReplayEarlyRetry,
        limit: Int64 = batchSize,
        at now: QueueTime,
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
        _ search: ReplayEarlyRetry.Search,
        of retry: ReplayEarlyRetry,
        limit: Int64,
        at now: QueueTime,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        try connection.integers(
            """
            SELECT id FROM job INDEXED BY \(sql: search.source(on: connection)) AND state = 1 AND is_head = 1
                AND changed_at <= \(retry.failureLimit(at: now)) AND run_at > \(now) LIMIT \(limit)
            """
        )
    }

    /// Makes a batch of waiting jobs ready before their time.
    ///
    /// - Parameter start: the queue's time at the start of the early retry. Jobs that fail later are left out.
    /// - Returns: whether there may be more.
    static func retryEarly(
        _ retry: ReplayEarlyRetry,
        since start: QueueTime,
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

extension ReplayEarlyRetry.Search {
    /// Returns the index that finds the jobs, and the condition of the search.
    fileprivate func source(on connection: borrowing SQLiteConnection) -> SQL {
        switch self {
        case .failed(let code, let origin):
            """
            job_early WHERE reason = 'backoff' AND failure = \(code) AND origin = \(connection.stored(origin: origin))
            """
        case .failedAnywhere(let code): "job_early WHERE reason = 'backoff' AND failure = \(code)"
        case .backoff: "job_early WHERE reason = 'backoff'"
        case .offline: "job_offline WHERE reason = 'offline'"
        case .released: "job_by_time WHERE reason = 'released' AND failure IS NOT NULL"
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
