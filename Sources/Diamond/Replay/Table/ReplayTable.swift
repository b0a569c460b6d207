package import DiamondSQLite
import Foundation

/// The SQL of the queue's tables. This file reads and writes single jobs, and the heads of ordering keys.
package enum ReplayTable {
    /// The maximum number of rows in one transaction, because other processes need to write, too.
    static let batchSize: Int64 = 500

    /// Returns a row; `nil` if there is none, or it is damaged.
    static func row(_ id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> ReplayRow? {
        guard let stored = try storedRow(id, on: connection), stored.isIntact else { return nil }
        return stored.row
    }

    /// Returns the row of a job as it is on disk; `nil` if there is none.
    ///
    /// - Parameter withRequest: whether to read the request, too, in the same state of the file.
    package static func storedRow(
        _ id: Int64, withRequest: Bool = false, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> StoredRow? {
        let statement = try connection.statement(
            """
            SELECT id, identity, ordering_key, is_strict, lane, is_idempotent, key_lifetime, expires_at, attempt_limit,
                state, reason, is_head, is_held, run_at, attempts, token, owner, sent_at, unknown_at, status, may_have_acted,
                method, unique_key, digest, checksum,
                CASE WHEN \(withRequest) THEN (SELECT request FROM payload WHERE job = job.id) END AS request, creates
            FROM job WHERE id = \(id)
            """, columns: ReplayRow.Column.self
        )
        guard try statement.step() else { return nil }
        let row = ReplayRow(statement)
        let request = statement.data(ReplayRow.Column.request)
        return StoredRow(
            row: row, isIntact: row.checksum == statement.int64(ReplayRow.Column.checksum), request: request)
    }

    /// Writes the changes of a job, notes the transition, and updates the head of its ordering key.
    static func save(
        _ row: ReplayRow,
        verb: ReplayTransition.Verb,
        from old: ReplayState,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        // A job that blocks no later ones is no longer the head. `updateHead` below sets the new one.
        let isHead = row.orderingKey == nil || (row.isHead && row.isInLine)
        try connection.run(
            """
            UPDATE job SET state = \(row.state.rawValue), reason = \(row.reason.description), is_head = \(isHead),
                is_held = \(row.isHeld), run_at = \(row.runAt), attempts = \(row.attempts), token = \(row.token),
                owner = \(row.owner), sent_at = \(row.sentAt), unknown_at = \(row.unknownSince), status = \(row.status),
                changed_at = \(ledger.now), may_have_acted = \(row.serverMayHaveActed), checksum = \(row.checksum)
            WHERE id = \(row.id)
            """
        )
        ledger.note(verb, of: row, from: old)
        if let key = row.orderingKey { try updateHead(of: key, on: connection) }
        // Claims and retries tell the jobs that wait for the object nothing new.
        guard !row.creates.isEmpty, verb == .edit || old.isEnd || row.state.isEnd else { return }
        try updateReasons(ofJobsAwaiting: row.creates, on: connection, ledger: &ledger)
    }

    /// Writes the start of an attempt. This is no transition: the job runs already.
    static func saveSending(_ row: ReplayRow, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE job SET sent_at = \(row.sentAt), unknown_at = \(row.unknownSince), checksum = \(row.checksum)
            WHERE id = \(row.id)
            """
        )
    }

    // MARK: Ordering keys

    /// Sets the head of an ordering key: the running job, otherwise the first one. A new head is sent after all jobs
    /// that are ready now.
    static func updateHead(of key: String, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let head = try connection.first("SELECT id FROM job WHERE ordering_key = \(key) AND is_head = 1")
        let next = try first(of: key, on: connection)
        guard head != next else { return }
        if let head { try mark(head, isHead: false, on: connection) }
        if let next { try mark(next, isHead: true, on: connection) }
    }

    private static func first(
        of key: String,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int64? {
        let running = try connection.first("SELECT id FROM job WHERE ordering_key = \(key) AND state = 2")
        if let running { return running }
        return try connection.first(
            """
            SELECT id FROM job
            WHERE ordering_key = \(key) AND ordering_key IS NOT NULL AND (state < 4 OR (is_strict = 1 AND state > 4))
            ORDER BY id LIMIT 1
            """
        )
    }

    private static func mark(
        _ id: Int64,
        isHead: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        guard isHead else {
            return try connection.run("UPDATE job SET is_head = 0 WHERE id = \(id)")
        }
        // A damaged number must not overflow.
        try connection.run("UPDATE turn SET last = min(last, 1 << 53) + 1")
        try connection.run("UPDATE job SET is_head = 1, turn = (SELECT last FROM turn) WHERE id = \(id)")
    }

    // MARK: Holds

    /// Whether the key, the identity or the lane of a job is held.
    static func isHeld(_ row: ReplayRow, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try isHeld(key: row.orderingKey, identity: row.identity, lane: row.lane, on: connection)
    }

    static func isHeld(
        key: String?,
        identity: String?,
        lane: String,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        try connection.hasRow(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM hold WHERE kind = 'key' AND name = \(key))
                OR EXISTS (SELECT 1 FROM hold WHERE kind = 'identity' AND name = \(identity))
                OR EXISTS (SELECT 1 FROM hold WHERE kind = 'lane' AND name = \(lane))
            """
        )
    }

    // MARK: Counting

    static func countTransitions(of ledger: ReplayLedger, on connection: borrowing SQLiteConnection) throws(SQLiteError)
    {
        // A sum that overflows would fail the transaction, and every later one of the same hour.
        for (verb, count) in ledger.counts {
            try connection.run(
                """
                INSERT INTO hour (hour, verb, count) VALUES (\(ledger.now.hour), \(verb.description), \(count))
                ON CONFLICT (hour, verb) DO UPDATE SET count = min(count, 1 << 53) + excluded.count
                """
            )
        }
    }

    /// Returns the number of jobs in each state. A damaged number is limited to one that can be added without overflow.
    package static func stateCounts(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [ReplayState: Int]
    {
        let statement = try connection.statement("SELECT state, count FROM census")
        var counts: [ReplayState: Int] = [:]
        while try statement.step() {
            if let state = ReplayState(rawValue: Int(statement.int64(0))) {
                counts[state] = Int(statement.int64(1).clamped(to: 0...ReplayRow.sensible.upperBound))
            }
        }
        return counts
    }
}

extension ReplayRow {
    /// The columns that ``ReplayTable/storedRow(_:withRequest:on:)`` reads.
    enum Column: Int, SQLiteColumns {
        case id, identity, orderingKey, isStrict, lane, isIdempotent, keyLifetime, expiresAt, attemptLimit, state
        case reason, isHead, isHeld, runAt, attempts, token, owner, sentAt, unknownAt, status, mayHaveActed, method
        case uniqueKey, digest, checksum, request, creates
    }

    /// Creates a row from these columns.
    init(_ row: borrowing SQLiteStatement) {
        id = row.int64(Column.id)
        method = row.text(Column.method)
        identity = row.optionalText(Column.identity)
        orderingKey = row.optionalText(Column.orderingKey)
        isStrict = row.int64(Column.isStrict) != 0
        lane = row.text(Column.lane)
        isIdempotent = row.int64(Column.isIdempotent) != 0
        keyLifetime = row.optional(Column.keyLifetime)?.clamped(to: Self.sensible)
        expiresAt = row.optionalTime(Column.expiresAt)
        attemptLimit = Int(row.int64(Column.attemptLimit).clamped(to: Self.sensible))
        state = ReplayState(rawValue: Int(row.int64(Column.state))) ?? .held
        reason = ReplayReason(description: row.text(Column.reason))
        isHead = row.int64(Column.isHead) != 0
        isHeld = row.int64(Column.isHeld) != 0
        runAt = row.time(Column.runAt)
        attempts = Int(row.int64(Column.attempts).clamped(to: Self.sensible))
        token = row.int64(Column.token).clamped(to: Self.sensible)
        owner = row.optional(Column.owner)
        sentAt = row.optionalTime(Column.sentAt)
        unknownSince = row.optionalTime(Column.unknownAt)
        status = row.optional(Column.status).map { Int($0.clamped(to: Self.sensible)) }
        serverMayHaveActed = row.int64(Column.mayHaveActed) != 0
        uniqueKey = row.optionalData(Column.uniqueKey)
        digest = row.int64(Column.digest)
        creates = row.optionalText(Column.creates) ?? ""
    }
}
