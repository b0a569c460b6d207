#if Postgres && canImport(CDiamondPostgres)
package import Diamond
package import Foundation

/// Reading jobs, holds and answers.
extension PostgresReplayStorage {
    package func job(_ id: ReplayJob.ID) throws(ReplayError) -> ReplayJob? {
        try jobs("id = \(id)", "id").first
    }

    package func jobs(
        _ filter: ReplayFilter, after id: ReplayJob.ID, limit: Int
    ) throws(ReplayError) -> [ReplayJob] {
        try jobs("id > \(id) AND \(filter.condition(at: clock.moment))", "id LIMIT \(limit)")
    }

    /// - Parameters:
    ///   - condition: the condition for the jobs.
    ///   - order: the columns that they are ordered by, and the limit.
    private func jobs(_ condition: PostgresSQL, _ order: PostgresSQL) throws(ReplayError) -> [ReplayJob] {
        let moment = clock.moment
        return try read { (connection) throws(PostgresError) in
            try connection.rows(Self.select(condition, order)).map { ReplayJob($0, at: moment) }
        }
    }

    private static func select(_ condition: PostgresSQL, _ order: PostgresSQL) -> PostgresSQL {
        """
        SELECT \(PostgresJobs.columns), priority, enqueued_at, changed_at, url, host, tags, metadata, kind,
            idempotency_key, (SELECT call FROM payload WHERE payload.job = every_job.id) AS call,
            CASE WHEN reason IN ('awaitingID', 'creationFailed') THEN (SELECT string_agg(id::text, ',') FROM (
                SELECT max(other.id) AS id FROM edge JOIN every_job AS other
                    ON other.creates = edge.name AND other.creates <> ''
                WHERE edge.job = every_job.id GROUP BY edge.name) AS creators) END AS awaited_jobs,
            (SELECT taken_at IS NOT NULL FROM answer WHERE answer.job = every_job.id) AS is_taken
        FROM every_job WHERE \(condition) ORDER BY \(order)
        """
    }

    package func ids(
        _ filter: ReplayFilter, after id: ReplayJob.ID, limit: Int
    ) throws(ReplayError) -> [ReplayJob.ID] {
        let condition = filter.condition(at: clock.moment)
        return try read { (connection) throws(PostgresError) in
            try connection.ids(
                "SELECT id FROM every_job WHERE id > \(id) AND \(condition) ORDER BY id LIMIT \(limit)")
        }
    }

    package func lastID() throws(ReplayError) -> ReplayJob.ID {
        try number("SELECT greatest((SELECT max(id) FROM job), (SELECT max(id) FROM ended), 0) AS number")
    }

    package func count(_ filter: ReplayFilter) throws(ReplayError) -> Int {
        Int(try number("SELECT count(*) AS number FROM every_job WHERE \(filter.condition(at: clock.moment))"))
    }

    private func number(_ sql: PostgresSQL) throws(ReplayError) -> Int64 {
        try read { (connection) throws(PostgresError) in try connection.rows(sql).first?.int64("number") ?? 0 }
    }

    package func counts() throws(ReplayError) -> [ReplayState: Int] {
        let rows = try read { (connection) throws(PostgresError) in
            try connection.rows(
                """
                SELECT name, sum(count)::bigint AS count FROM (
                    SELECT name, change AS count FROM tally WHERE hour = 0
                    UNION ALL SELECT name, count FROM total WHERE hour = 0) AS counts
                GROUP BY name
                """
            ).map { (state: Int($0.text("name")).flatMap(ReplayState.init(rawValue:)), count: Int($0.int64("count"))) }
        }
        var counts = Dictionary(uniqueKeysWithValues: ReplayState.allCases.map { ($0, 0) })
        for row in rows { if let state = row.state { counts[state] = max(0, row.count) } }
        return counts
    }

    package func request(of id: ReplayJob.ID) throws(ReplayError) -> Data? {
        let (request, digest) = try read { (connection) throws(PostgresError) -> (Data?, Int64?) in
            let row = try connection.rows(
                """
                SELECT request, (SELECT digest FROM every_job WHERE id = job) AS digest FROM payload WHERE job = \(id)
                """
            ).first
            return (row?.optionalData("request"), row?.integer("digest"))
        }
        guard let request, let digest else { return nil }
        guard ReplayRow.digest(of: request) == digest else {
            throw ReplayError(.badRequest, "job \(id) is damaged: its request is not the one that was written")
        }
        return request
    }

    package func failures(of id: ReplayJob.ID) throws(ReplayError) -> [ReplayFailure] {
        let moment = clock.moment
        return try read { (connection) throws(PostgresError) in
            try connection.rows(
                "SELECT number, started_at, ended_at, code, message FROM attempt WHERE job = \(id) ORDER BY id"
            ).map { row in
                ReplayFailure(
                    number: Int(row.int64("number")), startedAt: moment.date(of: row.time("started_at")),
                    endedAt: moment.date(of: row.time("ended_at")), code: row.text("code"), message: row.text("message")
                )
            }
        }
    }

    package func holds() throws(ReplayError) -> [ReplayQueue.ActiveHold] {
        let moment = clock.moment
        return try read { (connection) throws(PostgresError) in
            try connection.rows("SELECT kind, name, reason, since FROM hold ORDER BY kind, name").map { row in
                ReplayQueue.ActiveHold(
                    hold: ReplayHold(kind: row.text("kind"), name: row.text("name")), reason: row.text("reason"),
                    since: moment.date(of: row.time("since")))
            }
        }
    }

    package func history(since date: Date) throws(ReplayError) -> [ReplayQueue.HourlyCount] {
        let moment = clock.moment
        let first = moment.time(of: date).hour
        return try read { (connection) throws(PostgresError) in
            try connection.rows(
                """
                SELECT hour, name, sum(count)::bigint AS count FROM (
                    SELECT hour, name, change AS count FROM tally UNION ALL SELECT hour, name, count FROM total) AS counts
                WHERE hour > 0 AND hour >= \(first) GROUP BY hour, name ORDER BY hour, name
                """
            ).map { row in
                ReplayQueue.HourlyCount(
                    hour: moment.date(of: QueueTime(rawValue: row.int64("hour") * 3_600_000)), verb: row.text("name"),
                    count: Int(row.int64("count")))
            }
        }
    }

    package func keys(
        limit: Int, onlyBlocked: Bool, includesSignedOut: Bool
    ) throws(ReplayError) -> [ReplayQueue.OrderingKey] {
        let isSignedIn: PostgresSQL = includesSignedOut ? "TRUE" : ReplayFilter.isSignedIn
        let heads = try jobs(
            """
            id IN (SELECT id FROM job AS every_job WHERE ordering_key IS NOT NULL AND is_head
                AND (NOT \(onlyBlocked) OR state IN (3, 5, 6)) AND \(isSignedIn) ORDER BY ordering_key LIMIT \(limit))
            """, "ordering_key")
        let keys = heads.compactMap(\.orderingKey)
        let counts = try read { (connection) throws(PostgresError) in
            let rows = try connection.rows(
                """
                SELECT ordering_key, count(*) AS count FROM job WHERE ordering_key = ANY(\(keys)) GROUP BY ordering_key
                """)
            // Keys are equal if their bytes are, which texts do not ask for.
            return Dictionary(
                uniqueKeysWithValues: rows.map { ($0.data("ordering_key"), Int($0.int64("count"))) })
        }
        return heads.map { ReplayQueue.OrderingKey(head: $0, count: counts[Data(($0.orderingKey ?? "").utf8)] ?? 1) }
    }

    package func changed(since time: QueueTime) throws(ReplayError) -> [ReplayJob] {
        try jobs("changed_at >= \(time.rawValue)", "changed_at, id")
    }

    package func waiting(
        limit: Int, of identities: ReplaySelection.Identities
    ) throws(ReplayError) -> [ReplayJob] {
        try jobs("state = 1 AND \(identities.condition)", "run_at, id LIMIT \(limit)")
    }

    package func unsentCount(besides owner: ReplayOwnerRecord.ID?) throws(ReplayError) -> Int {
        let latest = clock.moment.time - 60_000
        return Int(
            try number(
                """
                SELECT count(*) AS number FROM job
                WHERE state IN (0, 1) AND is_head AND run_at <= \(latest.rawValue) AND changed_at <= \(latest.rawValue)
                    AND NOT EXISTS (SELECT FROM job AS running WHERE running.owner IS NOT NULL AND running.state = 2
                        AND running.owner IS DISTINCT FROM \(owner)
                        AND running.owner IN (SELECT id FROM owner WHERE lease_until > \(clock.sql)))
                    AND NOT EXISTS (SELECT FROM hold WHERE kind IN ('queue', 'engine'))
                """))
    }

    // MARK: Answers

    package func jobsStoringAnswers(
        among ids: Set<ReplayJob.ID>?
    ) throws(ReplayError) -> [(job: ReplayJob, isConsumed: Bool)] {
        let moment = clock.moment
        let condition: PostgresSQL = if let ids { "id = ANY(\(ids.sorted()))" } else { "TRUE" }
        return try read { (connection) throws(PostgresError) in
            try connection.rows(Self.select("id IN (SELECT job FROM answer) AND \(condition)", "id")).map { row in
                (ReplayJob(row, at: moment), row.bool("is_taken"))
            }
        }
    }

    package func answer(to id: ReplayJob.ID) throws(ReplayError) -> ReplayStoredAnswer? {
        try read { (connection) throws(PostgresError) -> ReplayStoredAnswer? in
            let row = try connection.rows("SELECT status, content, received_at FROM answer WHERE job = \(id)").first
            guard let row else { return nil }
            guard let status = row.integer("status") else { return ReplayStoredAnswer.none }
            guard let answer = ReplayAnswer(statusCode: Int(status), content: row.data("content")) else {
                return .damaged
            }
            return .answer(answer, receivedAt: row.time("received_at"))
        }
    }

    package func consumeAnswers(
        of ids: [ReplayJob.ID], retaining retained: Set<ReplayJob.ID>
    ) async throws(ReplayError) {
        try await change(isRepeatable: true) { (jobs) throws(PostgresError) in
            for id in ids { jobs.touch(id) }
            let kept = ids.filter { retained.contains($0) }
            let deleted = ids.filter { !retained.contains($0) }
            try jobs.connection.run("UPDATE answer SET taken_at = \(jobs.now.rawValue) WHERE job = ANY(\(kept))")
            try jobs.deleteAnswers(of: deleted)
            let objects = try jobs.connection.rows(
                "SELECT DISTINCT creates FROM every_job WHERE id = ANY(\(deleted)) AND creates <> ''"
            ).map { $0.text("creates") }
            // An answer without the id of the object that waiting jobs need.
            for name in objects { try jobs.updateReasons(awaiting: name) }
        }
    }

    package func assign(_ id: JSONValue, to localID: String) async throws(ReplayError) {
        try await change(isRepeatable: true) { (jobs) throws(PostgresError) in try jobs.assign(id, to: localID) }
    }

    package func discardJobs(awaiting localID: String) async throws(ReplayError) {
        try await change(isRepeatable: true) { (jobs) throws(PostgresError) in
            try jobs.discardJobs(awaiting: localID)
        }
    }

    package func ids(of localIDs: Set<String>) throws(ReplayError) -> [String: JSONValue] {
        let clock = clock
        return try read { (connection) throws(PostgresError) in
            let jobs = PostgresJobs(on: connection, by: clock)
            var ids: [String: JSONValue] = [:]
            for localID in localIDs {
                ids[localID] = try jobs.object(localID).id
            }
            return ids
        }
    }
}

extension ReplayJob {
    /// - Parameter moment: converts the times of the row to the wall clock.
    fileprivate init(_ row: PostgresRows.Row, at moment: ReplayMoment) {
        var details = ReplayDetails()
        details.url = row.text("url")
        details.host = row.text("host")
        details.identity = row.optionalText("identity")
        details.orderingKey = row.optionalText("ordering_key")
        details.tags = row.text("tags")
        details.metadata = row.text("metadata")
        details.kind = row.optionalText("kind")
        details.idempotencyKey = row.optionalText("idempotency_key")
        details.call = row.optionalText("call")
        self.init(
            ReplayRow(row), details, priority: Int(row.int64("priority")), enqueuedAt: row.time("enqueued_at"),
            changedAt: row.time("changed_at"),
            awaitedJobs: row.text("awaited_jobs").split(separator: ",").compactMap { Int64($0) }.sorted(), at: moment)
    }
}

extension PostgresRows.Row {
    func time(_ column: String) -> QueueTime { QueueTime(rawValue: int64(column)) }
}

extension ReplayFilter {
    /// The condition for the jobs without an identity, and of those that have not signed out.
    static let isSignedIn: PostgresSQL = """
        NOT EXISTS (SELECT FROM hold WHERE hold.kind = 'identity' AND hold.name = every_job.identity AND is_sign_out)
        """

    /// The condition of the filter.
    func condition(at moment: ReplayMoment) -> PostgresSQL {
        var conditions: [PostgresSQL] = []
        if !states.isEmpty { conditions.append("state = ANY(\(states.map(\.rawValue).sorted()))") }
        if let orderingKey { conditions.append("ordering_key = \(orderingKey)") }
        if let identity { conditions.append("identity = \(identity)") }
        if let host { conditions.append("host = \(host.lowercased())") }
        if let tag { conditions.append("tags::jsonb ? \(tag)") }
        if let lane { conditions.append("lane = \(lane.name)") }
        if let enqueuedBefore { conditions.append("enqueued_at < \(moment.time(of: enqueuedBefore).rawValue)") }
        if identity == nil, !includesSignedOut { conditions.append(Self.isSignedIn) }
        return conditions.reduce("TRUE") { "\($0) AND \($1)" }
    }
}
#endif
