import DiamondSQLite
import Foundation

/// The owners that claim jobs, and the rescue of the jobs of dead owners.
extension ReplayTable {
    /// An owner's row.
    struct Owner: Hashable, Sendable {
        enum Column: Int, SQLiteColumns { case id, name, boot, process, program, startedAt, leaseUntil, isSuspended }

        var id: Int64
        var name: String
        var boot: String
        var process: Int32
        var program: String
        /// The time of registration.
        var startedAt: QueueTime
        /// The end of the lease.
        var leaseUntil: Uptime
        /// Whether the system may end the process at any time.
        var isSuspended: Bool

        /// Whether the owner certainly belongs to another start of the machine. If either boot id is unknown, this is
        /// `false`, and only leases and locks show which owners have died.
        func isOfOtherBoot(_ boot: String) -> Bool { !self.boot.isEmpty && !boot.isEmpty && self.boot != boot }
    }

    static func addOwner(
        _ name: String,
        boot: String,
        process: Int32,
        program: String,
        lease: Int64,
        isSuspended: Bool = false,
        on connection: borrowing SQLiteConnection,
        ledger: ReplayLedger
    ) throws(SQLiteError) -> Int64 {
        // Not SQLite's next id: there is none after the largest one, which damage may have caused.
        try connection.run(
            """
            INSERT INTO owner (name, boot, process, program, started_at, lease_until, is_suspended, id)
            VALUES (\(name), \(boot), \(Int64(process)), \(program), \(ledger.now), \(ledger.uptime + lease),
                \(isSuspended), 1 + max(
                ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'owner' AND seq < 1 << 53), 0),
                ifnull((SELECT max(id) FROM owner WHERE id < 1 << 53), 0)))
            """
        )
        return connection.lastInsertedID
    }

    /// Renews the lease of an owner.
    ///
    /// - Returns: `false` if another process has declared the owner dead, or may do so.
    static func renew(
        _ owner: Int64,
        lease: Int64,
        isSuspended: Bool = false,
        on connection: borrowing SQLiteConnection,
        ledger: ReplayLedger
    ) throws(SQLiteError) -> Bool {
        // A lease that has ended is not renewed: another process may have begun to rescue the jobs.
        try connection.run(
            """
            UPDATE owner SET lease_until = \(ledger.uptime + lease), is_suspended = \(isSuspended)
            WHERE id = \(owner) AND lease_until > \(ledger.uptime)
            """
        )
        return connection.changes == 1
    }

    static func owners(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Owner] {
        try connection.rows(
            "SELECT id, name, boot, process, program, started_at, lease_until, is_suspended FROM owner ORDER BY id",
            columns: Owner.Column.self
        ) { row in
            Owner(
                id: row.int64(Owner.Column.id), name: row.text(Owner.Column.name), boot: row.text(Owner.Column.boot),
                process: Int32(truncatingIfNeeded: row.int64(Owner.Column.process)),
                program: row.text(Owner.Column.program), startedAt: row.time(Owner.Column.startedAt),
                leaseUntil: row.time(Owner.Column.leaseUntil), isSuspended: row.int64(Owner.Column.isSuspended) != 0)
        }
    }

    /// Removes an owner that is dead or shuts down, and makes its jobs ready again. The outcomes of jobs that were sent
    /// count as unknown, except those with a recorded answer.
    ///
    /// - Parameters:
    ///   - mayBeCause: whether one of its jobs may have caused its end.
    ///   - sent: the log of the sent jobs that must not be sent twice; `nil` for none.
    ///   - answers: the log of the answers whose outcomes were not written; `nil` for none.
    static func removeOwner(
        _ owner: Int64,
        jobsMayBeCause mayBeCause: Bool,
        log sent: SentLog? = nil,
        answers: AnswerLog? = nil,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        for id in try jobs(of: owner, on: connection) {
            guard var row = try checkedRow(id, on: connection, ledger: &ledger), row.state == .running else { continue }
            if let answers, try endIfAnswered(&row, in: answers, on: connection, ledger: &ledger) { continue }
            if row.sentAt == nil, row.mustNotRepeat, sent?.wasSent(row) == true { row.sentAt = ledger.now }
            if let sentAt = row.sentAt, mayBeCause {
                let message = "its sender died, or was suspended for longer than its lease"
                let failure = ReplayDraft.History.Failure(startedAt: sentAt, code: "died", message: message)
                try add(failure, of: id, on: connection, ledger: ledger)
            }
            row.applyOwnerDeath(
                rescues: try deaths(of: id, since: ledger.now - ReplayRow.poisonWindow, on: connection),
                mayBeCause: mayBeCause, at: ledger.now)
            try updateState(of: &row, on: connection, ledger: ledger)
            try save(row, verb: .rescue, from: .running, on: connection, ledger: &ledger)
        }
        try connection.run("DELETE FROM owner WHERE id = \(owner)")
    }

    /// Ends a job whose answer is in the log, because its outcome was not written.
    ///
    /// - Returns: `false` if the log has no answer, or not the content of an answer that is needed.
    private static func endIfAnswered(
        _ row: inout ReplayRow,
        in answers: AnswerLog,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        guard let status = answers.status(of: row) else { return false }
        // A server that repeats the request by its key repeats the answer, too.
        let isStored = try answer(of: row.id, on: connection) != nil
        let isNeeded = isStored || !row.creates.isEmpty
        let logged = isNeeded ? try loggedAnswer(to: row, status, in: answers, on: connection) : nil
        guard !isStored || logged != nil else { return false }
        try end(&row, answered: status, storing: logged, on: connection, ledger: &ledger)
        return true
    }

    private static func loggedAnswer(
        to row: ReplayRow, _ status: Int, in answers: AnswerLog, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> ReplayAnswer? {
        guard let content = answers.content(of: row, status: status) else { return nil }
        return try connection.answer(logged: content, status: status, of: row.id)
    }

    /// Ends a job whose server has answered, although its owner could not write the outcome.
    ///
    /// - Parameter answer: the answer to store with the job; `nil` for none.
    private static func end(
        _ row: inout ReplayRow,
        answered status: Int,
        storing answer: ReplayAnswer?,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        row.renewToken()
        let report = ReplayReport(.answered(status: status, isTransient: false), draw: 1)
        let failure = row.finish(report, at: ledger.now) { _ in false }
        if let failure { try add(failure, of: row.id, on: connection, ledger: ledger) }
        try updateState(of: &row, on: connection, ledger: ledger)
        try save(row, verb: row.state == .done ? .finish : .fail, from: .running, on: connection, ledger: &ledger)
        try keep(answer, of: row, on: connection, ledger: &ledger)
    }

    /// Returns the jobs that are being sent.
    static func running(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Int64] {
        try connection.integers("SELECT id FROM job WHERE state = 2")
    }

    private static func jobs(of owner: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Int64]
    {
        try connection.integers("SELECT id FROM job WHERE owner = \(owner) ORDER BY id")
    }

    private static func deaths(
        of id: Int64,
        since time: QueueTime,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int {
        try connection.count(
            "SELECT count(*) FROM attempt WHERE job = \(id) AND code = 'died' AND ended_at >= \(time)")
    }
}
