#if Postgres && canImport(CDiamondPostgres)
package import Diamond
import DiamondSQLite

/// Claiming jobs.
extension PostgresReplayStorage {
    package func hasReady(in lanes: ReplaySelection.Lanes) async throws(ReplayError) -> Bool {
        guard lanes != .none else { return false }
        // A claim that may have been committed is the only one that finds its jobs.
        if lostClaims.withLock({ !$0.isEmpty }) { return true }
        marks.withLock { $0.begin(on: pool.madeCount) }
        sweepIfNeeded()
        return try await replaying { (storage) throws(PostgresError) in
            try await !storage.firstReady(in: lanes, .none).isEmpty
        }
    }

    /// Returns the lowest turn of the ready jobs of each priority from the marks on, or from further below.
    private func firstReady(
        in lanes: ReplaySelection.Lanes, _ sweep: PostgresMarks.Sweep
    ) async throws(PostgresError) -> [(priority: Int64, turn: Int64)] {
        let marks = marks.withLock { $0 }
        return try await pool.run { (connection) throws(PostgresError) in
            var found: [(priority: Int64, turn: Int64)] = []
            let priorities = try connection.rows("SELECT value FROM priority ORDER BY value DESC")
            for priority in priorities.map({ $0.int64("value") }) {
                let first = try connection.rows(
                    """
                    SELECT turn FROM job WHERE state = 0 AND is_head AND priority = \(priority)
                        AND turn >= \(marks.start(priority, sweep)) AND \(lanes.condition)
                    ORDER BY priority, turn, id LIMIT 1
                    """
                ).first
                if let first { found.append((priority, first.int64("turn"))) }
            }
            return found
        }
    }

    /// Searches below the marks when it is time. In the background, because a search may read many dead entries.
    private func sweepIfNeeded() {
        let sweep = marks.withLock { $0.sweep(at: .now) }
        guard sweep != .none else { return }
        Task.detached { [weak self] in
            guard let self, let found = try? await firstReady(in: .all, sweep) else { return }
            let isLower = marks.withLock { marks in
                found.count { marks.lower($0.priority, to: $0.turn) } > 0
            }
            if isLower { watchers.notify() }
        }
    }

    package func nextTime() async throws(ReplayError) -> QueueTime? {
        let start = marks.withLock { $0.usualStartOfTimes }
        return try await fetch { (connection) throws(PostgresError) in
            try connection.rows(
                """
                SELECT least(
                    (SELECT min(run_at) FROM job WHERE state = 1 AND run_at >= \(start.rawValue)),
                    (SELECT min(expires_at) FROM job
                        WHERE expires_at IS NOT NULL AND state IN (0, 1, 3) AND expires_at >= \(start.rawValue))
                    ) AS next
                """
            ).first?.integer("next").map(QueueTime.init)
        }
    }

    // MARK: Claiming

    package func claim(
        _ limit: Int, _ selection: ReplaySelection, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> ReplayClaims? {
        try await replaying { (storage) throws(PostgresError) in
            if let found = try await storage.findLostClaim(by: owner) { return found }
            let mark = -Int64.random(in: 1 ..< .max)
            do throws(PostgresError) {
                let (claims, places) = try await storage.write { (jobs) throws(PostgresError) in
                    jobs.claimMark = mark
                    var places: [PostgresMarks.Place] = []
                    return (try storage.claim(limit, selection, by: owner, of: jobs, places: &places), places)
                }
                // Only after the commit: the jobs of a claim that was undone are ready again.
                storage.marks.withLock { marks in for place in places { marks.advance(to: place) } }
                storage.sweepIfNeeded()
                return claims
            } catch {
                if error.isOutcomeUnknown { storage.noteLostClaim(by: owner, mark: mark) }
                throw error
            }
        }
    }

    /// Notes a claim whose commit was not answered, unless its owner was given up: then others rescue the jobs.
    func noteLostClaim(by owner: Int64, mark: Int64) {
        sessions.withLock { sessions in
            if sessions[owner] != nil { lostClaims.withLock { $0.append((owner, mark)) } }
        }
    }

    /// Returns the jobs of an earlier claim whose commit was not answered; `nil` if there is none, or it was undone.
    private func findLostClaim(by owner: Int64) async throws(PostgresError) -> ReplayClaims? {
        guard let mark = lostClaims.withLock({ $0.first { $0.owner == owner }?.mark }) else { return nil }
        let claims = try await pool.transaction { (connection) throws(PostgresError) in
            // The server may still be about to commit it. Until then, the transaction has the owner's row.
            _ = try connection.rows("SELECT id FROM owner WHERE id = \(owner) FOR UPDATE")
            return try connection.rows(
                """
                SELECT id, token, (SELECT request FROM payload WHERE payload.job = job.id) AS request
                FROM job WHERE owner = \(owner) AND state = 2 AND turn = \(mark) ORDER BY id
                """
            ).map { ReplayClaim(id: $0.int64("id"), token: $0.int64("token"), request: $0.data("request")) }
        }
        lostClaims.withLock { $0.removeAll { $0.mark == mark } }
        return claims.isEmpty ? nil : ReplayClaims(claims)
    }

    /// - Parameter places: the ends of the searches, for the next claim.
    /// - Returns: `nil` if the owner is not alive.
    private func claim(
        _ limit: Int, _ selection: ReplaySelection, by owner: Int64?, of jobs: PostgresJobs,
        places: inout [PostgresMarks.Place]
    ) throws(PostgresError) -> ReplayClaims? {
        let now = Uptime.now
        // The connection of this transaction may be new.
        marks.withLock { $0.begin(on: pool.madeCount) }
        // A preview, which is undone, leaves the marks as they are.
        let times = owner == nil ? .min : marks.withLock { $0.startOfTimes(at: now) }
        let facts = try jobs.claimFacts(owner: owner, timesFrom: times)
        guard facts.isOwnerAlive else { return nil }
        let isMore = facts.hasTimed ? try jobs.handleTimes(from: times) : false
        let time = jobs.now
        if owner != nil {
            marks.withLock { if isMore { $0.searchAllTimes() } else { $0.handleTimes(before: time) } }
        }
        guard selection.lanes != .none, !facts.isQueueHeld else { return ReplayClaims([], ends: jobs.ends) }
        let marks = self.marks.withLock { $0 }
        let sweep = owner == nil ? PostgresMarks.Sweep.full : .none
        var found: [PostgresJobs.Ready] = []
        for priority in facts.priorities where found.count < limit {
            let rest = limit - found.count
            let start = marks.start(priority, sweep)
            let ready: [PostgresJobs.Ready]
            if case .only(let names) = selection.identities {
                ready = try jobs.ready(rest, of: priority, from: start, in: selection.lanes, identities: names.sorted())
            } else {
                ready = try jobs.ready(rest, of: priority, from: start, in: selection.lanes)
                if selection.lanes == .all {
                    let last = ready.count < rest ? nil : ready.last?.turn
                    places.append(PostgresMarks.Place(priority: priority, last: last, snapshot: facts.snapshot))
                }
            }
            found += ready
        }
        let claims = try jobs.claim(found, by: owner ?? 0, hasHolds: facts.hasHolds)
        return ReplayClaims(claims, isMore: claims.isEmpty && !found.isEmpty, ends: jobs.ends)
    }

    package func claimPreview(
        _ limit: Int, of identities: ReplaySelection.Identities
    ) async throws(ReplayError) -> ReplayQueue.ClaimPreview {
        try await change(isDryRun: true) { [self] (jobs) throws(PostgresError) in
            var places: [PostgresMarks.Place] = []
            _ = try claim(limit, ReplaySelection(identities), by: nil, of: jobs, places: &places)
            let remaining = try jobs.connection.rows(
                "SELECT count(*) AS count FROM job WHERE state = 0 AND \(identities.condition)"
            ).first
            return ReplayQueue.ClaimPreview(
                transitions: jobs.commit.transitions, remaining: Int(remaining?.int64("count") ?? 0))
        }
    }
}

extension ReplaySelection.Lanes {
    /// The condition for the jobs of the lanes.
    var condition: PostgresSQL {
        switch self {
        case .all: "TRUE"
        case .none: "FALSE"
        case .allBut(let lanes): "lane <> ALL(\(lanes.map(\.name).sorted()))"
        }
    }
}

extension ReplaySelection.Identities {
    /// The condition for the jobs of the identities.
    var condition: PostgresSQL {
        switch self {
        case .all: "TRUE"
        case .only(let names): "(identity IS NULL OR identity = ANY(\(names.sorted())))"
        }
    }
}
#endif
