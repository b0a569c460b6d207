import DiamondSQLite
import Foundation

/// Adding jobs.
extension ReplayTable {
    /// Adds a draft as a job, or applies its uniqueness policy to a waiting job.
    ///
    /// - Parameters:
    ///   - id: the reserved id of the job; `nil` for the next one.
    ///   - limit: the maximum number of open jobs.
    ///   - owner: the owner that sends the job at once; `nil` if the job waits for a claim.
    static func add(
        _ draft: ReplayDraft,
        as id: Int64? = nil,
        limit: Int,
        owner: Int64? = nil,
        rules: KeyRules = KeyRules(),
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayAddition {
        if let refusal = try refusal(of: draft, at: ledger.moment, on: connection) { return .refused(refusal) }
        var other: ReplayRow?
        if let key = draft.uniqueKey { other = try openJob(named: key, on: connection, ledger: &ledger) }
        if let other,
            let addition = try applyUniqueness(of: draft, to: other, rules: rules, on: connection, ledger: &ledger)
        {
            return addition
        }
        let open = try openCount(limit: limit, on: connection)
        guard open < limit else { return .refused(.queueFull(Int(open))) }
        // The new job takes over the name.
        if let other { try releaseName(of: other.id, on: connection) }
        return .added(try insert(draft, as: id, owner: owner, on: connection, ledger: &ledger))
    }

    /// Returns the number of open jobs. If the recorded number reaches the limit, the jobs are counted, and the record
    /// is corrected.
    private static func openCount(limit: Int, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int64 {
        let recorded = try connection.integer(
            "SELECT sum(max(0, min(count, 1 << 53))) FROM census WHERE state < 4")
        guard recorded >= limit else { return recorded }
        let count = try connection.integer("SELECT count(*) FROM job WHERE state < 4")
        guard count != recorded else { return count }
        try connection.run("UPDATE census SET count = (SELECT count(*) FROM job WHERE job.state = census.state)")
        return count
    }

    /// Returns the job that has a unique name and may still be sent. A job that has expired ends here, if no claim has
    /// ended it yet.
    private static func openJob(
        named key: Data,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayRow? {
        guard var row = try job(named: key, on: connection, ledger: &ledger) else { return nil }
        guard row.isExpired(at: ledger.now) else { return row }
        let old = row.state
        row.expire()
        try save(row, verb: .expire, from: old, on: connection, ledger: &ledger)
        return nil
    }

    // MARK: Rows

    static func text(_ value: JSONValue) -> String {
        // Only a number that is not finite has no JSON text. JSON cannot contain one, but Swift code can create one.
        (try? value.written()).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }

    /// Returns the stored bytes of a job's request, which may be sealed; none if they are missing.
    static func storedRequest(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Data {
        try connection.first("SELECT request FROM payload WHERE job = \(id)") { $0.data(0) } ?? Data()
    }

    private static func insert(
        _ draft: ReplayDraft,
        as reserved: Int64?,
        owner: Int64?,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Int64 {
        let id = if let reserved { reserved } else { try nextID(on: connection) }
        let stored = try StoredDetails(
            ReplayDetails(draft), uniqueKey: draft.uniqueKey, request: draft.request, of: id, on: connection)
        let (key, identity) = (stored.columns.orderingKey, stored.columns.identity)
        let isHead = if let key { try !hasHead(key, on: connection) } else { true }
        let isHeld = try isHeld(key: key, identity: identity, lane: draft.lane, on: connection)
        var row = ReplayRow(draft, id: id, isHead: isHead, isCovered: isHeld, at: ledger.now)
        row.identity = identity
        row.orderingKey = key
        row.uniqueKey = stored.uniqueKey
        row.digest = ReplayRow.digest(of: stored.request)
        row.creates = connection.stored(draft.policy.creates)
        if let owner, isHead, row.state == .ready, try !isQueueHeld(on: connection) { row.claim(by: owner) }
        let columns = stored.columns
        try connection.run(
            """
            INSERT INTO job (id, state, reason, method, url, host,
                tags, metadata, is_idempotent, idempotency_key,
                key_lifetime, kind, identity, ordering_key, is_strict, is_head,
                priority, turn, run_at, expires_at,
                enqueued_at, changed_at, attempt_limit, token, owner,
                unknown_at, unique_key, lane, is_held, digest,
                checksum, details, creates)
            VALUES (\(id), \(row.state.rawValue), \(row.reason.description), \(draft.method), \(columns.url),
                \(columns.host), \(columns.tags), \(columns.metadata), \(draft.isIdempotent), \(columns.idempotencyKey),
                \(draft.keyLifetime), \(columns.kind), \(identity), \(key), \(row.isStrict), \(isHead),
                \(draft.policy.priority), (SELECT last FROM turn), \(row.runAt), \(row.expiresAt),
                \(ledger.now), \(ledger.now), \(row.attemptLimit), \(row.token), \(row.owner),
                \(row.unknownSince), \(row.uniqueKey), \(draft.lane), \(row.isHeld), \(row.digest),
                \(row.checksum), \(stored.sealed), \(row.creates))
            """
        )
        try connection.run(
            "INSERT INTO payload (job, request, call) VALUES (\(id), \(stored.request), \(columns.call))")
        if draft.policy.storesAnswer { try expectAnswer(of: id, on: connection) }
        ledger.note(.enqueue, of: row, from: nil)
        try apply(draft.history, to: id, on: connection, ledger: &ledger)
        if !draft.policy.awaits.isEmpty { try link(draft.policy, to: id, on: connection, ledger: &ledger) }
        // Jobs may wait for the object since an earlier job failed to create it.
        if !row.creates.isEmpty { try updateReasons(ofJobsAwaiting: row.creates, on: connection, ledger: &ledger) }
        return id
    }

    /// Returns the next id. No id is used twice, even if the newest jobs were deleted.
    private static func nextID(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int64 {
        let last = try connection.integer(
            """
            SELECT max(ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'job'), 0),
                ifnull((SELECT max(id) FROM job), 0))
            """
        )
        guard last < .max else { throw wrongIndex(last) }
        return last + 1
    }

    /// Returns the first of `count` ids that no other job will have.
    static func reserveIDs(_ count: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int64 {
        let id = try nextID(on: connection)
        try connection.run("DELETE FROM sqlite_sequence WHERE name = 'job'")
        try connection.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('job', \(id - 1 + max(0, count)))")
        return id
    }

    /// Whether a job with the draft's ordering key or unique name has to be sent before it.
    static func isPreceded(_ draft: ReplayDraft, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool
    {
        if let key = connection.stored(orderingKey: draft.policy.orderingKey), try hasHead(key, on: connection) {
            return true
        }
        guard let key = draft.uniqueKey else { return false }
        return try jobID(named: key, on: connection) != nil
    }

    private static func hasHead(_ key: String, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.hasRow("SELECT 1 FROM job WHERE ordering_key = \(key) AND is_head = 1")
    }

    /// Applies the attempts made before the job was added. They count like the job's own.
    static func apply(
        _ history: ReplayDraft.History,
        to id: Int64,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        for failure in history.failures { try add(failure, of: id, on: connection, ledger: ledger) }
        guard let outcome = history.outcome, var row = try checkedRow(id, on: connection, ledger: &ledger) else {
            return
        }
        let old = row.state
        row.apply(outcome, at: ledger.now, draw: history.draw)
        try updateState(of: &row, on: connection, ledger: ledger)
        try save(row, verb: .fail, from: old, on: connection, ledger: &ledger)
    }
}

extension ReplayDraft {
    /// The lifetime of the idempotency key, in milliseconds; `nil` if no key is sent.
    var keyLifetime: Int64? {
        idempotencyKey == nil ? nil : policy.keyLifetime?.milliseconds
    }

    /// Returns the reason why a person has to decide before the request is sent again; `nil` if it may be sent
    /// (``ReplayRow/reviewReason(at:)``).
    func reviewReason(of unknownSince: QueueTime, at now: QueueTime) -> ReplayReason? {
        isIdempotent ? nil : ReplayRow.reviewReason(of: unknownSince, keyLifetime: keyLifetime, at: now)
    }

    /// Returns the reason why a request that may have been processed must not be sent again; `nil` if it may.
    func refusal(after earlier: ReplayRow.EarlierExchange, at now: QueueTime) -> ReplayOutcome? {
        earlier.refusal(reviewReason(of: earlier.sentAt, at: now)).map { reason in
            let message = "it may have been processed before, and sending it again could do harm"
            return .failed(.unknown, code: reason.description, message: message)
        }
    }
}
