#if Postgres && canImport(CDiamondPostgres)
package import Diamond
import Foundation

/// Making jobs ready before their time.
extension PostgresReplayStorage {
    package func retryEarly(_ retry: ReplayEarlyRetry) async throws(ReplayError) -> Bool {
        let start = try moment().time
        var isFirst = true
        while true {
            let count = try await change { (jobs) throws(PostgresError) in try jobs.retryEarly(retry, since: start) }
            guard count > 0 else { return !isFirst }
            isFirst = false
            guard count >= PostgresJobs.batchSize else { return true }
        }
    }
}

extension PostgresJobs {
    /// Makes a batch of waiting jobs ready before their time.
    ///
    /// - Parameter start: the time at the start of the early retry. Jobs that fail later are left out.
    func retryEarly(_ retry: ReplayEarlyRetry, since start: QueueTime) throws(PostgresError) -> Int {
        var changes: [Change] = []
        for search in retry.searches where changes.count < Self.batchSize {
            let rows = try connection.rows(
                """
                SELECT \(Self.columns) FROM job WHERE state = 1 AND is_head AND \(search.condition)
                    AND changed_at <= \(retry.failureLimit(at: start).rawValue) AND run_at > \(start.rawValue)
                ORDER BY id LIMIT \(Self.batchSize - changes.count) FOR UPDATE SKIP LOCKED
                """
            ).map(ReplayRow.init)
            for var row in rows where retry.waits.contains(row.reason) {
                row.retryEarly(retry, at: now)
                changes.append(Change(row: row, verb: .retry, old: .waiting))
            }
        }
        try save(changes)
        return changes.count
    }
}

extension ReplayEarlyRetry.Search {
    fileprivate var condition: PostgresSQL {
        switch self {
        case .failed(let code, let origin):
            """
            reason = 'backoff' AND failure = \(code) AND host = \(origin.afterScheme) AND starts_with(url, \(origin))
            """
        case .failedAnywhere(let code): "reason = 'backoff' AND failure = \(code)"
        case .backoff: "reason = 'backoff'"
        case .offline: "reason = 'offline'"
        case .released: "reason = 'released' AND failure IS NOT NULL"
        }
    }
}

extension String {
    /// The part of an origin after `://`.
    fileprivate var afterScheme: String { range(of: "://").map { String(self[$0.upperBound...]) } ?? self }
}
#endif
