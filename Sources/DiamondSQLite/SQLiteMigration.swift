/// Migrates a file's schema to the newest version. `PRAGMA user_version` has the version.
struct SQLiteMigration {
    var path: String
    var configuration: SQLiteConfiguration

    private var newest: Int64 { Int64(configuration.migrations.count) }

    /// Throws for a file that this program cannot use.
    func check(_ handle: SQLiteHandle) throws(SQLiteError) {
        // A variable, because a temporary crashes the optimizer of Swift 6.3.
        let connection = SQLiteConnection(handle: handle)
        try configuration.version(of: connection, path: path)
    }

    /// Runs the missing scripts in one transaction. Throws for a newer file, which is not changed.
    func run(on handle: SQLiteHandle) throws(SQLiteError) {
        let connection = SQLiteConnection(handle: handle)
        guard try configuration.version(of: connection, path: path) < newest else { return }
        // Otherwise dropping a table would delete the rows that refer to it, and renaming it would change their tables.
        // These settings have no effect in a transaction.
        try handle.execute("PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON")
        defer { try? handle.execute("PRAGMA foreign_keys = ON; PRAGMA legacy_alter_table = OFF") }
        try handle.execute("BEGIN IMMEDIATE")
        do {
            // Read again: another process may have migrated while this one waited for the lock.
            try migrate(from: configuration.version(of: connection, path: path), on: handle)
            try handle.execute("COMMIT")
        } catch {
            try? handle.execute("ROLLBACK")
            throw error
        }
    }

    private func migrate(from version: Int64, on handle: SQLiteHandle) throws(SQLiteError) {
        if version == 1, configuration.firstVersionVaries { try unify(handle) }
        for script in configuration.migrations.dropFirst(Int(version)) { try handle.execute(script) }
        let connection = SQLiteConnection(handle: handle)
        if version == 1 { try configuration.complete?(connection) }
        try handle.execute(
            "PRAGMA application_id = \(configuration.applicationID); PRAGMA user_version = \(newest)"
        )
    }
}

extension SQLiteConfiguration {
    /// Returns the error for a file of a newer version; `nil` for a known version.
    package func refusal(of version: Int64, path: String) -> SQLiteError? {
        guard version > migrations.count else { return nil }
        let message = "has schema version \(version), but this program supports versions up to \(migrations.count)"
        return SQLiteError(.newerSchema, message, path: path)
    }

    /// Returns the version of the file's schema. Throws for an unknown version.
    @discardableResult
    func version(of connection: borrowing SQLiteConnection, path: String) throws(SQLiteError) -> Int64 {
        let version = try connection.integer("PRAGMA user_version")
        guard version >= 0 else { throw SQLiteError(.corrupt, "has schema version \(version)", path: path) }
        if let refusal = refusal(of: version, path: path) { throw refusal }
        return version
    }
}
