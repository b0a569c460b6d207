import DiamondSQLite

/// The reports of the owner that sends a job.
extension ReplayTable {
    /// Returns the job if the caller still has it: its token is the newest, and it runs. Otherwise returns `nil`.
    static func held(
        _ id: Int64,
        token: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayRow? {
        let row = try sound(id, on: connection, &ledger)
        return row?.token == token && row?.state == .running ? row : nil
    }

    /// Checks a job for the last time before it is sent.
    ///
    /// - Parameters:
    ///   - cutOff: what has left of it before, while the same owner had it.
    ///   - isUnderWay: whether the exchange continues one that was sent, so that no hold ends it.
    ///   - sent: knows what has left that must not be sent twice; `nil` where nobody does.
    /// - Returns: whether it may be: nobody has rescued it, it is this owner's, whose lease has not ended, nothing holds
    ///   it, its time is not over, and it need not be looked at by a person first.
    static func begin(
        _ id: Int64,
        token: Int64,
        by owner: Int64,
        cutOff: ReplayRow.CutOff? = nil,
        isUnderWay: Bool = false,
        notedIn sent: SentLog? = nil,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        guard try isAlive(owner, at: ledger.uptime, on: connection),
            var row = try held(id, token: token, on: connection, &ledger)
        else { return false }
        guard row.owner == owner else {
            // Its process was away, and is another owner by now: it comes back as where the old one is buried.
            row.takeDeath(rescues: 0, isInnocent: true, at: ledger.now)
            try settle(&row, on: connection, ledger)
            try save(row, .rescue, from: .running, on: connection, &ledger)
            return false
        }
        let goesOn =
            if let cutOff { row.goOn(behind: cutOff, at: ledger.now) } else {
                isUnderWay || row.mayBegin(at: ledger.now)
            }
        guard goesOn else {
            try save(row, .fail, from: .running, on: connection, &ledger)
            return false
        }
        if !isUnderWay, try recall(&row, on: connection, &ledger) { return false }
        if let sent, row.mustNotRepeat, try !sent.note(row) {
            row.hasLeftBefore(at: ledger.now)
            try save(row, .fail, from: .running, on: connection, &ledger)
            return false
        }
        try markSent(row, at: ledger.now, behind: cutOff, on: connection)
        return true
    }

    /// It may have waited for its place on the wire for long.
    ///
    /// - Returns: whether something holds it by now, or its time is over, and so the job, as at a claim.
    private static func recall(
        _ row: inout ReplayRow,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        if let end = row.expiresAt, end <= ledger.now {
            row.expire()
            try save(row, .expire, from: .running, on: connection, &ledger)
            return true
        }
        guard try isQueueHeld(on: connection) ? true : isHeld(row, on: connection) else { return false }
        row.take(.notBegun, at: ledger.now, draw: 0)
        try settle(&row, on: connection, ledger)
        if row.state == .held { row.reason = .held }
        try save(row, row.state == .held ? .hold : .fail, from: .running, on: connection, &ledger)
        return true
    }

    /// Notes that nothing of a job is on its way, while the one who asks has it still. No transition: it runs.
    ///
    /// - Parameter sent: the log in which ``begin(_:token:by:cutOff:isUnderWay:notedIn:on:_:)`` has noted it; `nil` for none.
    static func takeBack(
        _ id: Int64,
        token: Int64,
        notedIn sent: SentLog? = nil,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        guard var row = try row(id, on: connection), row.token == token, row.state == .running else { return }
        row.sentAt = nil
        try saveSending(row, on: connection)
        if let sent, row.mustNotRepeat { try sent.takeBack(row) }
    }

    /// Takes note of what came of an attempt.
    ///
    /// - Parameters:
    ///   - answer: the answer to keep with the job; `nil` for none.
    ///   - unknownAt: when something of it may have been processed unseen, whatever the outcome is.
    /// - Returns: the job's new state, also where the last look before it was sent has ended it; `nil` where somebody else
    ///   has it.
    static func finish(
        _ id: Int64,
        token: Int64,
        _ outcome: ReplayOutcome,
        keeping answer: ReplayAnswer? = nil,
        unknownAt: Int64? = nil,
        draw: Double,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayState? {
        guard var row = try held(id, token: token, on: connection, &ledger) else {
            return try ended(id, token: token, on: connection)
        }
        let startedAt = row.sentAt ?? ledger.now
        // Told by the wall clock, which may have been set meanwhile.
        row.unknownAt = row.unknownAt ?? unknownAt.map { min(max($0, row.sentAt ?? $0), ledger.now) }
        if case .failed(.undecodable, let code, _) = outcome {
            row.wasUndecodable = try hasFailed(id, code, on: connection)
        }
        row.take(outcome, at: ledger.now, draw: draw)
        if let failure = outcome.failure, row.reason != .returned {
            try addFailure(of: id, failure.code, failure.message, startedAt: startedAt, on: connection, ledger)
        }
        try settle(&row, on: connection, ledger)
        try save(row, row.state == .done ? .finish : .fail, from: .running, on: connection, &ledger)
        if let answer, row.state.isEnd { try keep(answer, of: id, at: ledger.now, on: connection) }
        return row.state
    }

    /// The end of a job that nobody has claimed since: each claim and each rescue has a token of its own.
    private static func ended(
        _ id: Int64,
        token: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> ReplayState? {
        guard let written = try written(id, on: connection) else { return nil }
        // Of one that is damaged the token says nothing, and nobody else has it.
        guard written.isSound else { return .needsReview }
        return written.row.token == token && written.row.state.isEnd ? written.row.state : nil
    }

    /// Sets the state of a job that neither runs nor has ended. It is held if the job itself, its key, its identity or
    /// its lane is held, and ready if its time has come.
    static func settle(
        _ row: inout ReplayRow,
        on connection: borrowing SQLiteConnection,
        _ ledger: ReplayLedger
    ) throws(SQLiteError) {
        guard !row.state.isEnd, row.state != .running else { return }
        row.rest(at: ledger.now)
        guard row.state != .held, try isHeld(row, on: connection) else { return }
        row.state = .held
    }

    // MARK: Failures

    private static func hasFailed(
        _ id: Int64,
        _ code: String,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        let statement = try connection.statement("SELECT 1 FROM attempt WHERE job = ? AND code = ?")
        try statement.bind(id, at: 1)
        try statement.bind(code, at: 2)
        return try statement.step()
    }

    private static let keptFailures: Int64 = 10

    static func addFailure(
        of id: Int64,
        _ code: String,
        _ message: String,
        startedAt: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: ReplayLedger
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            INSERT INTO attempt (job, number, started_at, ended_at, code, message)
            VALUES (?1, 1 + min(ifnull((SELECT number FROM attempt WHERE job = ?1 ORDER BY id DESC LIMIT 1), 0), 1 << 53),
                ?2, ?3, ?4, ?5)
            """
        )
        try statement.bind(id, at: 1)
        try statement.bind(startedAt, at: 2)
        try statement.bind(ledger.now, at: 3)
        try statement.bind(code, at: 4)
        try statement.bind(message, at: 5)
        try statement.run()
        // Those of deaths stay for as long as they count.
        let removal = try connection.statement(
            """
            DELETE FROM attempt WHERE job = ?1 AND (code <> 'died' OR ended_at < ?3) AND id <= ifnull((
                SELECT id FROM attempt WHERE job = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2), -1)
            """
        )
        try removal.bind(id, at: 1)
        try removal.bind(keptFailures, at: 2)
        try removal.bind(ledger.now - ReplayRow.poisonWindow, at: 3)
        try removal.run()
    }
}
