import DiamondSQLite
import Foundation

/// Claiming jobs that may be sent.
extension ReplayTable {
    /// Whether an owner may still act: it has a row, and its lease has not ended.
    static func isAlive(
        _ owner: Int64,
        at uptime: Uptime,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        try connection.hasRow("SELECT 1 FROM owner WHERE id = \(owner) AND lease_until > \(uptime)")
    }

    /// Claims up to `limit` jobs that may be sent now.
    static func claim(
        _ limit: Int,
        of identities: ReplaySelection.Identities,
        in lanes: ReplaySelection.Lanes = .all,
        by owner: Int64,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayClaims {
        try promote(on: connection, ledger: &ledger)
        try expire(on: connection, ledger: &ledger)
        guard lanes != .none, try !isQueueHeld(on: connection) else { return ReplayClaims([]) }
        var jobs: [ReplayClaim] = []
        var seen = 0
        while jobs.isEmpty, seen < batchSize {
            let ids = try eligible(limit, of: identities, in: lanes, on: connection)
            guard !ids.isEmpty else { return ReplayClaims([]) }
            seen += ids.count
            for id in ids {
                if let job = try claim(id, by: owner, on: connection, ledger: &ledger) { jobs.append(job) }
            }
        }
        return ReplayClaims(jobs, isMore: jobs.isEmpty)
    }

    /// Claims a ready job.
    ///
    /// - Returns: the job; `nil` if it is held, damaged, or needs review.
    private static func claim(
        _ id: Int64,
        by owner: Int64,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayClaim? {
        guard var row = try indexedRow(id, in: [.ready], on: connection, ledger: &ledger) else { return nil }
        // A hold covers its jobs in several transactions, and may not have reached this one yet.
        guard try !hold(&row, on: connection, ledger: &ledger) else { return nil }
        let old = row.state
        guard let reason = row.reviewReason(at: ledger.now) else {
            return try markRunning(&row, by: owner, on: connection, ledger: &ledger)
        }
        row.enter(.needsReview, reason: reason)
        try save(row, verb: .fail, from: old, on: connection, ledger: &ledger)
        return nil
    }

    private static func markRunning(
        _ row: inout ReplayRow,
        by owner: Int64,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayClaim? {
        guard let request = try checkedRequest(of: row, on: connection, ledger: &ledger) else { return nil }
        let old = row.state
        row.claim(by: owner)
        try save(row, verb: .claim, from: old, on: connection, ledger: &ledger)
        return ReplayClaim(id: row.id, token: row.token, request: request)
    }

    /// Returns the claim of a job that an owner runs; `nil` if it does not run it.
    static func claimed(
        _ id: Int64,
        by owner: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> ReplayClaim? {
        guard let row = try row(id, on: connection), row.state == .running, row.owner == owner else { return nil }
        let stored = try storedRequest(of: row.id, on: connection)
        // A request that is not authentic is empty, and cannot be decoded.
        let request = try connection.opened(request: stored, of: row.id) ?? Data()
        return ReplayClaim(id: row.id, token: row.token, request: request)
    }

    static func isQueueHeld(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.integer("SELECT EXISTS (SELECT 1 FROM hold WHERE kind IN ('queue', 'engine'))") != 0
    }

    // SQLite prefers an index over all states to a partial index of one state, then reads all jobs of the state, and
    // sorts them. So the statements name their indexes.

    /// Whether a job of any identity may be claimed.
    static func hasReady(in lanes: ReplaySelection.Lanes, on connection: borrowing SQLiteConnection) throws(SQLiteError)
        -> Bool
    {
        try !eligible(1, of: .all, in: lanes, on: connection).isEmpty
    }

    /// Returns the ids of ready jobs in the order in which they are sent. Reads all earlier jobs of other lanes, too.
    static func eligible(
        _ limit: Int,
        of identities: ReplaySelection.Identities,
        in lanes: ReplaySelection.Lanes,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        guard lanes != .none else { return [] }
        guard case .only(let names) = identities else {
            let statement = try connection.statement(
                """
                SELECT priority, turn, id, lane FROM job INDEXED BY job_by_turn WHERE state = 0 AND is_head = 1
                ORDER BY priority DESC, turn, id
                """
            )
            return try positions(limit, in: lanes, of: statement).map(\.id)
        }
        var found: [QueuePosition] = []
        for name in names.map(Optional.some) + [nil] {
            found += try positions(limit, of: name, in: lanes, on: connection)
        }
        return found.sorted().prefix(limit).map(\.id)
    }

    /// The position of a job in the order in which jobs are sent.
    private struct QueuePosition: Comparable {
        var priority: Int64
        var turn: Int64
        var id: Int64

        static func < (left: QueuePosition, right: QueuePosition) -> Bool {
            (right.priority, left.turn, left.id) < (left.priority, right.turn, right.id)
        }
    }

    private static func positions(
        _ limit: Int,
        of identity: String?,
        in lanes: ReplaySelection.Lanes,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [QueuePosition] {
        let statement = try connection.statement(
            """
            SELECT priority, turn, id, lane FROM job INDEXED BY job_of_identity
            WHERE identity IS \(connection.stored(identity: identity)) AND state = 0 AND is_head = 1
                ORDER BY priority DESC, turn, id
            """
        )
        return try positions(limit, in: lanes, of: statement)
    }

    private static func positions(
        _ limit: Int,
        in lanes: ReplaySelection.Lanes,
        of statement: borrowing SQLiteStatement
    ) throws(SQLiteError) -> [QueuePosition] {
        var found: [QueuePosition] = []
        while found.count < limit, try statement.step() {
            guard lanes.contains(Lane(statement.text(3))) else { continue }
            found.append(QueuePosition(priority: statement.int64(0), turn: statement.int64(1), id: statement.int64(2)))
        }
        return found
    }
}
