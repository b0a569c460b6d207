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
        let statement = try connection.statement(
            """
            SELECT id FROM job
            WHERE unique_key = ? AND unique_key IS NOT NULL AND (unique_states >> state) & 1
            """
        )
        try statement.bind(connection.stored(uniqueKey: key), at: 1)
        return try statement.step() ? statement.int64(0) : nil
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
    ) throws(SQLiteError) -> Addition? {
        if draft.policy.uniqueness == .keep { return .kept(other.id) }
        // A request that may have been sent is not changed: the server would take the change for a repetition.
        guard other.state != .running, !other.mayBeKnown, draft.history.unknownAt == nil else { return nil }
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
    ) throws(SQLiteError) -> Addition? {
        guard draft.mayReplace(other, on: connection) else {
            let reason = "job \(other.id) with its unique name has another ordering key, order or lane"
            return .refused(ReplayError(.cannotMerge, "\(reason): use the same for both, or two unique names"))
        }
        // A damaged job is in review now, and no longer has its name.
        guard let old = try checkedRequest(of: other, on: connection, ledger: &ledger) else { return nil }
        switch Result(catching: { () throws(ReplayError) in
            try draft.merged(into: ReplayDraft.request(from: old), rules: rules)
        }) {
        case .success(.one(let merged)):
            if let refusal = try refusal(of: merged, on: connection) { return .refused(refusal) }
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
        let statement = try connection.statement("UPDATE job SET unique_states = 15 WHERE id = ?")
        try statement.bind(id, at: 1)
        try statement.run()
    }

    /// Takes the unique name from a job, so that another one can have it.
    static func releaseName(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement("UPDATE job SET unique_states = 0 WHERE id = ?")
        try statement.bind(id, at: 1)
        try statement.run()
    }

    /// Discards a job that was not sent, and has been replaced.
    private static func discard(
        _ row: ReplayRow,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        var new = row
        new.state = .done
        new.reason = .replaced
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
        let statement = try connection.statement(
            """
            UPDATE job SET method = ?2, url = ?3, host = ?4, tags = ?5, metadata = ?6, is_idempotent = ?7,
                idempotency_key = ?8, key_lifetime = ?9, kind = ?10, expires_at = ?11, attempt_limit = ?12, priority = ?13,
                digest = ?14, details = ?15, creates = ?16
            WHERE id = ?1
            """
        )
        let stored = try StoredDetails(
            ReplayDetails(draft), uniqueKey: draft.uniqueKey, request: draft.request, of: row.id, on: connection)
        try statement.bind(row.id, at: 1)
        try bindRequest(draft, stored, to: statement)
        // The expiry and the attempts start again.
        try statement.bind(draft.expiry(at: ledger.now)?.clamped(to: ReplayRow.sensible), at: 11)
        try statement.bind(Int64(draft.policy.attempts).clamped(to: ReplayRow.sensible), at: 12)
        try statement.bind(Int64(draft.policy.priority), at: 13)
        try statement.bind(ReplayRow.digest(of: stored.request), at: 14)
        try statement.bind(stored.sealed, at: 15)
        // A creation that an earlier version has added is known by its row only.
        let isKnown = draft.policy.creates == nil && draft.method.isExactly(row.method)
        try statement.bind(isKnown ? row.creates : connection.stored(draft.policy.creates), at: 16)
        try statement.run()
        let payload = try connection.statement("UPDATE payload SET request = ?, call = ? WHERE job = ?")
        try payload.bind(stored.request, at: 1)
        try payload.bind(stored.columns.call, at: 2)
        try payload.bind(row.id, at: 3)
        try payload.run()
        if draft.policy.storesAnswer { try expectAnswer(of: row.id, on: connection) }
        // Read again, with the new values.
        guard var new = try storedRow(row.id, on: connection)?.row else { return }
        new.attempts = 0
        let awaited = new.awaitsIDs
        if !draft.policy.awaits.isEmpty {
            // A job that is held continues to be held when the ids are known.
            if !new.isHeld { new.reason = .awaitingID }
            new.isHeld = true
        } else if awaited {
            new.isHeld = false
        }
        // A job that waits for its identity to sign in continues to wait.
        if !new.isHeld { new.reason = .replaced }
        if draft.policy.uniqueness != .preserveSchedule {
            new.runAt = (draft.runAt ?? ledger.now).clamped(to: ReplayRow.sensible)
        }
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
