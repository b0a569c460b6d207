package import DiamondSQLite
import Foundation

/// Damaged jobs, whose rows or requests differ from what was written. None of them is sent, or saved with a new
/// checksum.
extension ReplayTable {
    /// A job's row on disk.
    package struct StoredRow {
        var row: ReplayRow
        /// Whether the row's checksum is right.
        var isIntact: Bool
        /// The request; empty if it was not read, or is missing.
        var request = Data()

        /// A description of the job's damage; `nil` if it is intact, or was discarded. A missing request is no damage
        /// here. Damage of the request is found only if the request was read.
        package var damage: String? {
            guard isIntact else { return row.isDiscarded ? nil : "its row's checksum is wrong" }
            guard row.state != .done else { return nil }
            return request.isEmpty || ReplayRow.digest(of: request) == row.digest
                ? nil : "its request's checksum is wrong"
        }
    }

    /// Returns the row of a job; `nil` if there is none, or it is damaged. Puts a damaged job in review.
    static func checkedRow(
        _ id: Int64,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayRow? {
        guard let stored = try storedRow(id, on: connection) else { return nil }
        return try checkedRow(stored, on: connection, ledger: &ledger)
    }

    /// Returns a row that was read in this transaction; `nil` if it is damaged. Puts a damaged job in review.
    static func checkedRow(
        _ stored: StoredRow,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayRow? {
        guard !stored.isIntact else { return stored.row }
        try review(stored.row, on: connection, ledger: &ledger)
        return nil
    }

    /// Puts a damaged job in review. Its other columns and its checksum stay as they are, so that it stays damaged
    /// whatever is done to it.
    private static func review(
        _ row: ReplayRow,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard !row.isMarkedDamaged else { return }
        // SQLite refuses to change a row whose values differ from those in its indexes.
        try reindex(on: connection, ledger: &ledger)
        // Rebuilding the indexes may have put the job in review already.
        guard try storedRow(row.id, on: connection)?.row.isMarkedDamaged == false else { return }
        try putInReview(row, on: connection, ledger: &ledger)
        try updateHeads(on: connection)
    }

    static func putInReview(
        _ row: ReplayRow, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        try mark(row, state: .needsReview, reason: .damaged, on: connection, ledger: ledger)
        ledger.note(.fail, of: row.id, from: row.state, to: .needsReview, reason: .damaged)
    }

    /// Discards a damaged job.
    ///
    /// - Returns: whether it was not discarded before.
    static func discardDamaged(
        _ row: ReplayRow,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        guard !row.isDiscarded else { return false }
        try reindex(on: connection, ledger: &ledger)
        try mark(row, state: .done, reason: .discarded, on: connection, ledger: ledger)
        try updateHeads(on: connection)
        ledger.note(.discard, of: row.id, from: row.state, to: .done, reason: .discarded)
        if !row.creates.isEmpty { try updateReasons(ofJobsAwaiting: row.creates, on: connection, ledger: &ledger) }
        return true
    }

    private static func mark(
        _ row: ReplayRow,
        state: ReplayState,
        reason: ReplayReason,
        on connection: borrowing SQLiteConnection,
        ledger: ReplayLedger
    ) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE job SET state = \(state.rawValue), reason = \(reason.description), changed_at = \(ledger.now),
                owner = NULL, sent_at = NULL,
                is_head = (ordering_key IS NULL OR (is_head = 1 AND is_strict = 1 AND \(state.rawValue) <> 4))
            WHERE id = \(row.id)
            """
        )
    }

    /// Sets the head of each ordering key that has none. All keys are searched, because the key in the row of a damaged
    /// head may be wrong.
    static func updateHeads(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let keys = try connection.rows(
            """
            SELECT ordering_key FROM job
            WHERE ordering_key IS NOT NULL AND (state < 4 OR (is_strict = 1 AND state > 4))
            GROUP BY ordering_key HAVING max(is_head) = 0
            """
        ) { $0.text(0) }
        for key in keys { try updateHead(of: key, on: connection) }
    }

    /// Returns the request of a job; `nil` if it is damaged or missing. Then puts the job in review.
    static func checkedRequest(
        of row: ReplayRow,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Data? {
        let stored = try storedRequest(of: row.id, on: connection)
        if ReplayRow.digest(of: stored) == row.digest, let request = try connection.opened(request: stored, of: row.id)
        {
            return request
        }
        var damaged = row
        damaged.markDamaged()
        if !row.isMarkedDamaged {
            try save(damaged, verb: .fail, from: row.state, on: connection, ledger: &ledger)
        }
        return nil
    }

    /// Rebuilds the indexes from the rows, after an index has found a job that does not belong in it. Otherwise each
    /// search would find the same job again, and no other.
    static func reindex(
        on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        do throws(SQLiteError) { try connection.execute("REINDEX job") } catch {
            // A damaged row may violate a unique index.
            guard error.code.primary == .constraint else { throw error }
            try resolveDuplicates(on: connection, ledger: &ledger)
        }
    }

    /// Returns the error for an index that does not agree with a job's row.
    static func wrongIndex(_ id: Int64) -> SQLiteError {
        SQLiteError(.corrupt, "an index of the queue is wrong about job \(id)", path: "replay.sqlite")
    }

    // MARK: Reading all jobs

    /// Returns a page of the ids of all jobs.
    static func ids(after last: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Int64] {
        try connection.integers("SELECT id FROM job WHERE id > \(last) ORDER BY id LIMIT \(batchSize)")
    }

    /// Returns the number of jobs, and the damage of all of them.
    package static func damages(
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> (jobs: Int, findings: [ReplayFinding]) {
        var jobs = 0
        var findings: [ReplayFinding] = []
        var last = Int64.min
        while case let ids = try ids(after: last, on: connection), let end = ids.last {
            jobs += ids.count
            for id in ids {
                guard let damage = try storedRow(id, withRequest: true, on: connection)?.damage else { continue }
                findings.append(ReplayFinding(id: id, what: "job \(id): \(damage)"))
            }
            last = end
        }
        return (jobs, findings)
    }
}
