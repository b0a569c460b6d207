import DiamondSQLite
import Foundation

/// The reports of the owner that sends a job.
extension ReplayTable {
    /// Returns a running job if the caller still has it, which means that its token is the newest; `nil` otherwise.
    static func runningRow(
        _ id: Int64,
        token: Int64,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayRow? {
        let row = try checkedRow(id, on: connection, ledger: &ledger)
        return row?.token == token && row?.state == .running ? row : nil
    }

    /// Checks a job for the last time before it is sent, and notes that its attempt begins.
    ///
    /// - Parameter sent: the log of the sent jobs that must not be sent twice; `nil` for none.
    /// - Returns: whether the job may be sent.
    static func begin(
        _ id: Int64,
        token: Int64,
        by owner: Int64,
        _ start: ReplayStart = ReplayStart(),
        log sent: SentLog? = nil,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        guard try isAlive(owner, at: ledger.uptime, on: connection),
            var row = try runningRow(id, token: token, on: connection, ledger: &ledger)
        else { return false }
        var verb = row.refuseBegin(start, by: owner, at: ledger.now)
        if verb == nil, !start.isUnderWay, try isQueueHeld(on: connection) ? true : isHeld(row, on: connection) {
            row.giveBack(at: ledger.now)
            verb = .fail
        }
        if verb == nil, let sent, row.mustNotRepeat, try !sent.note(row) {
            row.endAsSentBefore(at: ledger.now)
            verb = .fail
        }
        guard let verb else {
            row.begin(start, at: ledger.now)
            try saveSending(row, on: connection)
            return true
        }
        let transition = try row.updateState(after: verb, at: ledger.now) { (row) throws(SQLiteError) in
            try isHeld(row, on: connection)
        }
        try save(row, verb: transition, from: .running, on: connection, ledger: &ledger)
        return false
    }

    /// Notes that the sent exchanges of a running job were certainly not processed, if the caller still has the job.
    /// This is no transition: the job continues to run.
    ///
    /// - Parameter sent: the log of the sent jobs that must not be sent twice; `nil` for none.
    static func markUnsent(
        _ id: Int64,
        token: Int64,
        log sent: SentLog? = nil,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        guard var row = try row(id, on: connection), row.token == token, row.state == .running else { return }
        row.sentAt = nil
        try saveSending(row, on: connection)
        if let sent, row.mustNotRepeat { try sent.revoke(row) }
    }

    /// Writes the outcome of an attempt.
    ///
    /// - Returns: the job's new state, even if the last check before the job was sent has ended it; `nil` if another
    ///   owner has the job.
    static func finish(
        _ id: Int64,
        token: Int64,
        _ report: ReplayReport,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayState? {
        guard var row = try runningRow(id, token: token, on: connection, ledger: &ledger) else {
            return try endState(id, token: token, on: connection)
        }
        let failure = try row.finish(report, at: ledger.now) { (code) throws(SQLiteError) in
            try hasFailed(id, code: code, on: connection)
        }
        if let failure { try add(failure, of: id, on: connection, ledger: ledger) }
        try updateState(of: &row, on: connection, ledger: ledger)
        try save(row, verb: row.state == .done ? .finish : .fail, from: .running, on: connection, ledger: &ledger)
        try keep(report.answer, of: row, on: connection, ledger: &ledger)
        return row.state
    }

    /// Stores the answer to a job that has ended, and puts the id in it into the requests that wait for it.
    static func keep(
        _ answer: ReplayAnswer?, of row: ReplayRow, on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard let answer, row.state.isEnd else { return }
        try store(answer, of: row.id, at: ledger.now, on: connection)
        if row.state == .done, !row.creates.isEmpty {
            try assignID(in: answer, of: row, on: connection, ledger: &ledger)
        }
    }

    /// Returns the state of a job that has ended, if its token is still the newest, so that no other owner has claimed
    /// or rescued it; `nil` otherwise.
    private static func endState(
        _ id: Int64,
        token: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> ReplayState? {
        guard let stored = try storedRow(id, on: connection) else { return nil }
        // The token of a damaged row is meaningless, and no other owner can claim it.
        guard stored.isIntact else { return .needsReview }
        return stored.row.token == token && stored.row.state.isEnd ? stored.row.state : nil
    }

    /// Sets the state of a job that neither runs nor has ended. It is held if the job itself, its key, its identity or
    /// its lane is held, and ready if its time has come.
    static func updateState(
        of row: inout ReplayRow,
        on connection: borrowing SQLiteConnection,
        ledger: ReplayLedger
    ) throws(SQLiteError) {
        try row.updateState(at: ledger.now) { (row) throws(SQLiteError) in try isHeld(row, on: connection) }
    }

    // MARK: Failures

    private static func hasFailed(
        _ id: Int64,
        code: String,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        try connection.hasRow("SELECT 1 FROM attempt WHERE job = \(id) AND code = \(code)")
    }

    private static let storedFailures: Int64 = 10

    /// Adds a failed attempt to a job's history, and deletes the oldest beyond 10.
    static func add(
        _ failure: ReplayDraft.History.Failure,
        of id: Int64,
        on connection: borrowing SQLiteConnection,
        ledger: ReplayLedger
    ) throws(SQLiteError) {
        let (code, message) = (failure.code, failure.message)
        let sealed = try connection.sealing?.sealed(Data(message.utf8), .failure, of: "\(id) \(code)")
        try connection.run(
            """
            INSERT INTO attempt (job, number, started_at, ended_at, code, message, details)
            VALUES (\(id),
                1 + min(ifnull((SELECT number FROM attempt WHERE job = \(id) ORDER BY id DESC LIMIT 1), 0), 1 << 53),
                \(failure.startedAt), \(ledger.now), \(code), \(sealed == nil ? message : ""), \(sealed))
            """
        )
        try connection.run("UPDATE job SET failure = \(code) WHERE id = \(id) AND failure IS NOT \(code)")
        // Deaths of owners stay as long as they count.
        try connection.run(
            """
            DELETE FROM attempt
            WHERE job = \(id) AND (code <> 'died' OR ended_at < \(ledger.now - ReplayRow.poisonWindow))
                AND id <= ifnull((
                    SELECT id FROM attempt WHERE job = \(id) ORDER BY id DESC LIMIT 1 OFFSET \(storedFailures)), -1)
            """
        )
    }
}
