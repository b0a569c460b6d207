#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondSchema

/// Creates the tables of the queue or the cache, and brings those of earlier versions up to date.
struct PostgresMigration: Sendable {
    /// The name of what the tables keep, for messages.
    let subject: String
    /// The table with the number of the version.
    let table: PostgresSQL
    let tableName: String
    let scripts: [String]

    static let queue = PostgresMigration(
        subject: "queue", table: "diamond.version", tableName: "version", scripts: DiamondSchema.replayPostgres)
    static let cache = PostgresMigration(
        subject: "cache", table: "diamond.cache_version", tableName: "cache_version",
        scripts: DiamondSchema.cachePostgres)

    /// Runs the missing migrations, while no other process does. All of them are one transaction.
    ///
    /// - Parameters:
    ///   - create: whether the tables are created if they are missing.
    ///   - limit: the limit for the time until the server answers.
    /// - Throws: ``PostgresError``: `newerSchema` if a newer version of this package has written the tables,
    ///   `missingSchema` if they are missing and not created.
    func run(
        on pool: PostgresPool, create: Bool = true, within limit: Duration = .seconds(20)
    ) async throws(PostgresError) {
        let isMissing = try await pool.run(within: limit) { (connection) throws(PostgresError) in
            try self.isNeeded(on: connection, create: create)
        }
        guard isMissing else { return }
        try await pool.transaction(within: .seconds(600)) { (connection) throws(PostgresError) in
            try migrate(connection)
        }
    }

    /// Does the same on a connection.
    func run(on connection: PostgresConnection, create: Bool) throws(PostgresError) {
        connection.limit(until: .now + 600_000)
        guard try isNeeded(on: connection, create: create) else { return }
        try connection.transaction { (connection) throws(PostgresError) in try migrate(connection) }
    }

    private func isNeeded(on connection: PostgresConnection, create: Bool) throws(PostgresError) -> Bool {
        let current = try version(on: connection)
        guard current > 0 || create else {
            throw PostgresError(
                .missingSchema, "there is no \(subject) at \(connection.name): add to it, or use another database")
        }
        return current != scripts.count
    }

    private func migrate(_ connection: PostgresConnection) throws(PostgresError) {
        try connection.run("SET LOCAL statement_timeout = '10min'")
        try connection.run("SET LOCAL lock_timeout = '10min'")
        try connection.run("SELECT pg_advisory_xact_lock(\(Int64(PostgresJobs.Lock.schema.rawValue))::int, 0)")
        let version = try version(on: connection)
        guard version <= scripts.count else {
            throw PostgresError(
                .newerSchema,
                "the \(subject) at \(connection.name) has version \(version), and this program knows "
                    + "\(scripts.count): update this program")
        }
        if version == 0 {
            try connection.run("CREATE SCHEMA IF NOT EXISTS diamond")
            try connection.run("CREATE TABLE \(table) (number bigint NOT NULL)")
            try connection.run("INSERT INTO \(table) VALUES (0)")
        }
        for script in scripts[version...] { try connection.runScript(script) }
        try connection.run("UPDATE \(table) SET number = \(scripts.count)")
    }

    private func version(on connection: PostgresConnection) throws(PostgresError) -> Int {
        // Not by to_regclass: while this transaction has waited for the lock, the session's cache has learned nothing.
        let tables = try connection.rows(
            """
            SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE nspname = 'diamond' AND relname = \(tableName)
            """)
        guard tables.count > 0 else { return 0 }
        return Int(try connection.rows("SELECT number FROM \(table)").first?.int64("number") ?? 0)
    }
}
#endif
