/// Access to a database to compare and to mend its schema, in addition to the usual one.
extension SQLiteDatabase {
    /// Runs `body` on a database in memory that has just been made by a configuration's scripts: what a schema has to be.
    package static func fresh<Result>(
        _ configuration: SQLiteConfiguration,
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        // Read and write.
        let handle = try SQLiteHandle(path: ":memory:", flags: 2, vfs: nil)
        for script in configuration.migrations { try handle.execute(script) }
        return try body(SQLiteConnection(handle: handle))
    }

    /// Writes into a file what it has to say of itself, although it would be refused for what it says now. The caller has
    /// made sure that it is one of ours.
    ///
    /// - Parameter isStillWrong: asked again in the transaction, because another process may have been faster.
    /// - Returns: whether it was still wrong.
    package static func stamp(
        _ path: String,
        _ configuration: SQLiteConfiguration,
        where isStillWrong: (borrowing SQLiteConnection) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) -> Bool {
        let handle = try open(PrivateFile.resolved(path), configuration, readOnly: false)
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
