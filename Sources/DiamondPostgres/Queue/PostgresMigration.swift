#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondSchema

/// Creates the queue's tables, and brings those of earlier versions up to date.
enum PostgresMigration {
    /// Runs the missing migrations, while no other process does. All of them are one transaction.
    ///
    /// - Throws: ``PostgresError``: `newerSchema` if a newer version of this package has written the tables.
    static func run(
        _ scripts: [String] = DiamondSchema.replayPostgres, on pool: PostgresPool
    ) async throws(PostgresError) {
        let isCurrent = try await pool.run(within: .seconds(20)) { (connection) throws(PostgresError) in
            try version(on: connection) == scripts.count
        }
        guard !isCurrent else { return }
        try await pool.transaction(within: .seconds(600)) { (connection) throws(PostgresError) in
            try connection.run("SET LOCAL statement_timeout = '10min'")
            try connection.run("SET LOCAL lock_timeout = '10min'")
            try connection.run("SELECT pg_advisory_xact_lock(\(Int64(PostgresJobs.Lock.schema.rawValue))::int, 0)")
            let version = try version(on: connection)
            guard version <= scripts.count else {
                throw PostgresError(
                    .newerSchema,
                    "the queue at \(connection.name) has version \(version), and this program knows \(scripts.count)"
                        + ": update this program")
            }
            if version == 0 {
                try connection.run("CREATE SCHEMA IF NOT EXISTS diamond")
                try connection.run("CREATE TABLE diamond.version (number bigint NOT NULL)")
                try connection.run("INSERT INTO diamond.version VALUES (0)")
            }
            for script in scripts[version...] { try connection.runScript(script) }
            try connection.run("UPDATE diamond.version SET number = \(scripts.count)")
        }
    }

    private static func version(on connection: PostgresConnection) throws(PostgresError) -> Int {
        // Not by to_regclass: while this transaction has waited for the lock, the session's cache has learned nothing.
        let tables = try connection.rows(
            """
            SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE nspname = 'diamond' AND relname = 'version'
            """)
        guard tables.count > 0 else { return 0 }
        return Int(try connection.rows("SELECT number FROM diamond.version").first?.int64("number") ?? 0)
    }
}
#endif
