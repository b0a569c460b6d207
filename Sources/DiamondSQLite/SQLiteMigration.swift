/// Brings a file's schema to the newest version, by `PRAGMA user_version`.
struct SQLiteMigration {
    var path: String
    var configuration: SQLiteConfiguration

    private var newest: Int64 { Int64(configuration.migrations.count) }

    /// Refuses a file that this program cannot use.
    func check(_ handle: SQLiteHandle) throws(SQLiteError) {
        // A name of its own: lent as a temporary, it crashes the optimizer of Swift 6.3.
        let connection = SQLiteConnection(handle: handle)
        _ = try version(connection)
    }

    /// Runs the missing scripts in one transaction; a newer file is refused untouched.
    func run(on handle: SQLiteHandle) throws(SQLiteError) {
        let connection = SQLiteConnection(handle: handle)
        guard try version(connection) < newest else { return }
        try handle.execute("BEGIN IMMEDIATE")
        do {
            // Read again: another process may have migrated while this one waited for the lock.
            try migrate(from: version(connection), on: handle)
            try handle.execute("COMMIT")
        } catch {
            try? handle.execute("ROLLBACK")
            throw error
        }
    }

    private func version(_ connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int64 {
        try configuration.refuseNewer(connection, path)
    }

    private func migrate(from version: Int64, on handle: SQLiteHandle) throws(SQLiteError) {
        for script in configuration.migrations.dropFirst(Int(version)) { try handle.execute(script) }
        try handle.execute(
            "PRAGMA application_id = \(configuration.applicationID); PRAGMA user_version = \(newest)"
        )
    }
}

extension SQLiteConfiguration {
    /// Throws where the file's schema is of a version that these migrations do not know, and returns it otherwise.
    @discardableResult
    func refuseNewer(_ connection: borrowing SQLiteConnection, _ path: String) throws(SQLiteError) -> Int64 {
        let (version, newest) = (try connection.integer("PRAGMA user_version"), migrations.count)
        guard version >= 0 else { throw SQLiteError(.corrupt, "has schema version \(version)", path: path) }
        guard version <= newest else {
            throw SQLiteError(.newerSchema, "has schema version \(version), this program knows \(newest)", path: path)
        }
        return version
    }
}
