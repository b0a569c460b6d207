import DiamondSQLite

/// Doing something to many jobs.
extension ReplayQueue {
    /// The result of an action on many jobs.
    package struct Sweep: Sendable {
        /// The jobs that the action changed.
        package var done: [ReplayJob.ID] = []
        /// The jobs that refused the action, each with the error.
        package var refusals: [(id: ReplayJob.ID, error: ReplayError)] = []
    }

    private static let slice = Int(ReplayTable.slice)

    /// - Parameter isTrial: whether nothing is to stay of it.
    package func apply(
        _ action: JobAction,
        to ids: [ReplayJob.ID],
        isTrial: Bool = false
    ) async throws(ReplayError) -> Sweep {
        var sweep = Sweep()
        for start in stride(from: 0, to: ids.count, by: Self.slice) {
            let part = Array(ids[start..<min(start + Self.slice, ids.count)])
            for (id, effect) in zip(part, try await effects(of: action, on: part, isTrial)) {
                if let error = Self.error(effect, action, id) {
                    sweep.refusals.append((id, error))
                } else {
                    sweep.done.append(id)
                }
            }
        }
        return sweep
    }

    /// Applies an action to all jobs that match a filter. Jobs whose state does not allow the action are skipped.
    ///
    /// - Parameter isTrial: whether all changes are undone.
    package func apply(
        _ action: JobAction,
        to filter: ReplayFilter,
        isTrial: Bool = false
    ) async throws(ReplayError) -> Sweep {
        var sweep = Sweep()
        let filter = try timed(filter)
        var last: Int64 = 0
        while true {
            let ids = try read { (connection) throws(SQLiteError) in
                try ReplayTable.ids(filter, after: last, limit: Self.slice, on: connection)
            }
            guard let end = ids.last else { return sweep }
            let part = try await apply(action, to: ids, isTrial: isTrial)
            sweep.done += part.done
            sweep.refusals += part.refusals.filter { ![.wrongState, .noJob].contains($0.error.code) }
            last = end
        }
    }

    private func effects(
        of action: JobAction,
        on ids: [ReplayJob.ID],
        _ isTrial: Bool
    ) async throws(ReplayError) -> [ReplayTable.Effect] {
        try await attempt(isTrial) { (connection, ledger) throws(SQLiteError) in
            var effects: [ReplayTable.Effect] = []
            for id in ids { effects.append(try ReplayTable.apply(action, to: id, on: connection, &ledger)) }
            return effects
        }
    }

    // MARK: Holds

    /// - Returns: the number of jobs that this hold has newly held.
    package func apply(
        _ hold: ReplayHold,
        reason: String = "",
        isTrial: Bool = false
    ) async throws(ReplayError) -> Int {
        try await sweep(hold, in: [.ready, .waiting], isTrial) { (ids, connection, ledger) throws(SQLiteError) in
            // Once: whoever ends it meanwhile has the last word.
            if ids.isEmpty || isTrial { try ReplayTable.add(hold, reason: reason, on: connection, ledger) }
            return try ReplayTable.hold(ids, on: connection, &ledger)
        }
    }

    /// - Returns: the number of jobs that no hold holds any more.
    package func end(_ hold: ReplayHold, isTrial: Bool = false) async throws(ReplayError) -> Int {
        try await sweep(hold, in: [.held], isTrial) { (ids, connection, ledger) throws(SQLiteError) in
            if ids.isEmpty || isTrial { try ReplayTable.remove(hold, on: connection, &ledger) }
            return try ReplayTable.release(ids, on: connection, &ledger)
        }
    }

    /// Changes the hold itself first, so that it applies to jobs added meanwhile. Then changes the existing jobs, slice
    /// by slice.
    private func sweep(
        _ hold: ReplayHold,
        in states: [ReplayState],
        _ isTrial: Bool,
        _ body:
            @escaping @Sendable (
                [ReplayJob.ID], borrowing SQLiteConnection, inout ReplayLedger
            ) throws(SQLiteError) -> Int
    ) async throws(ReplayError) -> Int {
        var (count, ids): (Int, [ReplayJob.ID]) = (0, [])
        repeat {
            let (slice, last) = (ids, ids.last ?? 0)
            count += try await attempt(isTrial) { (connection, ledger) throws(SQLiteError) in
                try body(slice, connection, &ledger)
            }
            if slice.isEmpty, !isTrial { tell(of: hold) }
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
                try ReplayTable.release(ids, on: connection, &ledger)
            }
            // Somebody else has seen to them.
            guard count > 0 else { return }
        }
    }

    // MARK: Trials

    /// The effects that a claim would have.
    package struct Rehearsal: Sendable {
        /// The transitions, in the order of the claim.
        package var transitions: [ReplayTransition]
        /// The number of jobs that would still be ready: they are not the heads of their lines, or exceed the claim's
        /// limit.
        package var behind: Int
    }

    /// Returns the effects that a claim would have now. It runs a claim and undoes it.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of jobs to claim.
    ///   - identities: the identities whose jobs are claimed.
    package func rehearsal(
        limit: Int,
        of identities: ReplayTable.Identities = .all
    ) async throws(ReplayError) -> Rehearsal {
        try await attempt(true) { (connection, ledger) throws(SQLiteError) in
            var rehearsed = ReplayLedger(now: ledger.now, lead: ledger.lead, uptime: ledger.uptime)
            _ = try ReplayTable.claim(limit, of: identities, by: 0, on: connection, &rehearsed)
            let behind = try ReplayTable.ready(of: identities, on: connection)
            return Rehearsal(transitions: rehearsed.transitions, behind: behind)
        }
    }

    /// Returns the jobs that wait for their time, the nearest first.
    package func waiting(
        limit: Int,
        of identities: ReplayTable.Identities = .all
    ) throws(ReplayError) -> [ReplayJob] {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in
            try ReplayTable.waiting(limit: limit, of: identities, on: connection)
        }.map { $0.moved(by: lead) }
    }

    private func attempt<Value: Sendable>(
        _ isTrial: Bool,
        _ body: @escaping ReplayWriter.Body<Value>
    ) async throws(ReplayError) -> Value {
        try await writer.write { (connection, ledger) throws(SQLiteError) in
            guard isTrial else { return try body(connection, &ledger) }
            // Nothing of it is told or counted.
            var trial = ledger
            return try connection.undoing { (connection) throws(SQLiteError) in (try body(connection, &trial), false) }
        }
    }
}
