package import DiamondSQLite

/// The reads of a diagnosis of the queue. Each read is one statement, so that a concurrent write cannot look like an
/// inconsistency.
extension ReplayTable {
    /// The settings that the file records.
    package struct Settings: Hashable, Sendable {
        package var schemaVersion: Int64
        package var applicationID: Int64
        package var journalMode: String
        package var pageSize: Int64
        package var pages: Int64
    }

    /// The numbers of records that contradict each other.
    package struct Inconsistencies: Hashable, Sendable {
        /// Job states whose recorded number of jobs is wrong.
        package var census = 0
        /// Ordering keys whose first job is not marked as the first, jobs that are marked and are not first, and
        /// unfinished jobs without an ordering key that are not marked.
        package var heads = 0
        /// Jobs that are not done, without a request.
        package var payloads = 0
        /// Running jobs without an owner.
        package var owners = 0

        package init() {}
    }

    /// The time, in milliseconds, for which a job could have been sent before it counts as unsent. A replayer looks at
    /// least every 15 seconds.
    package static let unsentAge: Int64 = 60_000

    /// Returns the number of jobs that have waited for a minute although they could be sent. Returns 0 if another
    /// process sends jobs, or while the queue is held.
    ///
    /// - Parameters:
    ///   - now: the queue's time.
    ///   - uptime: the time since the boot, in milliseconds.
    ///   - owner: an owner that is ignored: its running jobs do not prove that a replayer runs; `nil` for none.
    package static func unsentCount(
        at now: QueueTime,
        uptime: Uptime,
        besides owner: Int64? = nil,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int {
        try connection.count(
            """
            SELECT (
                SELECT count(*) FROM job INDEXED BY job_by_turn
                WHERE state = 0 AND is_head = 1 AND run_at <= \(now - unsentAge) AND changed_at <= \(now - unsentAge)
            ) + (
                SELECT count(*) FROM job INDEXED BY job_by_time
                WHERE state = 1 AND is_head = 1 AND run_at <= \(now - unsentAge) AND changed_at <= \(now - unsentAge)
            )
            WHERE NOT EXISTS (
                SELECT 1 FROM job INDEXED BY job_of_owner WHERE owner IS NOT NULL AND state = 2
                    AND owner IS NOT \(owner) AND owner IN (SELECT id FROM owner WHERE lease_until > \(uptime))
            ) AND NOT EXISTS (SELECT 1 FROM hold WHERE kind IN ('queue', 'engine'))
            """
        )
    }

    package static func settings(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Settings {
        let mode = try connection.statement("PRAGMA journal_mode")
        return Settings(
            schemaVersion: try connection.integer("PRAGMA user_version"),
            applicationID: try connection.integer("PRAGMA application_id"),
            journalMode: try mode.step() ? mode.text(0) : "",
            pageSize: try connection.integer("PRAGMA page_size"),
            pages: try connection.integer("PRAGMA page_count")
        )
    }

    package static func integrityErrors(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [String] {
        let lines = try connection.rows("PRAGMA integrity_check(10)") { $0.text(0) }
        return lines == ["ok"] ? [] : lines
    }

    package static func inconsistencies(
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Inconsistencies {
        var found = Inconsistencies()
        found.census = try connection.count(
            """
            SELECT count(*) FROM census
            WHERE count <> (SELECT count(*) FROM job WHERE job.state = census.state)
            """
        )
        found.heads = try wrongHeads(on: connection)
        found.payloads = try connection.count(
            """
            SELECT count(*) FROM job WHERE state <> 4 AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.job = job.id)
            """
        )
        found.owners = try connection.count(
            "SELECT count(*) FROM job WHERE state = 2 AND (owner IS NULL OR owner NOT IN (SELECT id FROM owner))")
        return found
    }

    /// Returns the number of wrong heads: ordering keys whose head is neither the running job nor, if none runs, the
    /// first one; unfinished jobs without an ordering key that are not marked as heads; and marked jobs that are done,
    /// or that are dead or in review without strict order.
    private static func wrongHeads(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int {
        try connection.count(
            """
            SELECT (
                SELECT count(*) FROM (
                    SELECT ifnull(max(CASE WHEN state = 2 THEN id END), min(id)) AS first,
                        max(CASE WHEN is_head = 1 THEN id END) AS head
                    FROM job WHERE ordering_key IS NOT NULL AND (state < 4 OR (is_strict = 1 AND state > 4))
                    GROUP BY ordering_key
                ) WHERE first IS NOT head
            ) + (
                SELECT count(*) FROM job WHERE ordering_key IS NULL AND state < 4 AND is_head = 0
            ) + (
                SELECT count(*) FROM job
                WHERE ordering_key IS NOT NULL AND is_head = 1 AND NOT (state < 4 OR (is_strict = 1 AND state > 4))
            )
            """
        )
    }
}
