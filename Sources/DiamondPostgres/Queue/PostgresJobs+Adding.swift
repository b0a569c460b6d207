#if Postgres && canImport(CDiamondPostgres)
import Diamond
import Foundation

/// Adding jobs, and replacing their requests.
extension PostgresJobs {
    /// Adds drafts in their order.
    ///
    /// - Parameters:
    ///   - ids: the reserved ids; `nil` for new ones.
    ///   - owner: the owner that sends the job at once, if it is a single one; `nil` if the jobs wait for a claim.
    ///   - limit: the maximum number of open jobs; `nil` if it was checked.
    /// - Returns: the rows; `nil` if they exceed the limit.
    func insert(
        _ drafts: [ReplayDraft], ids: [Int64]? = nil, owner: Int64? = nil, limit: Int? = nil
    ) throws(PostgresError) -> [ReplayRow]? {
        let keys = drafts.compactMap(\.policy.orderingKey)
        try lock(keys)
        var found = try insertionFacts(of: drafts, keys: keys, ids: ids, limit: limit)
        if let limit {
            let count = found.openCount + openChange + drafts.count
            openCount = count
            if count > limit { return nil }
        }
        var rows: [ReplayRow] = []
        var areBehind: [Bool] = []
        for (draft, id) in zip(drafts, found.ids) {
            let key = draft.policy.orderingKey
            let place = key.map { found.enter(id, into: Data($0.utf8)) } ?? (isHead: true, isBehind: false)
            let isCovered = found.holds.cover(key: key, identity: draft.identity, lane: draft.lane)
            var row = ReplayRow(draft, id: id, isHead: place.isHead, isCovered: isCovered, at: now)
            if let owner, row.isHead, row.state == .ready, try !isQueueHeld() { row.claim(by: owner) }
            rows.append(row)
            areBehind.append(place.isBehind)
        }
        try write(rows, of: drafts, areBehind: areBehind)
        for row in rows { note(.enqueue, of: row.id, from: nil, to: row.state, reason: row.reason) }
        for (row, isBehind) in zip(rows, areBehind) where isBehind && !row.isHead { try enterLine(row) }
        return rows
    }

    private struct InsertionFacts {
        var ids: [Int64] = []
        /// The highest ids in lines that are not empty, by their keys. The server compares bytes, and not characters as
        /// `String` does.
        var lines: [Data: Int64] = [:]
        /// The highest ids of the heads of lines that have ended.
        var ends: [Data: Int64] = [:]
        var holds = Holds()
        var openCount = 0

        /// Adds a job to a line. A reserved id may be lower than those of jobs that came earlier.
        mutating func enter(_ id: Int64, into key: Data) -> (isHead: Bool, isBehind: Bool) {
            let last = lines[key]
            lines[key] = max(last ?? 0, id)
            return (last == nil, id <= max(last ?? 0, ends[key] ?? 0))
        }
    }

    /// Reads all that an insertion depends on in one round trip. The ids are drawn after the keys are locked, so that they
    /// ascend in each line.
    private func insertionFacts(
        of drafts: [ReplayDraft], keys: [String], ids: [Int64]?, limit: Int?
    ) throws(PostgresError) -> InsertionFacts {
        let holds = Self.holds(
            keys: "\(keys)", identities: "\(drafts.compactMap(\.identity))", lanes: "\(drafts.map(\.lane))")
        let ends: PostgresSQL = """
            SELECT key, \(Self.lastEnd(of: "key")) AS last FROM (SELECT DISTINCT unnest(\(keys)) AS key) AS keys
            """
        let rows = try connection.rows(
            """
            SELECT 'id' AS kind, '' AS name, nextval('job_id') AS number
                FROM generate_series(1, \(ids == nil ? drafts.count : 0))
            UNION ALL SELECT 'line', key, greatest(
                    (SELECT id FROM job WHERE ordering_key = key AND id > last ORDER BY ordering_key DESC, id DESC LIMIT 1),
                    (SELECT id FROM job WHERE ordering_key = key AND is_behind
                        ORDER BY ordering_key DESC, id DESC LIMIT 1)) FROM (\(ends)) AS line
            UNION ALL SELECT 'end', key, last FROM (\(ends)) AS line WHERE \(ids != nil)
            UNION ALL SELECT 'hold', hold, 0 FROM (\(holds)) AS holds
            UNION ALL SELECT 'open', '', sum(count)::bigint FROM (
                SELECT count FROM total WHERE hour = 0 AND name = ANY('{0,1,2,3}')
                UNION ALL SELECT change FROM tally WHERE hour = 0 AND name = ANY('{0,1,2,3}')) AS open
                WHERE \(limit != nil)
            """)
        var facts = InsertionFacts()
        facts.ids = ids ?? []
        var names: [String] = []
        for index in 0..<rows.count {
            let row = rows[index]
            switch row.text("kind") {
            case "id": facts.ids.append(row.int64("number"))
            case "line": facts.lines[row.data("name")] = row.integer("number")
            case "end": facts.ends[row.data("name")] = row.int64("number")
            case "hold": names.append(row.text("name"))
            default: facts.openCount = Int(row.int64("number"))
            }
        }
        facts.holds = Holds(names)
        return facts
    }

    private func write(_ rows: [ReplayRow], of drafts: [ReplayDraft], areBehind: [Bool]) throws(PostgresError) {
        let details = drafts.map(ReplayDetails.init)
        let ids = rows.map(\.id)
        try connection.run(
            """
            INSERT INTO job (id, state, reason, identity, ordering_key, is_strict, is_head, is_behind, is_held, priority,
                run_at, expires_at, enqueued_at, changed_at, attempts, attempt_limit, token, owner, unknown_at,
                key_lifetime, is_idempotent, unique_key, idempotency_key, method, url, host, lane, kind, tags, metadata,
                digest, creates)
            SELECT id, state, reason, identity, ordering_key, is_strict, is_head, is_behind, is_held, priority, run_at,
                expires_at, \(now.rawValue), \(now.rawValue), 0, attempt_limit, token, owner, unknown_at, key_lifetime,
                is_idempotent, unique_key, idempotency_key, method, url, host, lane, kind, tags, metadata, digest, creates
            FROM unnest(\(ids), \(rows.map(\.state.rawValue)), \(rows.map(\.reason.description)), \(rows.map(\.identity)),
                \(rows.map(\.orderingKey)), \(rows.map(\.isStrict)), \(rows.map(\.isHead)), \(areBehind),
                \(rows.map(\.isHeld)), \(drafts.map(\.policy.priority)), \(rows.map(\.runAt.rawValue)),
                \(rows.map { $0.expiresAt?.rawValue }),
                \(rows.map(\.attemptLimit)), \(rows.map(\.token)), \(rows.map(\.owner)),
                \(rows.map { $0.unknownSince?.rawValue }), \(rows.map(\.keyLifetime)), \(rows.map(\.isIdempotent)),
                \(rows.map(\.uniqueKey)), \(details.map(\.idempotencyKey)), \(rows.map(\.method)), \(details.map(\.url)),
                \(details.map(\.host)), \(rows.map(\.lane)), \(details.map(\.kind)), \(details.map(\.tags)),
                \(details.map(\.metadata)), \(rows.map(\.digest)), \(rows.map(\.creates)))
                AS new (id, state, reason, identity, ordering_key, is_strict, is_head, is_behind, is_held, priority,
                    run_at, expires_at, attempt_limit, token, owner, unknown_at, key_lifetime, is_idempotent, unique_key,
                    idempotency_key, method, url, host, lane, kind, tags, metadata, digest, creates)
            """)
        try connection.run(
            """
            INSERT INTO payload (job, call, request)
            SELECT * FROM unnest(\(ids), \(details.map(\.call)), \(drafts.map(\.request)))
            """)
        let answered = zip(rows, drafts).filter { $0.1.storesAnswer }.map(\.0.id)
        if !answered.isEmpty { try expectAnswers(of: answered) }
        try addPriorities(Set(drafts.map(\.policy.priority)))
    }

    func addPriorities(_ values: Set<Int>) throws(PostgresError) {
        try connection.run(
            """
            INSERT INTO priority SELECT value FROM unnest(\(values.sorted())) AS value
            WHERE NOT EXISTS (SELECT FROM priority WHERE priority.value = value.value) ON CONFLICT DO NOTHING
            """)
    }

    func expectAnswers(of ids: [Int64], reset isReset: Bool = false) throws(PostgresError) {
        if isReset { try deleteAnswers(of: ids) }
        try connection.run("INSERT INTO answer (job) SELECT unnest(\(ids)) ON CONFLICT DO NOTHING")
    }

    func deleteAnswers(of ids: [Int64]) throws(PostgresError) {
        try connection.run("DELETE FROM answer WHERE job = ANY(\(ids))")
    }

    // MARK: One draft

    /// Adds a draft as a job, or applies its uniqueness policy to the open job with its unique name.
    ///
    /// - Parameter entry: has the maximum number of open jobs, and the rules to merge requests.
    func add(
        _ draft: ReplayDraft, as id: Int64? = nil, of entry: ReplayEntry, owner: Int64? = nil
    ) throws(PostgresError) -> ReplayAddition {
        try lock([draft.policy.orderingKey])
        if let refusal = try refusal(of: draft) { return .refused(refusal) }
        var other: ReplayRow?
        if let key = draft.uniqueKey { other = try openJob(named: key) }
        if let other, let addition = try applyUniqueness(of: draft, to: other, entry) { return addition }
        // The new job takes over the name.
        if let other { try connection.run("UPDATE job SET has_name = false WHERE id = \(other.id)") }
        let limit = entry.maximumCount
        guard let row = try insert([draft], ids: id.map { [$0] }, owner: owner, limit: limit)?.first else {
            // Nothing was written that the caller does not undo.
            return .refused(.queueFull(limit))
        }
        try apply(draft.history, to: row.id)
        if !draft.awaitedIDs.isEmpty { try link(draft.policy, to: row.id) }
        // Jobs may wait for the object since an earlier job failed to create it.
        if !row.creates.isEmpty { try updateReasons(awaiting: row.creates) }
        return .added(row.id)
    }

    /// Applies the attempts made before the job was added. They count like the job's own.
    private func apply(_ history: ReplayDraft.History, to id: Int64) throws(PostgresError) {
        try add(history.failures.map { (id, $0) })
        guard let outcome = history.outcome, var row = try row(id)?.row else { return }
        let old = row.state
        row.apply(outcome, at: now, draw: history.draw)
        try updateState(of: &row)
        try save(row, .fail, from: old)
    }

    /// Returns the job that has a unique name and may still be sent. A job that has expired ends here, if no claim has
    /// ended it yet.
    private func openJob(named key: Data) throws(PostgresError) -> ReplayRow? {
        guard let id = try jobID(named: key), var row = try row(id)?.row else { return nil }
        guard row.isExpired(at: now) else { return row }
        let old = row.state
        row.expire()
        try save(row, .expire, from: old)
        return nil
    }

    func jobID(named key: Data) throws(PostgresError) -> Int64? {
        try connection.rows("SELECT id FROM job WHERE unique_key = \(key) AND has_name AND state < 4").first?.int64(
            "id")
    }

    // MARK: Uniqueness

    /// - Returns: the result; `nil` if the draft is to be added as another job.
    private func applyUniqueness(
        of draft: ReplayDraft, to other: ReplayRow, _ entry: ReplayEntry
    ) throws(PostgresError) -> ReplayAddition? {
        if draft.policy.uniqueness == .keep { return .kept(other.id) }
        // A request that may have been sent is not changed: the server would take the change for a repetition.
        guard other.state != .running, !other.mayBeKnown, draft.history.unknownSince == nil else { return nil }
        guard draft.policy.uniqueness != .merge else { return try merge(draft, into: other, entry) }
        guard draft.mayReplace(other) else {
            try discard(other)
            return nil
        }
        try replace(other, by: draft)
        try apply(draft.history, to: other.id)
        return .replaced(other.id)
    }

    private func merge(
        _ draft: ReplayDraft, into other: ReplayRow, _ entry: ReplayEntry
    ) throws(PostgresError) -> ReplayAddition? {
        guard draft.mayReplace(other) else { return .refused(.cannotMerge(into: other.id)) }
        guard let old = try request(of: other.id) else { return nil }
        switch Result(catching: { () throws(ReplayError) in try entry.merged(draft, into: old) }) {
        case .success(.one(let merged)):
            if let refusal = try refusal(of: merged) { return .refused(refusal) }
            try replace(other, by: merged)
            return .replaced(other.id)
        case .success(.none):
            // The object will never have an id.
            if !other.creates.isEmpty, case .string(let localID)? = draft.policy.metadata["localID"] {
                try discardJobs(awaiting: localID)
            }
            try discard(other)
            return .merged
        case .failure(let error): return .refused(error)
        }
    }

    /// Discards a job that was not sent, and has been replaced.
    private func discard(_ row: ReplayRow) throws(PostgresError) {
        var new = row
        new.enter(.done, reason: .replaced)
        try deleteAnswers(of: [row.id])
        try save(new, .discard, from: row.state)
    }

    /// Replaces the request of a job that was not sent.
    func replace(_ row: ReplayRow, by draft: ReplayDraft) throws(PostgresError) {
        let details = ReplayDetails(draft)
        var new = row
        new.replace(by: draft, at: now)
        try connection.run(
            """
            UPDATE job SET method = \(new.method), url = \(details.url), host = \(details.host), tags = \(details.tags),
                metadata = \(details.metadata), is_idempotent = \(new.isIdempotent),
                idempotency_key = \(details.idempotencyKey), key_lifetime = \(new.keyLifetime), kind = \(details.kind),
                attempt_limit = \(new.attemptLimit), priority = \(draft.policy.priority), digest = \(new.digest),
                creates = \(new.creates)
            WHERE id = \(row.id)
            """)
        try connection.run(
            "UPDATE payload SET request = \(draft.request), call = \(details.call) WHERE job = \(row.id)")
        try addPriorities([draft.policy.priority])
        if draft.storesAnswer { try expectAnswers(of: [row.id]) }
        try updateState(of: &new)
        try save(new, .edit, from: row.state)
        if row.isHeld || !draft.awaitedIDs.isEmpty { try link(draft.policy, to: row.id) }
    }
}

extension ReplayDraft {
    /// Whether the draft may replace the request of a job: both have the same ordering key, order and lane.
    fileprivate func mayReplace(_ row: ReplayRow) -> Bool {
        policy.orderingKey == row.orderingKey && (policy.order == .strict) == row.isStrict && lane == row.lane
    }

    /// Whether adding it only adds a row, so that many drafts are added together.
    var isPlain: Bool {
        uniqueKey == nil && awaitedIDs.isEmpty && createdID == nil && history.failures.isEmpty && history.outcome == nil
    }
}
#endif
