import DiamondSQLite
import Foundation

/// Jobs that have the same unique name.
extension ReplayTable {
    /// Returns the job that has a unique name now; `nil` if there is none, or it is damaged.
    static func job(
        named key: Data,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayRow? {
        guard let id = try jobID(named: key, on: connection),
            let row = try checkedRow(id, on: connection, ledger: &ledger)
        else {
            return nil
        }
        // A job with another name must not be replaced.
        guard row.uniqueKey == connection.stored(uniqueKey: key) else { throw wrongIndex(id) }
        return row
    }

    /// Returns the id of the job that has a unique name now; `nil` for none.
    static func jobID(named key: Data, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int64? {
        try connection.first(
            """
            SELECT id FROM job
            WHERE unique_key = \(connection.stored(uniqueKey: key)) AND unique_key IS NOT NULL
                AND (unique_states >> state) & 1
            """
        )
    }

    /// Applies the uniqueness policy of a draft to the job that has its unique name.
    ///
    /// - Returns: the result; `nil` if the draft is to be added as another job.
    static func applyUniqueness(
        of draft: ReplayDraft,
        to other: ReplayRow,
        rules: KeyRules,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayAddition? {
        if draft.policy.uniqueness == .keep { return .kept(other.id) }
        // A request that may have been sent is not changed: the server would take the change for a repetition.
        guard other.state != .running, !other.mayBeKnown, draft.history.unknownSince == nil else { return nil }
        guard draft.policy.uniqueness == .merge else {
            guard draft.mayReplace(other, on: connection) else {
                try discard(other, on: connection, ledger: &ledger)
                return nil
            }
            try replace(other, by: draft, on: connection, ledger: &ledger)
            try apply(draft.history, to: other.id, on: connection, ledger: &ledger)
            return .replaced(other.id)
        }
        return try merge(draft, into: other, rules: rules, on: connection, ledger: &ledger)
    }

    private static func merge(
        _ draft: ReplayDraft,
        into other: ReplayRow,
        rules: KeyRules,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayAddition? {
        guard draft.mayReplace(other, on: connection) else { return .refused(.cannotMerge(into: other.id)) }
        // A damaged job is in review now, and no longer has its name.
        guard let old = try checkedRequest(of: other, on: connection, ledger: &ledger) else { return nil }
        switch Result(catching: { () throws(ReplayError) in
            try draft.merged(into: ReplayDraft.request(from: old), rules: rules)
        }) {
        case .success(.one(let merged)):
            if let refusal = try refusal(of: merged, at: ledger.moment, on: connection) { return .refused(refusal) }
            try replace(other, by: merged, on: connection, ledger: &ledger)
            return .replaced(other.id)
        case .success(.none):
            // The object will never have an id.
            if !other.creates.isEmpty, case .string(let localID)? = draft.policy.metadata["localID"] {
                try discardJobs(awaiting: localID, on: connection, ledger: &ledger)
            }
            try discard(other, on: connection, ledger: &ledger)
            return .merged
        case .failure(let error): return .refused(error)
        }
    }

    /// Gives a job its unique name again, for the states 0 to 3 (the open ones). No other job may have it.
    static func claimName(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run("UPDATE job SET unique_states = 15 WHERE id = \(id)")
    }

    /// Takes the unique name from a job, so that another one can have it.
    static func releaseName(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run("UPDATE job SET unique_states = 0 WHERE id = \(id)")
    }

    /// Discards a job that was not sent, and has been replaced.
    private static func discard(
        _ row: ReplayRow,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        var new = row
        new.enter(.done, reason: .replaced)
        try deleteAnswer(of: row.id, on: connection)
        try save(new, verb: .discard, from: row.state, on: connection, ledger: &ledger)
    }

    /// Replaces the request of a job that was not sent.
    static func replace(
        _ row: ReplayRow,
        by draft: ReplayDraft,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let stored = try StoredDetails(
            ReplayDetails(draft), uniqueKey: draft.uniqueKey, request: draft.request, of: row.id, on: connection)
        let columns = stored.columns
        var new = row
        new.replace(by: draft, at: ledger.now)
        new.digest = ReplayRow.digest(of: stored.request)
        if let creation = draft.policy.creates { new.creates = connection.stored(creation) }
        try connection.run(
            """
            UPDATE job SET method = \(draft.method), url = \(columns.url), host = \(columns.host),
                tags = \(columns.tags), metadata = \(columns.metadata), is_idempotent = \(draft.isIdempotent),
                idempotency_key = \(columns.idempotencyKey), key_lifetime = \(draft.keyLifetime),
                kind = \(columns.kind), expires_at = \(new.expiresAt), attempt_limit = \(new.attemptLimit),
                priority = \(draft.policy.priority), digest = \(new.digest),
                details = \(stored.sealed), creates = \(new.creates)
            WHERE id = \(row.id)
            """
        )
        try connection.run(
            "UPDATE payload SET request = \(stored.request), call = \(columns.call) WHERE job = \(row.id)")
        if draft.policy.storesAnswer { try expectAnswer(of: row.id, on: connection) }
        try updateState(of: &new, on: connection, ledger: ledger)
        try save(new, verb: .edit, from: row.state, on: connection, ledger: &ledger)
        if row.isHeld || !draft.policy.awaits.isEmpty {
            try link(draft.policy, to: row.id, on: connection, ledger: &ledger)
        }
    }
}

extension ReplayDraft {
    /// Whether the draft may replace the request of a job: both have the same ordering key, order and lane.
    fileprivate func mayReplace(_ row: ReplayRow, on connection: borrowing SQLiteConnection) -> Bool {
        connection.stored(orderingKey: policy.orderingKey).isExactly(row.orderingKey)
            && (policy.order == .strict) == row.isStrict && lane.isExactly(row.lane)
    }
}
