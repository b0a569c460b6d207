/// Access to a database for comparing and repairing its schema.
extension SQLiteDatabase {
    /// Runs `body` on an in-memory database created by a configuration's scripts. It has the expected schema.
    package static func inMemory<Result>(
        configuration: SQLiteConfiguration,
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        // SQLITE_OPEN_READWRITE.
        let handle = try SQLiteHandle(path: ":memory:", flags: 2, vfs: nil)
        for script in configuration.migrations { try handle.execute(script) }
        return try body(SQLiteConnection(handle: handle))
    }

    /// Writes the application id and schema version into a file that would be refused because of its current ones. The
    /// caller has to make sure that the file is a store.
    ///
    /// - Parameter isStillWrong: Checked in the transaction, because another process may have fixed the file.
    /// - Returns: Whether it was still wrong.
    package static func stamp(
        path: String,
        configuration: SQLiteConfiguration,
        where isStillWrong: (borrowing SQLiteConnection) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) -> Bool {
        let handle = try open(PrivateFile.resolved(path), configuration: configuration, readOnly: false)
        return try transaction(on: handle) { (connection) throws(SQLiteError) in
            guard try isStillWrong(connection) else { return false }
            try connection.execute(
                """
                PRAGMA application_id = \(configuration.applicationID);
                PRAGMA user_version = \(configuration.migrations.count);
                """
            )
            return true
        }
    }
}
