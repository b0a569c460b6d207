/// Brings a file's schema to the newest version, by `PRAGMA user_version`.
struct SQLiteMigration {
    var path: String
    var configuration: SQLiteConfiguration

    private var newest: Int64 { Int64(configuration.migrations.count) }

    /// Refuses a file that this program cannot use.
    func check(_ handle: SQLiteHandle) throws(SQLiteError) {
        // A name of its own: lent as a temporary, it crashes the optimizer of Swift 6.3.
        let connection = SQLiteConnection(handle: handle)
        try configuration.version(of: connection, path)
    }

    /// Runs the missing scripts in one transaction; a newer file is refused untouched.
    func run(on handle: SQLiteHandle) throws(SQLiteError) {
        let connection = SQLiteConnection(handle: handle)
        guard try configuration.version(of: connection, path) < newest else { return }
        try handle.execute("BEGIN IMMEDIATE")
        do {
            // Read again: another process may have migrated while this one waited for the lock.
            try migrate(from: configuration.version(of: connection, path), on: handle)
            try handle.execute("COMMIT")
        } catch {
            try? handle.execute("ROLLBACK")
            throw error
        }
    }

    private func migrate(from version: Int64, on handle: SQLiteHandle) throws(SQLiteError) {
        for script in configuration.migrations.dropFirst(Int(version)) { try handle.execute(script) }
        try handle.execute(
            "PRAGMA application_id = \(configuration.applicationID); PRAGMA user_version = \(newest)"
        )
    }
}

extension SQLiteConfiguration {
    /// Returns why a file of this version cannot be used, or `nil` if these migrations know it.
    package func refusal(of version: Int64, _ path: String) -> SQLiteError? {
        guard version > migrations.count else { return nil }
        let message = "has schema version \(version), this program knows \(migrations.count)"
        return SQLiteError(.newerSchema, message, path: path)
    }

    /// The version of the file's schema; throws where these migrations do not know it.
    @discardableResult
    func version(of connection: borrowing SQLiteConnection, _ path: String) throws(SQLiteError) -> Int64 {
        let version = try connection.integer("PRAGMA user_version")
        guard version >= 0 else { throw SQLiteError(.corrupt, "has schema version \(version)", path: path) }
        if let refusal = refusal(of: version, path) { throw refusal }
        return version
    }
}
