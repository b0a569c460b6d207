import DiamondSQLite

/// Adding and editing jobs.
extension SQLiteReplayStorage {
    func enqueue(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?
    ) async throws(ReplayError) -> ReplayEnqueued {
        let (result, isAlive) = try await writer.write {
            (connection, ledger) throws(SQLiteError) -> (Result<ReplayEnqueued, ReplayError>, Bool) in
            var entry = entry
            // No process would rescue a job claimed by an owner whose row is gone.
            if let owner = entry.owner, try !ReplayTable.isAlive(owner, at: ledger.uptime, on: connection) {
                entry.owner = nil
                return (try Self.add(entry, isWanted: isWanted, on: connection, ledger: &ledger), false)
            }
            return (try Self.add(entry, isWanted: isWanted, on: connection, ledger: &ledger), true)
        }
        var added = try result.get()
        added.isOwnerAlive = isAlive
        return added
    }

    private static func add(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?,
        on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Result<ReplayEnqueued, ReplayError> {
        // A single draft without a unique name is refused before anything is written, so that there is nothing to undo.
        if entry.drafts.count == 1, entry.drafts[0].uniqueKey == nil, isWanted == nil {
            return try add(entry, on: connection, ledger: &ledger)
        }
        // The transaction may have other writes. Undo only this one.
        let before = ledger
        return try connection.withSavepoint {
            (connection) throws(SQLiteError) -> (Result<ReplayEnqueued, ReplayError>, Bool) in
            let added = try add(entry, on: connection, ledger: &ledger)
            if case .success(let added) = added, isWanted?(added.ids) ?? true { return (.success(added), true) }
            ledger = before
            return (added.map { ReplayEnqueued(ids: $0.ids.map { _ in nil }) }, false)
        }
    }

    /// Adds drafts up to the first that is refused.
    private static func add(
        _ entry: ReplayEntry, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Result<ReplayEnqueued, ReplayError> {
        var added = ReplayEnqueued(ids: [])
        for (index, draft) in entry.drafts.enumerated() {
            var id = entry.ids?[index]
            if let reserved = id, let stored = try ReplayTable.storedRow(reserved, withRequest: true, on: connection) {
                guard try !isSame(draft, as: stored, on: connection) else {
                    added.ids.append(reserved)
                    continue
                }
                // An older copy of the file was put back, and has given the id to another job.
                id = nil
            }
            let addition = try ReplayTable.add(
                draft, as: id, limit: entry.maximumCount, owner: entry.owner, rules: entry.rules, on: connection,
                ledger: &ledger)
            switch addition.result {
            case .success(let id): added.ids.append(id)
            case .failure(let error): return .failure(error)
            }
            if case .added(let id) = addition, let owner = entry.owner {
                added.claim = try ReplayTable.claimed(id, by: owner, on: connection)
            }
        }
        return .success(added)
    }

    private static func isSame(
        _ draft: ReplayDraft, as stored: ReplayTable.StoredRow, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        let id = stored.row.id
        if let key = draft.uniqueKey, try ReplayTable.jobID(named: key, on: connection) == id { return true }
        guard !stored.request.isEmpty else { return true }
        return try connection.opened(request: stored.request, of: id).map(draft.isSame) ?? true
    }

    func reserveIDs(_ count: Int) async throws(ReplayError) -> ReplayJob.ID {
        try await writer.write { (connection, _) throws(SQLiteError) in
            try ReplayTable.reserveIDs(Int64(count), on: connection)
        }
    }

    func isPreceded(_ draft: ReplayDraft) async throws(ReplayError) -> Bool {
        try read { (connection) throws(SQLiteError) in try ReplayTable.isPreceded(draft, on: connection) }
    }

    // MARK: Editing

    func edit(_ edit: ReplayEdit) async throws(ReplayError) -> ReplayJob.ID {
        try await writer.write { (connection, ledger) throws(SQLiteError) in
            try Self.apply(edit, on: connection, ledger: &ledger)
        }.get()
    }

    private static func apply(
        _ edit: ReplayEdit, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Result<ReplayJob.ID, ReplayError> {
        let id = edit.id
        guard try ReplayTable.storedRow(id, on: connection) != nil else { return .failure(.noJob(id)) }
        guard let row = try ReplayTable.checkedRow(id, on: connection, ledger: &ledger),
            let stored = try ReplayTable.checkedRequest(of: row, on: connection, ledger: &ledger)
        else { return .failure(.damaged(id)) }
        if let error = edit.refusal(of: row, stored: stored) { return .failure(error) }
        var draft = edit.draft
        guard row.mayBeKnown else {
            draft.policy.uniqueness = .preserveSchedule
            try ReplayTable.replace(row, by: draft, on: connection, ledger: &ledger)
            return .success(id)
        }
        // A server may know the old request, so the new one is another job, which gets the unique name. If a newer job
        // has the name, its request is the one to send.
        if let key = draft.uniqueKey, let other = try ReplayTable.jobID(named: key, on: connection), other != id {
            return .failure(.notUnique(id))
        }
        draft.policy.uniqueness = .replace
        let addition = try ReplayTable.add(
            draft, limit: edit.maximumCount, rules: edit.rules, on: connection, ledger: &ledger)
        return addition.result.map { $0 ?? id }
    }
}
