import DiamondSQLite

/// The reads of a diagnosis of the queue. Each read is one statement, so that a write meanwhile is no discord.
extension ReplayTable {
    static func settings(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> ReplayDiagnosis.Settings {
        let mode = try connection.statement("PRAGMA journal_mode")
        return ReplayDiagnosis.Settings(
            schemaVersion: try connection.integer("PRAGMA user_version"),
            applicationID: try connection.integer("PRAGMA application_id"),
            journalMode: try mode.step() ? mode.text(0) : "",
            pageSize: try connection.integer("PRAGMA page_size"),
            pages: try connection.integer("PRAGMA page_count")
        )
    }

    static func damages(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [String] {
        let statement = try connection.statement("PRAGMA integrity_check(10)")
        var lines: [String] = []
        while try statement.step() { lines.append(statement.text(0)) }
        return lines == ["ok"] ? [] : lines
    }

    static func discord(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> ReplayDiagnosis.Discord {
        let census = try connection.integer(
            """
            SELECT count(*) FROM census
            WHERE count <> (SELECT count(*) FROM job WHERE job.state = census.state)
            """
        )
        let payloads = try connection.integer(
            """
            SELECT count(*) FROM job WHERE state <> 4 AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.job = job.id)
            """
        )
        let owners = try connection.integer(
            "SELECT count(*) FROM job WHERE state = 2 AND (owner IS NULL OR owner NOT IN (SELECT id FROM owner))")
        return ReplayDiagnosis.Discord(
            census: Int(census), heads: Int(try wrongHeads(on: connection)), payloads: Int(payloads),
            owners: Int(owners))
    }

    /// Lines whose head is not the job that runs, else the first; and jobs without a line that are no heads, or with none
    /// left that are.
    private static func wrongHeads(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int64 {
        try connection.integer(
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
