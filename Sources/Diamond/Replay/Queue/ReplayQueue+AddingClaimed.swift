import DiamondSQLite

extension ReplayQueue {
    /// The result of adding a job.
    private struct Added: Sendable {
        /// The id of the job; `nil` if nothing has to be sent.
        var id: ReplayJob.ID?
        /// The claim of the job; `nil` if it is not to be sent now.
        var claim: ReplayClaim?
    }

    /// Adds a request that this process sends at once, unless another job has to be sent before it. If the job is
    /// claimed, the ``owner`` is entered, and the caller has to leave it after it has written the outcome.
    ///
    /// - Parameter isWanted: called with the id of the job before the transaction is committed. If it returns `false`,
    ///   nothing is added or changed.
    func addClaimed(
        _ draft: ReplayDraft,
        isWanted: @escaping @Sendable (ReplayJob.ID?) -> Bool
    ) async throws(ReplayError) -> DurableRequest.Admission {
        let me: Int64
        do throws(ReplayError) { me = try await owner.enter() } catch {
            // A closed queue sends nothing, but still stores the request.
            guard error.code == .closed else { throw error }
            return .queued(try await add([draft]) { isWanted($0[0]) }[0])
        }
        do throws(ReplayError) {
            let added = try await add(draft, by: me, isWanted: isWanted)
            reportUnsentJobs()
            if let claim = added.claim { return .claimed(claim) }
            owner.leave()
            return .queued(added.id)
        } catch {
            owner.leave()
            throw error
        }
    }

    private func add(
        _ draft: ReplayDraft,
        by owner: Int64,
        isWanted: @escaping @Sendable (ReplayJob.ID?) -> Bool
    ) async throws(ReplayError) -> Added {
        let limit = maximumCount
        let rules = rules
        let (result, isAlive) = try await writer.write {
            (connection, ledger) throws(SQLiteError) -> (Result<Added, ReplayError>, Bool) in
            // No process would rescue a job claimed by an owner whose row is gone.
            let isAlive = try ReplayTable.isAlive(owner, at: ledger.uptime, on: connection)
            let before = ledger
            let result = try connection.withSavepoint {
                (connection) throws(SQLiteError) -> (Result<Added, ReplayError>, Bool) in
                let addition = try ReplayTable.add(
                    draft, limit: limit, owner: isAlive ? owner : nil, rules: rules, on: connection, ledger: &ledger)
                let added = try Self.added(addition, by: owner, on: connection)
                if case .success(let added) = added, isWanted(added.id) { return (.success(added), true) }
                ledger = before
                return (added.map { _ in Added() }, false)
            }
            return (result, isAlive)
        }
        // The next request registers a new owner.
        if !isAlive { self.owner.dropOwner(owner) }
        return try result.get()
    }

    private static func added(
        _ addition: ReplayTable.Addition,
        by owner: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Result<Added, ReplayError> {
        switch addition {
        case .added(let id):
            .success(Added(id: id, claim: try ReplayTable.claimed(id, by: owner, on: connection)))
        case .kept(let id), .replaced(let id): .success(Added(id: id))
        case .merged: .success(Added())
        case .refused(let error): .failure(error)
        }
    }
}
