#if Postgres && canImport(CDiamondPostgres)
public import Diamond
import DiamondSQLite
import Foundation

/// Claiming and sending jobs.
extension PostgresReplayStorage {
    public func hasReady(in lanes: ReplaySelection.Lanes) async throws(ReplayError) -> Bool {
        guard lanes != .none else { return false }
        // A claim that may have been committed is the only one that finds its jobs.
        if lostClaims.withLock({ !$0.isEmpty }) { return true }
        let now = Uptime.now
        marks.withLock { $0.begin(on: pool.madeCount) }
        let (marks, sweep) = marks.withLock { ($0, $0.sweep(at: now)) }
        let found = try await replaying { (storage) throws(PostgresError) in
            try await storage.pool.run { (connection) throws(PostgresError) -> (priority: Int64, turn: Int64)? in
                let priorities = try connection.rows("SELECT value FROM priority ORDER BY value DESC")
                for priority in priorities.map({ $0.int64("value") }) {
                    let first = try connection.rows(
                        """
                        SELECT turn FROM job WHERE state = 0 AND is_head AND priority = \(priority)
                            AND turn >= \(marks.start(priority, sweep)) AND \(lanes.condition)
                        ORDER BY priority, turn, id LIMIT 1
                        """
                    ).first
                    if let first { return (priority, first.int64("turn")) }
                }
                return nil
            }
        }
        guard let found else { return false }
        self.marks.withLock { $0.lower(found.priority, to: found.turn) }
        return true
    }

    public func nextTime() async throws(ReplayError) -> QueueTime? {
        let start = marks.withLock { $0.usualStartOfTimes }
        return try await replaying { (storage) throws(PostgresError) in
            try await storage.pool.run { (connection) throws(PostgresError) in
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
    }

    // MARK: Claiming

    public func claim(
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
                return claims
            } catch {
                if error.isOutcomeUnknown { storage.noteLostClaim(by: owner, mark) }
                throw error
            }
        }
    }

    /// Notes a claim whose commit was not answered, unless its owner was given up: then others rescue the jobs.
    func noteLostClaim(by owner: Int64, _ mark: Int64) {
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
        let (marks, sweep) = self.marks.withLock { ($0, owner == nil ? .full : $0.sweep(at: now)) }
        var found: [PostgresJobs.Ready] = []
        for priority in facts.priorities where found.count < limit {
            let rest = limit - found.count
            let ready: [PostgresJobs.Ready]
            if case .only(let names) = selection.identities {
                ready = try jobs.ready(
                    rest, priority, from: marks.start(priority, sweep), identities: names.sorted(), selection.lanes)
            } else {
                ready = try jobs.ready(rest, priority, from: marks.start(priority, sweep), selection.lanes)
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

    public func claimPreview(
        _ limit: Int, of identities: ReplaySelection.Identities
    ) async throws(ReplayError) -> ReplayQueue.ClaimPreview {
        try await replaying { (storage) throws(PostgresError) in
            try await storage.write(isDryRun: true) { (jobs) throws(PostgresError) in
                var places: [PostgresMarks.Place] = []
                _ = try storage.claim(limit, ReplaySelection(identities), by: nil, of: jobs, places: &places)
                let remaining = try jobs.connection.rows(
                    "SELECT count(*) AS count FROM job WHERE state = 0 AND \(identities.condition)"
                ).first
                return ReplayQueue.ClaimPreview(
                    transitions: jobs.commit.transitions, remaining: Int(remaining?.int64("count") ?? 0))
            }
        }
    }

    // MARK: Sending

    public func begin(
        _ claim: ReplayClaim, _ start: ReplayStart, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> Bool {
        try await replaying { (storage) throws(PostgresError) in
            try await storage.beginnings.call((claim, start, owner)) { (items) throws(PostgresError) in
                try await storage.write(isRepeatable: true) { (jobs) throws(PostgresError) in try jobs.begin(items) }
            }
        }
    }

    public func cancelBegin(
        _ claim: ReplayClaim, if isUnsent: @escaping @Sendable () -> Bool
    ) async throws(ReplayError) {
        try await replaying { (storage) throws(PostgresError) in
            try await storage.write(isRepeatable: true) { (jobs) throws(PostgresError) in
                guard isUnsent(), var row = try jobs.rows([claim.id], isRunning: true)[claim.id]?.row,
                    row.token == claim.token, row.state == .running
                else { return }
                row.sentAt = nil
                try jobs.saveSending([row])
            }
        }
    }

    public func finish(_ claim: ReplayClaim, _ report: ReplayReport) async throws(ReplayError) -> ReplayState? {
        try await replaying { (storage) throws(PostgresError) in
            try await storage.endings.call((claim, report)) { (items) throws(PostgresError) in
                try await storage.write(isRepeatable: true) { (jobs) throws(PostgresError) in try jobs.finish(items) }
            }
        }
    }

    public func retryEarly(_ retry: ReplayEarlyRetry) async throws(ReplayError) -> Bool {
        let start = try moment().time
        var isFirst = true
        while true {
            let count = try await replaying { (storage) throws(PostgresError) in
                try await storage.write { (jobs) throws(PostgresError) in try jobs.retryEarly(retry, since: start) }
            }
            guard count > 0 else { return !isFirst }
            isFirst = false
            guard count >= PostgresJobs.batchSize else { return true }
        }
    }
}

extension PostgresJobs {
    typealias Beginning = (claim: ReplayClaim, start: ReplayStart, owner: Int64)
    typealias Ending = (claim: ReplayClaim, report: ReplayReport)

    /// Whether an owner may still act: it has a row, and its lease has not ended.
    func isAlive(_ owner: Int64) throws(PostgresError) -> Bool { try alive([owner]).contains(owner) }

    private func alive(_ owners: [Int64]) throws(PostgresError) -> Set<Int64> {
        Set(
            try connection.rows(
                """
                SELECT id FROM owner WHERE id = ANY(\(owners)) AND lease_until > \(clock.sql)
                ORDER BY id FOR KEY SHARE
                """
            ).map { $0.int64("id") })
    }

    // MARK: Claiming

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

    /// Reads the facts in one round trip. Their snapshot is older than that of the search. The owner's row is locked, so
    /// that nobody rescues its jobs before this claim is complete.
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
        _ limit: Int, _ priority: Int64, from turn: Int64, _ lanes: ReplaySelection.Lanes
    ) throws(PostgresError) -> [Ready] {
        try connection.rows(
            """
            SELECT \(Self.readyColumns) FROM job
            WHERE state = 0 AND is_head AND priority = \(priority) AND turn >= \(turn) AND \(lanes.condition)
            ORDER BY priority, turn, id LIMIT \(limit) FOR UPDATE SKIP LOCKED
            """
        ).map(Ready.init)
    }

    /// Does the same as ``ready(_:_:from:_:)`` for jobs of some identities, or without one.
    func ready(
        _ limit: Int, _ priority: Int64, from turn: Int64, identities: [String], _ lanes: ReplaySelection.Lanes
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
            WHERE id IN (SELECT id FROM candidate) AND state = 0 AND is_head
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
                row.state = .held
                row.reason = .held
                changes.append(Change(row: row, verb: .hold, old: .ready))
            } else if let reason = row.reviewReason(at: now) {
                row.state = .needsReview
                row.reason = reason
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
    func mark(_ id: Int64, _ mark: Int64) throws(PostgresError) {
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
        let ids = try connection.rows(
            """
            SELECT id FROM job WHERE expires_at IS NOT NULL AND state IN (0, 1, 3)
                AND expires_at BETWEEN \(start.rawValue) AND \(now.rawValue)
            ORDER BY expires_at LIMIT \(Self.batchSize)
            """
        ).map { $0.int64("id") }
        let isMore = due.count == Self.batchSize || ids.count == Self.batchSize
        guard !ids.isEmpty else { return isMore }
        var changes: [Change] = []
        for stored in try rows(ids, isRunning: true).values {
            var row = stored.row
            guard !row.state.isEnd, row.state != .running, let end = row.expiresAt, end <= now else { continue }
            row.expire()
            changes.append(Change(row: row, verb: .expire, old: stored.row.state))
        }
        try save(changes.sorted { $0.row.id < $1.row.id })
        return isMore
    }

    // MARK: Sending

    /// Checks jobs for the last time, and notes that their attempts begin.
    func begin(_ beginnings: [Beginning]) throws(PostgresError) -> [Bool] {
        let alive = try alive(beginnings.map(\.owner))
        let stored = try rows(beginnings.map(\.claim.id), isRunning: true)
        let isQueueHeld = try isQueueHeld()
        let holds = try holds(on: stored.values.map(\.row))
        var begun: [ReplayRow] = []
        var changes: [Change] = []
        let results = beginnings.map { (claim, start, owner) -> Bool in
            guard alive.contains(owner), var row = stored[claim.id]?.row, row.token == claim.token,
                row.state == .running
            else { return false }
            var verb = row.refuseBegin(start, by: owner, at: now)
            if verb == nil, !start.isUnderWay, isQueueHeld || holds.cover(row) {
                row.giveBack(at: now)
                verb = .fail
            }
            guard let verb else {
                row.begin(start, at: now)
                begun.append(row)
                return true
            }
            let isGivenBack = row.reason == .returned && verb == .fail
            row.updateState(at: now) { holds.cover($0) }
            if isGivenBack, row.state == .held { row.reason = .held }
            changes.append(
                Change(row: row, verb: isGivenBack && row.state == .held ? .hold : verb, old: .running))
            return false
        }
        try saveSending(begun)
        try save(changes)
        return results
    }

    /// Writes the outcomes of jobs.
    func finish(_ endings: [Ending]) throws(PostgresError) -> [ReplayState?] {
        let stored = try rows(endings.map(\.claim.id), isRunning: true)
        // Repeated calls, after a commit whose outcome was unknown, and those of owners that have lost their jobs.
        let others = endings.map(\.claim.id).filter { stored[$0]?.row.state != .running }
        let ended = others.isEmpty ? [:] : try rows(others)
        let holds = try holds(on: stored.values.map(\.row))
        var changes: [Change] = []
        var failures: [(id: Int64, failure: ReplayDraft.History.Failure)] = []
        var states: [ReplayState?] = []
        var finished: Set<Int64> = []
        for (claim, report) in endings {
            guard var row = stored[claim.id]?.row, row.state == .running, row.token == claim.token,
                finished.insert(claim.id).inserted
            else {
                let row = ended[claim.id]?.row
                states.append(row?.token == claim.token && row?.state.isEnd == true ? row?.state : nil)
                continue
            }
            let failure = try row.finish(report, at: now) { (code) throws(PostgresError) in
                try connection.rows("SELECT FROM attempt WHERE job = \(claim.id) AND code = \(code)").count > 0
            }
            if let failure { failures.append((claim.id, failure)) }
            row.updateState(at: now) { holds.cover($0) }
            changes.append(Change(row: row, verb: row.state == .done ? .finish : .fail, old: .running))
            states.append(row.state)
        }
        try save(changes)
        try add(failures)
        for (claim, report) in endings {
            guard let answer = report.answer, let row = changes.first(where: { $0.row.id == claim.id })?.row else {
                continue
            }
            try keep(answer, of: row)
        }
        return states
    }

    /// Stores the answer to a job that has ended, and puts the id in it into the requests that wait for it.
    private func keep(_ answer: ReplayAnswer, of row: ReplayRow) throws(PostgresError) {
        guard row.state.isEnd else { return }
        try connection.run(
            """
            UPDATE answer SET status = \(answer.statusCode), content = \(answer.content), received_at = \(now.rawValue)
            WHERE job = \(row.id)
            """)
        if row.state == .done, !row.creates.isEmpty { try assignID(in: answer, of: row) }
    }

    /// Makes a batch of waiting jobs ready before their time.
    ///
    /// - Parameter start: the time at the start of the early retry. Jobs that fail later are left out.
    func retryEarly(_ retry: ReplayEarlyRetry, since start: QueueTime) throws(PostgresError) -> Int {
        var changes: [Change] = []
        for search in retry.searches where changes.count < Self.batchSize {
            let rows = try connection.rows(
                """
                SELECT \(Self.columns) FROM job WHERE state = 1 AND is_head AND \(search.condition)
                    AND changed_at <= \(retry.failureLimit(at: start).rawValue) AND run_at > \(start.rawValue)
                ORDER BY id LIMIT \(Self.batchSize - changes.count) FOR UPDATE SKIP LOCKED
                """
            ).map(ReplayRow.init)
            for var row in rows where retry.waits.contains(row.reason) {
                row.retryEarly(retry, at: now)
                changes.append(Change(row: row, verb: .retry, old: .waiting))
            }
        }
        try save(changes)
        return changes.count
    }
}

extension PostgresJobs.Ready {
    fileprivate init(_ row: PostgresRows.Row) {
        self.init(row: ReplayRow(row), turn: row.int64("turn"), request: row.data("request"))
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

extension ReplayEarlyRetry.Search {
    fileprivate var condition: PostgresSQL {
        switch self {
        case .failed(let code, let origin):
            """
            reason = 'backoff' AND failure = \(code) AND host = \(origin.afterScheme) AND starts_with(url, \(origin))
            """
        case .failedAnywhere(let code): "reason = 'backoff' AND failure = \(code)"
        case .backoff: "reason = 'backoff'"
        case .offline: "reason = 'offline'"
        case .released: "reason = 'released' AND failure IS NOT NULL"
        }
    }
}

extension String {
    /// The part of an origin after `://`.
    fileprivate var afterScheme: String { range(of: "://").map { String(self[$0.upperBound...]) } ?? self }
}
#endif
