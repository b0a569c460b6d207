import DiamondSQLite
import Foundation

/// Jobs that have the same unique name.
extension ReplayTable {
    /// Returns the job that has a unique name now; `nil` if there is none, or it is damaged.
    static func open(
        _ key: Data,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayRow? {
        guard let id = try named(key, on: connection), let row = try sound(id, on: connection, &ledger) else {
            return nil
        }
        // Nothing is put in the place of a job of another name.
        guard row.uniqueKey == key else { throw wrongIndex(id) }
        return row
    }

    static func named(_ key: Data, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int64? {
        let statement = try connection.statement(
            """
            SELECT id FROM job
            WHERE unique_key = ? AND unique_key IS NOT NULL AND (unique_states >> state) & 1
            """
        )
        try statement.bind(key, at: 1)
        return try statement.step() ? statement.int64(0) : nil
    }

    /// - Returns: `nil` where the draft is to be added beside the other.
    static func settle(
        _ draft: ReplayDraft,
        with other: ReplayRow,
        _ rules: KeyRules,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Addition? {
        if draft.policy.uniqueness == .keep { return .kept(other.id) }
        // Of what may have been sent nothing is changed: the server would take the change for a repetition.
        guard other.state != .running, !other.mayBeKnown, draft.history.unknownAt == nil else { return nil }
        guard draft.policy.uniqueness == .merge else {
            guard draft.isInLine(of: other) else {
                try discard(other, on: connection, &ledger)
                return nil
            }
            try replace(other, by: draft, on: connection, &ledger)
            try takeOver(draft.history, of: other.id, on: connection, &ledger)
            return .replaced(other.id)
        }
        return try merge(draft, into: other, rules, on: connection, &ledger)
    }

    private static func merge(
        _ draft: ReplayDraft,
        into other: ReplayRow,
        _ rules: KeyRules,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Addition? {
        guard draft.isInLine(of: other) else {
            let reason = "job \(other.id) of its unique name is in another line or lane, and cannot take it in"
            return .refused(ReplayError(.cannotMerge, "\(reason): give both one, or two names"))
        }
        // One that is damaged is for review, and has its name no more.
        guard let old = try soundRequest(of: other, on: connection, &ledger) else { return nil }
        switch Result(catching: { () throws(ReplayError) in
            try draft.merged(into: ReplayDraft.request(from: old), rules: rules)
        }) {
        case .success(.one(let merged)):
            try replace(other, by: merged, on: connection, &ledger)
            return .replaced(other.id)
        case .success(.none):
            try discard(other, on: connection, &ledger)
            return .merged
        case .failure(let error): return .refused(error)
        }
    }

    /// Has its unique name again, in the states that count for it, where nobody else has it.
    static func takeName(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement("UPDATE job SET unique_states = 15 WHERE id = ?")
        try statement.bind(id, at: 1)
        try statement.run()
    }

    static func freeName(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement("UPDATE job SET unique_states = 0 WHERE id = ?")
        try statement.bind(id, at: 1)
        try statement.run()
    }

    /// Nothing of it was sent, and nothing has to be.
    private static func discard(
        _ row: ReplayRow,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        var new = row
        (new.state, new.reason) = (.done, .replaced)
        try forgetAnswer(of: row.id, on: connection)
        try save(new, .discard, from: row.state, on: connection, &ledger)
    }

    /// Puts another request into a job of which nothing was sent.
    static func replace(
        _ row: ReplayRow,
        by draft: ReplayDraft,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            UPDATE job SET method = ?2, url = ?3, host = ?4, tags = ?5, metadata = ?6, is_idempotent = ?7,
                idempotency_key = ?8, key_lifetime = ?9, kind = ?10, expires_at = ?11, attempt_limit = ?12, priority = ?13,
                digest = ?14
            WHERE id = ?1
            """
        )
        try statement.bind(row.id, at: 1)
        try bindRequest(draft, to: statement)
        // It was told of now, and has all its time and attempts before it.
        try statement.bind(draft.expiry(at: ledger.now)?.clamped(to: ReplayRow.sensible), at: 11)
        try statement.bind(Int64(draft.policy.attempts).clamped(to: ReplayRow.sensible), at: 12)
        try statement.bind(Int64(draft.policy.priority), at: 13)
        try statement.bind(ReplayRow.digest(of: draft.request), at: 14)
        try statement.run()
        let payload = try connection.statement("UPDATE payload SET request = ? WHERE job = ?")
        try payload.bind(draft.request, at: 1)
        try payload.bind(row.id, at: 2)
        try payload.run()
        if draft.policy.keepsAnswer { try expectAnswer(of: row.id, on: connection) }
        // With what has just been put into it.
        guard var new = try written(row.id, on: connection)?.row else { return }
        new.attempts = 0
        if draft.policy.awaitsID {
            (new.isHeld, new.reason) = (true, .awaitingID)
        } else if new.reason == .awaitingID {
            new.isHeld = false
        }
        // What waits for somebody to sign in waits for that still.
        if !new.isHeld { new.reason = .replaced }
        if draft.policy.uniqueness != .preserveSchedule {
            new.runAt = (draft.runAt ?? ledger.now).clamped(to: ReplayRow.sensible)
        }
        try settle(&new, on: connection, ledger)
        try save(new, .edit, from: row.state, on: connection, &ledger)
    }
}

extension ReplayDraft {
    /// Whether it may take a job's place: in the same line, and held by the same.
    fileprivate func isInLine(of row: ReplayRow) -> Bool {
        policy.orderingKey.isExactly(row.orderingKey) && (policy.order == .strict) == row.isStrict
            && lane.isExactly(row.lane)
    }
}
