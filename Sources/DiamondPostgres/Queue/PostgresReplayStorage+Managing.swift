#if Postgres && canImport(CDiamondPostgres)
package import Diamond
import DiamondSQLite
import Foundation

/// Actions, holds, the sign-out of identities, and maintenance.
extension PostgresReplayStorage {
    package func apply(
        _ action: ReplayAction, to ids: [ReplayJob.ID], isDryRun: Bool
    ) async throws(ReplayError) -> [ReplayEffect] {
        try await change(isDryRun: isDryRun) { (jobs) throws(PostgresError) in
            var effects: [ReplayEffect] = []
            // All at once, so that two transactions do not wait for each other.
            try jobs.lockKeys(of: ids)
            for id in ids { effects.append(try jobs.apply(action, to: id)) }
            return effects
        }
    }

    // MARK: Holds

    package func hold(
        _ hold: ReplayHold, reason: String, isSignOut: Bool, isDryRun: Bool
    ) async throws(ReplayError) -> Int {
        try await change(hold, jobsIn: [.ready, .waiting], isDryRun: isDryRun) { (jobs) throws(PostgresError) in
            try jobs.add(hold, reason: reason, isSignOut: isSignOut)
        }
    }

    package func release(_ hold: ReplayHold, isDryRun: Bool) async throws(ReplayError) -> Int {
        let count = try await change(hold, jobsIn: [.held], isDryRun: isDryRun) { (jobs) throws(PostgresError) in
            try jobs.remove(hold)
        }
        // A hold of the queue changes no job, so no transition wakes the replayers.
        if !isDryRun { report(ReplayCommit(changesHolds: true)) }
        return count
    }

    /// Changes the hold itself first, so that the change applies to jobs added meanwhile. Then changes the existing
    /// jobs, batch by batch.
    ///
    /// - Parameter body: changes the hold.
    private func change(
        _ hold: ReplayHold, jobsIn states: [ReplayState], isDryRun: Bool,
        _ body: @escaping @Sendable (PostgresJobs) throws(PostgresError) -> Void
    ) async throws(ReplayError) -> Int {
        var count = 0
        var ids: [ReplayJob.ID] = []
        repeat {
            let batch = ids
            let last = ids.last ?? 0
            count += try await change(isDryRun: isDryRun) { (jobs) throws(PostgresError) in
                // Only in the first transaction: a later one would add the hold again if another process has ended it
                // meanwhile. A dry run undoes each transaction, so it changes the hold in each.
                if batch.isEmpty || isDryRun { try body(jobs) }
                return try jobs.applyHolds(to: batch, in: states)
            }
            if batch.isEmpty, !isDryRun { report(ReplayCommit(changesHolds: true)) }
            guard let column = hold.column else { return count }
            ids = try await fetch { (connection) throws(PostgresError) in
                try connection.ids(
                    """
                    SELECT id FROM job WHERE id > \(last) AND state = ANY(\(states.map(\.rawValue)))
                        AND \(column) = \(hold.name) ORDER BY id LIMIT \(PostgresJobs.batchSize)
                    """)
            }
        } while !ids.isEmpty
        return count
    }

    // MARK: Signing out

    package func eraseJobs(of identity: String, discardingOpen discardsJobs: Bool) async throws(ReplayError) {
        try await erase(identity, includingOpen: discardsJobs)
        if discardsJobs { report(ReplayCommit(changesHolds: true)) }
    }

    private func erase(_ identity: String, includingOpen includesOpen: Bool) async throws(ReplayError) {
        try await inBatches { (jobs) throws(PostgresError) in
            try jobs.erase(of: identity, includingOpen: includesOpen)
        }
    }

    // MARK: Maintenance

    package func maintain(_ retention: ReplayRetention) async throws(ReplayError) {
        try await inBatches { (jobs) throws(PostgresError) in try jobs.releaseOrphans() }
        let signedOut = try await fetch { (connection) throws(PostgresError) in
            try connection.rows("SELECT name FROM hold WHERE kind = 'identity' AND is_sign_out").map { $0.text("name") }
        }
        for name in signedOut { try await erase(name, includingOpen: false) }
        try await inBatches { (jobs) throws(PostgresError) in try jobs.deleteEnded(.done, beyond: retention.done) }
        try await inBatches { (jobs) throws(PostgresError) in try jobs.deleteEnded(.dead, beyond: retention.dead) }
        try await replaying { (storage) throws(PostgresError) in
            try await storage.pool.transaction { (connection) throws(PostgresError) in
                try PostgresJobs.sumCounts(on: connection)
                // The counts of 400 days.
                let hour = storage.clock.moment.time.hour - 9600
                try connection.run("DELETE FROM total WHERE hour > 0 AND hour < \(hour)")
                // Turns of another server, from which this database was restored, may be higher than any here.
                try connection.run(
                    """
                    UPDATE job SET turn = 0 WHERE state = 0 AND is_head AND turn > pg_current_xact_id()::text::bigint
                    """)
            }
        }
    }

    /// Changes batches of jobs until there are no more, or the task is canceled.
    private func inBatches(
        _ body: @escaping @Sendable (PostgresJobs) throws(PostgresError) -> Bool
    ) async throws(ReplayError) {
        while !Task.isCancelled, try await change(body) {}
    }

    /// Sums up the counts, every ten seconds in which this process writes.
    func sumCountsIfNeeded() async {
        let isNeeded = nextSum.withLock { next in
            guard next <= .now else { return false }
            next = .now + 10_000
            return true
        }
        guard isNeeded else { return }
        try? await pool.transaction { (connection) throws(PostgresError) in try PostgresJobs.sumCounts(on: connection) }
    }

    package func check() async throws(ReplayError) -> [ReplayFinding] {
        try await replaying { (storage) throws(PostgresError) in
            try await storage.pool.transaction(within: .seconds(600)) { (connection) throws(PostgresError) in
                try connection.run("SET LOCAL statement_timeout = '10min'")
                return try connection.rows(PostgresJobs.contradictions).map { row in
                    ReplayFinding(id: row.integer("id"), what: row.text("what"))
                }
            }
        }
    }
}

extension PostgresJobs {
    // MARK: Actions

    func apply(_ action: ReplayAction, to id: Int64) throws(PostgresError) -> ReplayEffect {
        guard let stored = try row(id) else { return .noJob }
        var row = stored.row
        guard row.allows(action) else { return .wrongState(row.state) }
        let old = row.state
        var policy: ReplayPolicy?
        if action == .redrive {
            guard let request = try request(of: id), ReplayRow.digest(of: request) == row.digest else {
                return .damaged
            }
            if let key = row.uniqueKey, let other = try jobID(named: key), other != id { return .notUnique }
            row.apply(action, at: now)
            // If this program cannot decode the request, another version may.
            policy = (try? Request(json: request))?.replay
            if policy?.storesAnswer == true { try expectAnswers(of: [id], reset: true) }
            row.renew(by: policy, at: now)
            for table in ["job", "ended"] as [PostgresSQL] {
                try connection.run("UPDATE \(table) SET has_name = true WHERE id = \(id)")
            }
        } else {
            row.apply(action, at: now)
        }
        if action == .release, try !names(awaitedBy: id).isEmpty {
            row.awaitIDs()
        }
        try updateState(of: &row)
        try save(row, action.verb, from: old, wasEnded: stored.isEnded)
        if let policy, row.awaitsIDs {
            try link(policy, to: id)
        } else if action == .release, row.awaitsIDs {
            try updateReason(of: id)
        }
        return .done(row.state)
    }

    // MARK: Holds

    func add(_ hold: ReplayHold, reason: String, isSignOut: Bool) throws(PostgresError) {
        try connection.run(
            """
            INSERT INTO hold (kind, name, reason, since, is_sign_out)
            VALUES (\(hold.kind), \(hold.name), \(reason), \(now.rawValue), \(isSignOut))
            ON CONFLICT (kind, name) DO UPDATE SET reason = excluded.reason,
                is_sign_out = hold.is_sign_out OR excluded.is_sign_out
            """)
    }

    /// Removes a hold. If it is a hold on an identity, jobs that wait for the identity to sign in no longer wait.
    func remove(_ hold: ReplayHold) throws(PostgresError) {
        if case .identity(let name) = hold {
            // No transition: the jobs' state stays held.
            try connection.run(
                """
                UPDATE job SET is_held = false, reason = 'held'
                WHERE state = 3 AND reason = 'unauthorized' AND identity = \(name)
                """)
        }
        try connection.run("DELETE FROM hold WHERE kind = \(hold.kind) AND name = \(hold.name)")
    }

    /// Holds those of the given jobs that a hold covers, and releases those that neither are held themselves nor covered
    /// by a hold.
    ///
    /// - Parameter states: the states of the jobs to look at.
    func applyHolds(to ids: [Int64], in states: [ReplayState]) throws(PostgresError) -> Int {
        guard !ids.isEmpty else { return 0 }
        let stored = try rows(ids, isRunning: true)
        let holds = try holds(on: stored.values.map(\.row))
        var changes: [Change] = []
        for id in ids {
            guard var row = stored[id]?.row, states.contains(row.state) else { continue }
            let old = row.state
            row.updateState(at: now) { holds.cover($0) }
            if let verb = row.noteHold(after: old) { changes.append(Change(row: row, verb: verb, old: old)) }
        }
        try save(changes)
        return changes.count
    }

    /// Releases held jobs that no hold covers. The process that ended their hold died before it released them.
    ///
    /// - Returns: whether there may be more.
    func releaseOrphans() throws(PostgresError) -> Bool {
        let ids = try connection.ids(
            """
            SELECT id FROM job WHERE state = 3 AND NOT is_held
                AND NOT EXISTS (SELECT FROM hold WHERE kind = 'key' AND name = ordering_key)
                AND NOT EXISTS (SELECT FROM hold WHERE kind = 'identity' AND name = identity)
                AND NOT EXISTS (SELECT FROM hold WHERE kind = 'lane' AND name = lane)
            LIMIT \(Self.batchSize)
            """)
        return try applyHolds(to: ids, in: [.held]) > 0
    }

    // MARK: Deleting

    /// Deletes a batch of the jobs of an identity that has signed out: all, or those that have ended and that no open job
    /// needs.
    ///
    /// - Returns: whether there may be more.
    func erase(of identity: String, includingOpen includesOpen: Bool) throws(PostgresError) -> Bool {
        let ids = try connection.ids(
            """
            SELECT id FROM every_job WHERE identity = \(identity) AND (\(includesOpen) OR (state > 3
                AND NOT (state > 4 AND is_strict AND EXISTS (
                    SELECT FROM job AS other WHERE other.ordering_key = every_job.ordering_key AND other.state < 4))
                AND NOT EXISTS (SELECT FROM edge JOIN job AS other ON other.id = edge.job
                    WHERE edge.name = every_job.creates AND other.state < 4)))
            ORDER BY id LIMIT \(Self.batchSize)
            """)
        guard !ids.isEmpty else {
            // In the transaction that has found no job, so that none is added between, which would be sent afterwards.
            if includesOpen { try remove(.identity(identity)) }
            return false
        }
        try delete(try rows(ids).values.sorted { $0.row.id < $1.row.id }, reason: .signedOut)
        return true
    }

    /// Deletes a batch of ended jobs beyond a limit. Jobs whose answers were not consumed stay, and those that create an
    /// object whose id open jobs need.
    ///
    /// - Returns: whether there may be more.
    func deleteEnded(_ state: ReplayState, beyond limit: ReplayRetention.Limit) throws(PostgresError) -> Bool {
        let count = try connection.rows("SELECT count(*) AS count FROM ended WHERE state = \(state.rawValue)").first
        let surplus = max(0, (count?.int64("count") ?? 0) - Int64(limit.count))
        let ids = try connection.ids(
            """
            SELECT id FROM (
                SELECT id, creates, changed_at, row_number() OVER (ORDER BY changed_at, id) AS place
                FROM (SELECT id, creates, changed_at FROM ended WHERE state = \(state.rawValue)
                    ORDER BY changed_at, id LIMIT 100000) AS oldest) AS oldest
            WHERE (changed_at < \((now - limit.age).rawValue) OR place <= \(surplus))
                AND NOT EXISTS (SELECT FROM answer WHERE answer.job = oldest.id AND taken_at IS NULL)
                AND NOT EXISTS (SELECT FROM edge JOIN job AS other ON other.id = edge.job
                    WHERE edge.name = oldest.creates AND other.state < 4)
            ORDER BY changed_at, id LIMIT \(Self.batchSize)
            """)
        guard !ids.isEmpty else { return false }
        try delete(try rows(ids).values.filter(\.isEnded).sorted { $0.row.id < $1.row.id }, reason: .expired)
        return true
    }

    // MARK: Counts

    /// Adds the latest changes of counts to the totals. Other transactions add further ones meanwhile.
    static func sumCounts(on connection: PostgresConnection) throws(PostgresError) {
        // Two at a time would wait for each other.
        let isFree = try connection.rows(
            "SELECT pg_try_advisory_xact_lock(\(Int64(Lock.schema.rawValue))::int, 1) AS is_free"
        ).first
        guard isFree?.bool("is_free") == true else { return }
        try connection.run(
            """
            WITH gone AS (DELETE FROM tally RETURNING *)
            INSERT INTO total (hour, name, count) SELECT hour, name, sum(change)::bigint FROM gone GROUP BY hour, name
            ON CONFLICT (hour, name) DO UPDATE SET count = total.count + excluded.count
            """)
    }

    // MARK: Checks

    static let contradictions: PostgresSQL = """
        SELECT id, 'it has no request' AS what FROM job
            WHERE NOT EXISTS (SELECT FROM payload WHERE payload.job = job.id)
        UNION ALL SELECT id, 'it runs, and has no owner' FROM job
            WHERE state = 2 AND NOT EXISTS (SELECT FROM owner WHERE owner.id = job.owner)
        UNION ALL SELECT id, 'it is no head, and has no ordering key' FROM job
            WHERE ordering_key IS NULL AND NOT is_head
        UNION ALL SELECT min(id), 'it is the first of its line, and another one is the head' FROM job
            WHERE ordering_key IS NOT NULL GROUP BY ordering_key
            HAVING coalesce(max(id) FILTER (WHERE state = 2), min(id)) IS DISTINCT FROM max(id) FILTER (WHERE is_head)
        UNION ALL SELECT id, 'it is not behind, and a later head of its line has ended' FROM job
            WHERE ordering_key IS NOT NULL AND NOT is_behind AND id < \(lastEnd(of: "job.ordering_key"))
        UNION ALL SELECT NULL, 'the count of the jobs in state ' || name || ' is wrong' FROM (
            SELECT name, sum(count) AS count FROM (
                SELECT name, change AS count FROM tally WHERE hour = 0
                UNION ALL SELECT name, count FROM total WHERE hour = 0
                UNION ALL SELECT state::text, -count(*) FROM every_job GROUP BY state) AS counts
            GROUP BY name HAVING sum(count) <> 0) AS wrong
        """
}

extension ReplayHold {
    /// The column with the held names; `nil` for holds that change no jobs.
    fileprivate var column: PostgresSQL? {
        switch self {
        case .engine, .queue: nil
        case .key: "ordering_key"
        case .identity: "identity"
        case .lane: "lane"
        }
    }
}
#endif
