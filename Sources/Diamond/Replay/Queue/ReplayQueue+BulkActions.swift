import DiamondSQLite

/// Actions on many jobs.
extension ReplayQueue {
    /// The result of an action on many jobs.
    package struct BulkResult: Sendable {
        /// The jobs that the action changed.
        package var done: [ReplayJob.ID] = []
        /// The jobs that the action could not change, each with the error.
        package var refusals: [(id: ReplayJob.ID, error: ReplayError)] = []
    }

    private static let batchSize = Int(ReplayTable.batchSize)

    /// Applies an action to jobs.
    ///
    /// - Parameter isDryRun: whether all changes are undone.
    package func apply(
        _ action: ReplayAction,
        to ids: [ReplayJob.ID],
        isDryRun: Bool = false
    ) async throws(ReplayError) -> BulkResult {
        var result = BulkResult()
        for start in stride(from: 0, to: ids.count, by: Self.batchSize) {
            let part = Array(ids[start..<min(start + Self.batchSize, ids.count)])
            for (id, effect) in zip(part, try await effects(of: action, on: part, isDryRun: isDryRun)) {
                if let error = Self.error(for: effect, of: action, on: id) {
                    result.refusals.append((id, error))
                } else {
                    result.done.append(id)
                }
            }
        }
        return result
    }

    /// Applies an action to all jobs that match a filter. Skips jobs whose state does not allow the action.
    ///
    /// - Parameter isDryRun: whether all changes are undone.
    package func apply(
        _ action: ReplayAction,
        to filter: ReplayFilter,
        isDryRun: Bool = false
    ) async throws(ReplayError) -> BulkResult {
        var result = BulkResult()
        let moment = try moment()
        var last: Int64 = 0
        while true {
            let ids = try read { (connection) throws(SQLiteError) in
                try ReplayTable.ids(filter, after: last, limit: Self.batchSize, at: moment, on: connection)
            }
            guard let end = ids.last else { return result }
            let part = try await apply(action, to: ids, isDryRun: isDryRun)
            result.done += part.done
            result.refusals += part.refusals.filter { ![.wrongState, .noJob].contains($0.error.code) }
            last = end
        }
    }

    private func effects(
        of action: ReplayAction,
        on ids: [ReplayJob.ID],
        isDryRun: Bool
    ) async throws(ReplayError) -> [ReplayEffect] {
        try await write(isDryRun: isDryRun) { (connection, ledger) throws(SQLiteError) in
            var effects: [ReplayEffect] = []
            for id in ids { effects.append(try ReplayTable.apply(action, to: id, on: connection, ledger: &ledger)) }
            return effects
        }
    }

    // MARK: Holds

    /// Adds a hold, and holds the jobs that it covers.
    ///
    /// - Parameters:
    ///   - isSignOut: whether the hold is that of an identity that signs out.
    ///   - isDryRun: whether all changes are undone.
    /// - Returns: the number of jobs that were not held before.
    @discardableResult
    package func apply(
        _ hold: ReplayHold,
        reason: String = "",
        isSignOut: Bool = false,
        isDryRun: Bool = false
    ) async throws(ReplayError) -> Int {
        try await change(hold, jobsIn: [.ready, .waiting], isDryRun: isDryRun) {
            (ids, connection, ledger) throws(SQLiteError) in
            // Only in the first transaction: a later one would add the hold again if another process has ended it
            // meanwhile. A dry run undoes each transaction, so it adds the hold in each.
            if ids.isEmpty || isDryRun {
                try ReplayTable.add(hold, reason: reason, isSignOut: isSignOut, on: connection, ledger: ledger)
            }
            return try ReplayTable.hold(ids, on: connection, ledger: &ledger)
        }
    }

    /// Ends a hold, and releases its jobs that are not held by themselves or by another hold. For an identity, also
    /// releases jobs that wait for it to sign in.
    ///
    /// - Parameter isDryRun: whether all changes are undone.
    /// - Returns: the number of released jobs.
    package func end(_ hold: ReplayHold, isDryRun: Bool = false) async throws(ReplayError) -> Int {
        try await change(hold, jobsIn: [.held], isDryRun: isDryRun) {
            (ids, connection, ledger) throws(SQLiteError) in
            if ids.isEmpty || isDryRun { try ReplayTable.remove(hold, on: connection, ledger: &ledger) }
            return try ReplayTable.release(ids, on: connection, ledger: &ledger)
        }
    }

    /// Changes the hold itself first, so that the change applies to jobs added meanwhile. Then changes the existing
    /// jobs, batch by batch.
    ///
    /// - Parameter body: changes a batch of jobs, and returns the number of changed ones. Without jobs, changes the
    ///   hold.
    private func change(
        _ hold: ReplayHold,
        jobsIn states: [ReplayState],
        isDryRun: Bool,
        body:
            @escaping @Sendable (
                [ReplayJob.ID], borrowing SQLiteConnection, inout ReplayLedger
            ) throws(SQLiteError) -> Int
    ) async throws(ReplayError) -> Int {
        var count = 0
        var ids: [ReplayJob.ID] = []
        repeat {
            let batch = ids
            let last = ids.last ?? 0
            count += try await write(isDryRun: isDryRun) { (connection, ledger) throws(SQLiteError) in
                try body(batch, connection, &ledger)
            }
            if batch.isEmpty, !isDryRun { notifyEngines(of: hold) }
            ids = try read { (connection) throws(SQLiteError) in
                try ReplayTable.ids(of: hold, in: states, after: last, on: connection)
            }
        } while !ids.isEmpty
        return count
    }

    /// Releases the jobs of holds whose end was interrupted.
    func releaseOrphans() async throws(ReplayError) {
        while true {
            let ids = try read { (connection) throws(SQLiteError) in try ReplayTable.orphans(on: connection) }
            guard !ids.isEmpty else { return }
            let count = try await writer.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.release(ids, on: connection, ledger: &ledger)
            }
            // Another process has released them.
            guard count > 0 else { return }
        }
    }

    // MARK: Dry runs

    /// The effects that a claim would have.
    public struct ClaimPreview: Hashable, Sendable {
        /// The transitions, in the order of the claim.
        public var transitions: [ReplayTransition]
        /// The number of jobs that would still be ready: earlier jobs of their ordering keys come first, the limit is
        /// reached, or the queue is held.
        public var remaining: Int

        /// Creates a preview.
        public init(transitions: [ReplayTransition], remaining: Int) {
            self.transitions = transitions
            self.remaining = remaining
        }
    }

    /// Returns the effects that a claim would have now. Runs a claim, and undoes it.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of jobs to claim.
    ///   - identities: the identities whose jobs are claimed.
    package func claimPreview(
        limit: Int,
        of identities: ReplaySelection.Identities = .all
    ) async throws(ReplayError) -> ClaimPreview {
        try await write(isDryRun: true) { (connection, ledger) throws(SQLiteError) in
            var preview = ReplayLedger(at: ledger.moment, uptime: ledger.uptime)
            _ = try ReplayTable.claim(limit, of: identities, by: 0, on: connection, ledger: &preview)
            let remaining = try ReplayTable.readyCount(of: identities, on: connection)
            return ClaimPreview(transitions: preview.transitions, remaining: remaining)
        }
    }

    /// Returns the jobs that wait for their time, the earliest first.
    package func waiting(
        limit: Int,
        of identities: ReplaySelection.Identities = .all
    ) throws(ReplayError) -> [ReplayJob] {
        let moment = try moment()
        return try read { (connection) throws(SQLiteError) in
            try ReplayTable.waiting(limit: limit, of: identities, at: moment, on: connection)
        }
    }

    private func write<Value: Sendable>(
        isDryRun: Bool,
        body: @escaping ReplayWriter.Body<Value>
    ) async throws(ReplayError) -> Value {
        try await writer.write { (connection, ledger) throws(SQLiteError) in
            guard isDryRun else { return try body(connection, &ledger) }
            // A copy of the ledger, so that no transition is reported or counted.
            var copy = ledger
            return try connection.withSavepoint { (connection) throws(SQLiteError) in
                (try body(connection, &copy), false)
            }
        }
    }
}
