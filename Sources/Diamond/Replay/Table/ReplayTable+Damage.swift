package import DiamondSQLite
import Foundation

/// Jobs whose rows or requests are not what was written. None of them is sent, or written as if it were sound.
extension ReplayTable {
    /// A job's row as it stands in the file.
    package struct WrittenRow {
        var row: ReplayRow
        /// Whether it is what was written.
        var isSound: Bool
        /// Its request, where that was asked for; empty where it is missing.
        var request = Data()

        /// The damage of the job, where its request was asked for; `nil` for a sound job and one that is given up. A missing
        /// request is another case.
        package var damage: String? {
            guard isSound else { return row.isGivenUp ? nil : "its row's checksum is wrong" }
            guard row.state != .done else { return nil }
            return request.isEmpty || ReplayRow.digest(of: request) == row.digest
                ? nil : "its request's checksum is wrong"
        }
    }

    /// The row of a job; `nil` where there is none. One that is damaged is for review from now on.
    static func sound(
        _ id: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayRow? {
        guard let written = try written(id, on: connection) else { return nil }
        guard !written.isSound else { return written.row }
        try setAside(written.row, on: connection, &ledger)
        return nil
    }

    /// Puts a damaged row in review, its bytes and its sum as they are: it stays damaged, whatever is done to it.
    private static func setAside(
        _ row: ReplayRow,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard !row.isSetAside else { return }
        // SQLite refuses to change a row that its indexes have with other values.
        try reindex(on: connection, &ledger)
        // That may have put it in review already.
        guard try written(row.id, on: connection)?.row.isSetAside == false else { return }
        try putInReview(row, on: connection, &ledger)
        try settleLines(on: connection)
    }

    static func putInReview(
        _ row: ReplayRow, on connection: borrowing SQLiteConnection, _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        try mark(row, .needsReview, .damaged, on: connection, ledger)
        ledger.note(.fail, row.id, from: row.state, to: .needsReview, .damaged)
    }

    /// Gives a damaged job up.
    ///
    /// - Returns: whether it was not given up before.
    static func discardDamaged(
        _ row: ReplayRow,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        guard !row.isGivenUp else { return false }
        try reindex(on: connection, &ledger)
        try mark(row, .done, .discarded, on: connection, ledger)
        try settleLines(on: connection)
        ledger.note(.discard, row.id, from: row.state, to: .done, .discarded)
        return true
    }

    private static func mark(
        _ row: ReplayRow,
        _ state: ReplayState,
        _ reason: ReplayReason,
        on connection: borrowing SQLiteConnection,
        _ ledger: ReplayLedger
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            UPDATE job SET state = ?2, reason = ?3, changed_at = ?4, owner = NULL, sent_at = NULL,
                is_head = (ordering_key IS NULL OR (is_head = 1 AND is_strict = 1 AND ?2 <> 4))
            WHERE id = ?1
            """
        )
        try statement.bind(row.id, at: 1)
        try statement.bind(Int64(state.rawValue), at: 2)
        try statement.bind(reason.description, at: 3)
        try statement.bind(ledger.now, at: 4)
        try statement.run()
    }

    /// Makes a job the head of each line that has none: which one a damaged job was the head of its row need not tell.
    static func settleLines(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            SELECT ordering_key FROM job
            WHERE ordering_key IS NOT NULL AND (state < 4 OR (is_strict = 1 AND state > 4))
            GROUP BY ordering_key HAVING max(is_head) = 0
            """
        )
        var keys: [String] = []
        while try statement.step() { keys.append(statement.text(0)) }
        for key in keys { try settleLine(key, on: connection) }
    }

    /// The request of a job as it was written; `nil` where it is damaged, or missing. Then the job is for review.
    static func soundRequest(
        of row: ReplayRow,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Data? {
        let request = try request(of: row.id, on: connection)
        guard ReplayRow.digest(of: request) != row.digest else { return request }
        var damaged = row
        damaged.setAside()
        if !row.isSetAside {
            try save(damaged, .fail, from: row.state, on: connection, &ledger)
        }
        return nil
    }

    /// Makes the indexes anew from the rows, where one names a job that is not what the index says: it would be found for
    /// ever, and nothing else.
    static func reindex(
        on connection: borrowing SQLiteConnection, _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        do throws(SQLiteError) { try connection.execute("REINDEX job") } catch {
            // What a damaged row says may be what another one says that must be the only one.
            guard error.code.primary == .constraint else { throw error }
            try separate(on: connection, &ledger)
        }
    }

    /// Damage of which no row tells: an index names a job that is not what it says.
    static func wrongIndex(_ id: Int64) -> SQLiteError {
        SQLiteError(.corrupt, "an index of the queue is wrong about job \(id)", path: "replay.sqlite")
    }

    // MARK: Looking

    /// Ids of jobs, a page of them.
    package static func ids(after last: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Int64]
    {
        let statement = try connection.statement("SELECT id FROM job WHERE id > ? ORDER BY id LIMIT ?")
        try statement.bind(last, at: 1)
        try statement.bind(slice, at: 2)
        return try ids(in: statement)
    }
}
