import DiamondSQLite

/// Reading many jobs, and reading changes of jobs.
extension ReplayTable {
    /// Returns the ids of the jobs that match a filter, in order.
    static func ids(
        _ filter: ReplayFilter,
        after id: Int64,
        limit: Int,
        at moment: ReplayMoment,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        let page = try page(of: filter, after: id, limit: limit, at: moment, on: connection)
        return try connection.statement(once: page).rows { $0.int64(0) }
    }

    /// The maximum number of jobs whose ids are sorted for each page: 2 ms. Reading a table of a million takes 500 ms.
    private static let fewJobs = 20_000

    /// Returns the SQL for the ids of the jobs that match a filter, in order.
    ///
    /// Reads the table in the order of ids until the limit is reached. If the filter's states have few jobs, reads them
    /// by their states, because a million others may come before them.
    static func page(
        of filter: ReplayFilter,
        after id: Int64,
        limit: Int,
        at moment: ReplayMoment,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> SQL {
        let counts = try filter.states.isEmpty ? nil : stateCounts(on: connection)
        let count = counts.map { counts in filter.states.reduce(0) { $0 + counts[$1, default: 0] } }
        let condition: SQL = "id > \(id) AND \(sql: filter.condition(at: moment, on: connection))"
        guard count ?? .max > fewJobs else {
            return "SELECT id FROM job INDEXED BY job_by_state WHERE \(sql: condition) ORDER BY id LIMIT \(limit)"
        }
        return "SELECT id FROM job NOT INDEXED WHERE \(sql: condition) ORDER BY id LIMIT \(limit)"
    }

    /// Returns the jobs whose last transition was at a time or later, the oldest first.
    static func changed(
        since time: QueueTime,
        at moment: ReplayMoment,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [ReplayJob] {
        try connection.rows(
            """
            SELECT \(sql: columns) FROM job WHERE state IN (0, 1, 2, 3, 4, 5, 6) AND changed_at >= \(time)
            ORDER BY changed_at, id
            """, columns: Column.self
        ) { (row) throws(SQLiteError) in try ReplayJob(row, at: moment, on: connection) }
    }

    /// Returns the jobs that wait for their time, the earliest first.
    static func waiting(
        limit: Int,
        of identities: ReplaySelection.Identities,
        at moment: ReplayMoment,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [ReplayJob] {
        try connection.rows(
            """
            SELECT \(sql: columns) FROM job WHERE state = 1 AND \(sql: identities.condition(on: connection))
            ORDER BY run_at, id LIMIT \(limit)
            """, columns: Column.self
        ) { (row) throws(SQLiteError) in try ReplayJob(row, at: moment, on: connection) }
    }

    /// Returns the number of ready jobs of the identities, including jobs that wait for earlier ones of their ordering
    /// keys.
    static func readyCount(
        of identities: ReplaySelection.Identities,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int {
        try connection.count(
            "SELECT count(*) FROM job WHERE state = 0 AND \(sql: identities.condition(on: connection))")
    }
}

extension ReplaySelection.Identities {
    /// Returns the condition for the jobs of the identities.
    fileprivate func condition(on connection: borrowing SQLiteConnection) -> SQL {
        guard case .only(let names) = self else { return "TRUE" }
        let sealing = connection.sealing
        let array = ReplayTable.text(.array(names.sorted().map { .string(sealing?.digest(of: $0, .identity) ?? $0) }))
        return "(identity IS NULL OR identity IN (SELECT value FROM json_each(\(array))))"
    }
}
