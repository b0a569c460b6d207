import DiamondSQLite

/// Reading many jobs, and reading changes of jobs.
extension ReplayTable {
    /// Returns the ids of the jobs that match a filter, in order.
    static func ids(
        _ filter: ReplayFilter,
        after id: Int64,
        limit: Int,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        let statement = try connection.statement(
            composed: "SELECT id FROM job NOT INDEXED WHERE id > ?1 AND \(filter.condition) ORDER BY id LIMIT ?2")
        try statement.bind(id, at: 1)
        try statement.bind(Int64(limit), at: 2)
        for (index, value) in filter.values(on: connection).enumerated() {
            try statement.bind(value, at: Int32(index + 3))
        }
        return try ids(in: statement)
    }

    /// Returns the jobs whose last transition was at a time or later, the oldest first.
    static func changed(
        since time: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [ReplayJob] {
        let statement = try connection.statement(
            composed: """
                SELECT \(columns) FROM job WHERE state IN (0, 1, 2, 3, 4, 5, 6) AND changed_at >= ?
                ORDER BY changed_at, id
                """)
        try statement.bind(time, at: 1)
        return try jobs(statement, on: connection)
    }

    /// Returns the jobs that wait for their time, the earliest first.
    static func waiting(
        limit: Int,
        of identities: Identities,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [ReplayJob] {
        let statement = try connection.statement(
            composed: """
                SELECT \(columns) FROM job WHERE state = 1 AND \(Identities.condition)
                ORDER BY run_at, id LIMIT ?2
                """)
        try statement.bind(identities.names(on: connection), at: 1)
        try statement.bind(Int64(limit), at: 2)
        return try jobs(statement, on: connection)
    }

    /// Returns the number of ready jobs of the identities, including jobs that wait for earlier ones of their ordering
    /// keys.
    static func readyCount(
        of identities: Identities,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int {
        let statement = try connection.statement(
            composed: "SELECT count(*) FROM job WHERE state = 0 AND \(Identities.condition)")
        try statement.bind(identities.names(on: connection), at: 1)
        return try statement.step() ? Int(statement.int64(0)) : 0
    }

    private static func jobs(
        _ statement: borrowing SQLiteStatement,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [ReplayJob] {
        var jobs: [ReplayJob] = []
        while try statement.step() { jobs.append(try ReplayJob(statement, on: connection)) }
        return jobs
    }
}

extension ReplayTable.Identities {
    /// The SQL condition for the jobs of the identities. Its first bound value is ``names(on:)``.
    fileprivate static let condition = """
        (?1 IS NULL OR identity IS NULL OR identity IN (SELECT value FROM json_each(?1)))
        """

    /// The names as a JSON array; `nil` for all.
    fileprivate func names(on connection: borrowing SQLiteConnection) -> String? {
        guard case .only(let names) = self else { return nil }
        let sealing = connection.sealing
        return ReplayTable.text(.array(names.sorted().map { .string(sealing?.digest(of: $0, .identity) ?? $0) }))
    }
}
