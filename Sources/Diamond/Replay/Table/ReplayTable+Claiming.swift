import DiamondSQLite
import Foundation

/// Claiming, acknowledging, and what time does to jobs by itself.
extension ReplayTable {
    /// Of whom jobs may be claimed.
    enum Identities: Hashable, Sendable {
        case all
        /// Those who are signed in here, and what is nobody's.
        case only(Set<String>)
    }

    /// A claimed job, to be sent.
    struct Claimed: Hashable, Sendable {
        var id: Int64
        var token: Int64
        var request: Data
        var idempotencyKey: String?
    }

    /// Rows that one transaction brings along beside what it is for, so that it stays short.
    private static let slice: Int64 = 500

    /// Whether an owner may still act: its row is there, and its lease has not ended.
    static func isAlive(
        _ owner: Int64,
        at uptime: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        let statement = try connection.statement("SELECT 1 FROM owner WHERE id = ? AND lease_until > ?")
        try statement.bind(owner, at: 1)
        try statement.bind(uptime, at: 2)
        return try statement.step()
    }

    /// Takes up to `limit` jobs that may be sent now.
    static func claim(
        _ limit: Int,
        of identities: Identities,
        by owner: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> [Claimed] {
        try promote(on: connection, &ledger)
        try expire(on: connection, &ledger)
        guard try !isQueueHeld(on: connection) else { return [] }
        var claimed: [Claimed] = []
        // Again where all that was found has to be looked into.
        while claimed.isEmpty {
            let ids = try eligible(limit, of: identities, on: connection)
            guard !ids.isEmpty else { break }
            for id in ids { if let job = try take(id, by: owner, on: connection, &ledger) { claimed.append(job) } }
        }
        return claimed
    }

    /// - Returns: `nil` where nobody may send it without having looked into it.
    private static func take(
        _ id: Int64,
        by owner: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Claimed? {
        guard var row = try row(id, on: connection) else { return nil }
        let old = row.state
        guard let reason = row.reviewReason(at: ledger.now) else {
            return try run(&row, by: owner, on: connection, &ledger)
        }
        (row.state, row.reason) = (.needsReview, reason)
        try save(row, .fail, from: old, on: connection, &ledger)
        return nil
    }

    private static func run(
        _ row: inout ReplayRow,
        by owner: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Claimed {
        let old = row.state
        (row.state, row.reason, row.owner, row.sentAt) = (.running, .claimed, owner, nil)
        row.token += 1
        try save(row, .claim, from: old, on: connection, &ledger)
        return try claimed(row, on: connection)
    }

    private static func claimed(
        _ row: ReplayRow, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Claimed {
        let statement = try connection.statement(
            "SELECT request, idempotency_key FROM payload JOIN job ON job.id = payload.job WHERE payload.job = ?")
        try statement.bind(row.id, at: 1)
        let isThere = try statement.step()
        return Claimed(
            id: row.id, token: row.token, request: isThere ? statement.data(0) : Data(),
            idempotencyKey: isThere ? statement.optionalText(1) : nil)
    }

    /// A job where its owner runs it; `nil` where not.
    static func claimed(
        _ id: Int64,
        by owner: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Claimed? {
        guard let row = try row(id, on: connection), row.state == .running, row.owner == owner else { return nil }
        return try claimed(row, on: connection)
    }

    static func isQueueHeld(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.integer("SELECT EXISTS (SELECT 1 FROM hold WHERE kind = 'queue')") != 0
    }

    // SQLite takes an index over a state for better than a partial one of that state alone, reads all that are in it, and
    // sorts them. So the statements name theirs.

    /// Whether a job may be claimed, of whomever.
    static func hasReady(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.integer(
            "SELECT EXISTS (SELECT 1 FROM job INDEXED BY job_by_turn WHERE state = 0 AND is_head = 1)") != 0
    }

    static func eligible(
        _ limit: Int,
        of identities: Identities,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        guard case .only(let names) = identities else {
            let statement = try connection.statement(
                """
                SELECT id FROM job INDEXED BY job_by_turn WHERE state = 0 AND is_head = 1
                ORDER BY priority DESC, turn, id LIMIT ?
                """
            )
            try statement.bind(Int64(limit), at: 1)
            var ids: [Int64] = []
            while try statement.step() { ids.append(statement.int64(0)) }
            return ids
        }
        var found: [Place] = []
        for name in names.map(Optional.some) + [nil] { found += try places(limit, of: name, on: connection) }
        return found.sorted().prefix(limit).map(\.id)
    }

    /// In the order in which jobs are sent.
    private struct Place: Comparable {
        var priority: Int64
        var turn: Int64
        var id: Int64

        static func < (left: Place, right: Place) -> Bool {
            (-left.priority, left.turn, left.id) < (-right.priority, right.turn, right.id)
        }
    }

    private static func places(
        _ limit: Int,
        of identity: String?,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Place] {
        let statement = try connection.statement(
            """
            SELECT priority, turn, id FROM job INDEXED BY job_of_identity
            WHERE identity IS ?1 AND state = 0 AND is_head = 1 ORDER BY priority DESC, turn, id LIMIT ?2
            """
        )
        try statement.bind(identity, at: 1)
        try statement.bind(Int64(limit), at: 2)
        var found: [Place] = []
        while try statement.step() {
            found.append(Place(priority: statement.int64(0), turn: statement.int64(1), id: statement.int64(2)))
        }
        return found
    }

    // MARK: What time does

    /// Makes ready whose time has come.
    private static func promote(
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            "SELECT id FROM job INDEXED BY job_by_time WHERE state = 1 AND run_at <= ?1 ORDER BY run_at LIMIT ?2")
        for id in try due(statement, ledger.now) {
            guard var row = try row(id, on: connection) else { continue }
            let old = row.state
            (row.state, row.reason) = (.ready, .due)
            try save(row, .retry, from: old, on: connection, &ledger)
        }
    }

    private static func expire(
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            SELECT id FROM job INDEXED BY job_by_expiry
            WHERE expires_at IS NOT NULL AND state IN (0, 1, 3) AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2
            """
        )
        for id in try due(statement, ledger.now) {
            guard var row = try row(id, on: connection) else { continue }
            let old = row.state
            // What may have been processed is for a person to look at, not simply over.
            let isOpen = row.unknownAt != nil && !row.isIdempotent
            (row.state, row.reason) = (isOpen ? .needsReview : .dead, .expired)
            try save(row, .expire, from: old, on: connection, &ledger)
        }
    }

    private static func due(_ statement: borrowing SQLiteStatement, _ now: Int64) throws(SQLiteError) -> [Int64] {
        try statement.bind(now, at: 1)
        try statement.bind(slice, at: 2)
        var ids: [Int64] = []
        while try statement.step() { ids.append(statement.int64(0)) }
        return ids
    }

    /// When something happens by itself next; `nil` for never.
    static func nextTime(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int64? {
        let statement = try connection.statement(
            """
            SELECT min(time) FROM (
                SELECT min(run_at) AS time FROM job INDEXED BY job_by_time WHERE state = 1
                UNION ALL
                SELECT min(expires_at) FROM job INDEXED BY job_by_expiry
                WHERE expires_at IS NOT NULL AND state IN (0, 1, 3)
            )
            """
        )
        return try statement.step() ? statement.optional(0) : nil
    }

    // MARK: Acknowledging

    /// The job, while the one who asks has it still: its token is the last that was given, and it runs.
    static func held(
        _ id: Int64,
        token: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> ReplayRow? {
        guard let row = try row(id, on: connection), row.token == token, row.state == .running else { return nil }
        return row
    }

    /// The last look before a job is sent.
    ///
    /// - Returns: whether it may be: nobody has rescued it, and its owner's lease has not ended.
    static func begin(
        _ id: Int64,
        token: Int64,
        by owner: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        guard try isAlive(owner, at: ledger.uptime, on: connection),
            try held(id, token: token, on: connection) != nil
        else { return false }
        try markSent(id, at: ledger.now, on: connection)
        return true
    }

    /// Takes note of what came of an attempt.
    ///
    /// - Parameter unknownAt: when something of it may have been processed unseen, whatever the outcome is.
    /// - Returns: the job's new state; `nil` where somebody else has it.
    static func finish(
        _ id: Int64,
        token: Int64,
        _ outcome: ReplayOutcome,
        unknownAt: Int64? = nil,
        draw: Double,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayState? {
        guard var row = try held(id, token: token, on: connection) else { return nil }
        let startedAt = row.sentAt ?? ledger.now
        row.unknownAt = row.unknownAt ?? unknownAt
        row.take(outcome, at: ledger.now, draw: draw)
        if let failure = outcome.failure, row.reason != .returned {
            try addFailure(of: id, failure.code, failure.message, startedAt: startedAt, on: connection, ledger)
        }
        if !row.state.isEnd, let reason = row.reviewReason(at: ledger.now) {
            (row.state, row.reason) = (.needsReview, reason)
        }
        try settle(&row, on: connection, ledger)
        try save(row, row.state == .done ? .finish : .fail, from: .running, on: connection, &ledger)
        return row.state
    }

    /// What rests is held where its key, identity or lane is, and ready where its time has come.
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
            VALUES (?1, 1 + ifnull((SELECT number FROM attempt WHERE job = ?1 ORDER BY id DESC LIMIT 1), 0), ?2, ?3, ?4, ?5)
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
