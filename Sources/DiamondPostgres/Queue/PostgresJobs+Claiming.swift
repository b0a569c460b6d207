#if Postgres && canImport(CDiamondPostgres)
import Diamond
import Foundation

/// Claiming jobs.
extension PostgresJobs {
    /// All that a claim depends on.
    struct ClaimFacts {
        var isOwnerAlive: Bool
        var isQueueHeld: Bool
        var hasHolds: Bool
        /// Whether a job has reached its time, or has expired.
        var hasTimed: Bool
        /// The priorities of jobs, the highest first.
        var priorities: [Int64]
        var snapshot: PostgresMarks.Snapshot
    }

    /// Reads the facts in one round trip. Their snapshot is older than that of the search. The owner's row is locked,
    /// so that nobody rescues its jobs before this claim is complete.
    func claimFacts(owner: Int64?, timesFrom start: QueueTime) throws(PostgresError) -> ClaimFacts {
        let row = try connection.rows(
            """
            SELECT \(owner == nil) OR EXISTS (
                    SELECT FROM owner WHERE id = \(owner) AND lease_until > \(clock.sql)
                    FOR KEY SHARE) AS is_alive,
                EXISTS (SELECT FROM hold WHERE kind IN ('queue', 'engine')) AS is_held,
                EXISTS (SELECT FROM hold WHERE kind NOT IN ('queue', 'engine')) AS has_holds,
                EXISTS (SELECT FROM job WHERE state = 1 AND run_at BETWEEN \(start.rawValue) AND \(now.rawValue))
                    OR EXISTS (SELECT FROM job WHERE expires_at IS NOT NULL AND state IN (0, 1, 3)
                        AND expires_at BETWEEN \(start.rawValue) AND \(now.rawValue)) AS has_timed,
                (SELECT string_agg(value::text, ',' ORDER BY value DESC) FROM priority) AS priorities,
                pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS lowest,
                pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next
            """
        ).first
        return ClaimFacts(
            isOwnerAlive: row?.bool("is_alive") ?? false, isQueueHeld: row?.bool("is_held") ?? false,
            hasHolds: row?.bool("has_holds") ?? false, hasTimed: row?.bool("has_timed") ?? false,
            priorities: row?.text("priorities").split(separator: ",").compactMap { Int64($0) } ?? [],
            snapshot: PostgresMarks.Snapshot(lowest: row?.int64("lowest") ?? 0, next: row?.int64("next") ?? 0))
    }

    /// A ready job that is locked for this transaction.
    struct Ready {
        var row: ReplayRow
        var turn: Int64
        var request: Data
    }

    private static let readyColumns: PostgresSQL = """
        \(columns), turn, (SELECT request FROM payload WHERE payload.job = job.id) AS request
        """

    /// Returns the first ready heads of a priority from a turn on, except those that another transaction changes.
    func ready(
        _ limit: Int, of priority: Int64, from turn: Int64, in lanes: ReplaySelection.Lanes
    ) throws(PostgresError) -> [Ready] {
        try connection.rows(
            """
            SELECT \(Self.readyColumns) FROM job
            WHERE state = 0 AND is_head AND priority = \(priority) AND turn >= \(turn) AND \(lanes.condition)
            ORDER BY priority, turn, id LIMIT \(limit) FOR UPDATE SKIP LOCKED
            """
        ).map(Ready.init)
    }

    /// Does the same as ``ready(_:of:from:in:)`` for jobs of some identities, or without one.
    func ready(
        _ limit: Int, of priority: Int64, from turn: Int64, in lanes: ReplaySelection.Lanes, identities: [String]
    ) throws(PostgresError) -> [Ready] {
        // Each identity has its own part of the index. Twice as many as needed, because others may claim them meanwhile.
        try connection.rows(
            """
            WITH candidate AS MATERIALIZED (
                SELECT found.id FROM unnest(\(identities)) AS name, LATERAL (
                    SELECT id FROM job WHERE state = 0 AND is_head AND identity IS NOT NULL AND identity = name
                        AND priority = \(priority) AND turn >= \(turn) AND \(lanes.condition)
                    ORDER BY priority, turn, id LIMIT \(limit * 2)) AS found
                UNION ALL (
                    SELECT id FROM job WHERE state = 0 AND is_head AND identity IS NULL
                        AND priority = \(priority) AND turn >= \(turn) AND \(lanes.condition)
                    ORDER BY priority, turn, id LIMIT \(limit * 2)))
            SELECT \(Self.readyColumns) FROM job
            WHERE id = ANY(ARRAY(SELECT id FROM candidate)) AND state = 0 AND is_head
            ORDER BY turn, id LIMIT \(limit) FOR UPDATE SKIP LOCKED
            """
        ).map(Ready.init)
    }

    /// Claims ready jobs that may be sent, and holds or ends the others.
    func claim(_ ready: [Ready], by owner: Int64, hasHolds: Bool) throws(PostgresError) -> [ReplayClaim] {
        let holds = hasHolds ? try holds(on: ready.map(\.row)) : Holds()
        var claims: [ReplayClaim] = []
        var changes: [Change] = []
        for job in ready {
            var row = job.row
            if holds.cover(row) {
                row.enter(.held, reason: .held)
                changes.append(Change(row: row, verb: .hold, old: .ready))
            } else if let reason = row.reviewReason(at: now) {
                row.enter(.needsReview, reason: reason)
                changes.append(Change(row: row, verb: .fail, old: .ready))
            } else if ReplayRow.digest(of: job.request) != row.digest {
                row.markDamaged()
                changes.append(Change(row: row, verb: .fail, old: .ready))
            } else {
                row.claim(by: owner)
                claims.append(ReplayClaim(id: row.id, token: row.token, request: job.request))
                changes.append(Change(row: row, verb: .claim, old: .ready))
            }
        }
        // Those that leave their lines.
        try lock(changes.filter { !$0.row.isOpen }.map(\.row.orderingKey))
        try save(changes)
        return claims
    }

    /// Returns the claim of a job that an owner runs; `nil` if it does not run it.
    func claim(of id: Int64, by owner: Int64) throws(PostgresError) -> ReplayClaim? {
        guard let row = try rows([id], isRunning: true)[id]?.row, row.state == .running, row.owner == owner,
            let request = try request(of: id)
        else { return nil }
        return ReplayClaim(id: id, token: row.token, request: request)
    }

    /// Marks a job that its owner has claimed, so that it is found if the commit is not answered.
    func mark(_ id: Int64, by mark: Int64) throws(PostgresError) {
        try connection.run("UPDATE job SET turn = \(mark) WHERE id = \(id)")
    }

    /// Makes waiting jobs ready that have reached their time, and ends those that have expired, one batch of each.
    ///
    /// - Returns: whether there may be more.
    func handleTimes(from start: QueueTime) throws(PostgresError) -> Bool {
        let due = try connection.rows(
            """
            SELECT \(Self.columns) FROM job WHERE state = 1 AND run_at BETWEEN \(start.rawValue) AND \(now.rawValue)
            ORDER BY run_at LIMIT \(Self.batchSize) FOR UPDATE SKIP LOCKED
            """
        ).map(ReplayRow.init)
        try save(
            due.map { row in
                var row = row
                row.promote()
                return Change(row: row, verb: .retry, old: .waiting)
            })
        let ids = try connection.ids(
            """
            SELECT id FROM job WHERE expires_at IS NOT NULL AND state IN (0, 1, 3)
                AND expires_at BETWEEN \(start.rawValue) AND \(now.rawValue)
            ORDER BY expires_at LIMIT \(Self.batchSize)
            """)
        let isMore = due.count == Self.batchSize || ids.count == Self.batchSize
        guard !ids.isEmpty else { return isMore }
        var changes: [Change] = []
        for stored in try rows(ids, isRunning: true).values {
            var row = stored.row
            guard row.isExpired(at: now) else { continue }
            row.expire()
            changes.append(Change(row: row, verb: .expire, old: stored.row.state))
        }
        try save(changes.sorted { $0.row.id < $1.row.id })
        return isMore
    }
}

extension PostgresJobs.Ready {
    fileprivate init(_ row: PostgresRows.Row) {
        self.init(row: ReplayRow(row), turn: row.int64("turn"), request: row.data("request"))
    }
}
#endif
