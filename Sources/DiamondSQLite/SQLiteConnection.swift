import CDiamondSQLite

/// A connection that is valid in the closure of `SQLiteDatabase.read` or `write`.
///
/// It is noncopyable and borrowed, so that it cannot leave the closure. Neither can its statements.
package struct SQLiteConnection: ~Copyable {
    let handle: SQLiteHandle

    /// The object of the configuration.
    package var context: (any AnyObject & Sendable)? { handle.context }

    /// Returns the statement for a literal. It is prepared once per connection.
    package func statement(_ sql: StaticString) throws(SQLiteError) -> SQLiteStatement {
        let (pointer, place) = try handle.statement(for: sql)
        return SQLiteStatement(handle: handle, pointer: pointer, place: place)
    }

    /// Prepares SQL that is composed at run time, for one use. Compose it from literals only, and bind the values.
    package func statement(composed sql: String) throws(SQLiteError) -> SQLiteStatement {
        let text = sql.utf8CString
        let pointer = try text.withUnsafeBufferPointer { (text) throws(SQLiteError) in
            try handle.prepare(text, persistent: false)
        }
        return SQLiteStatement(handle: handle, pointer: pointer, place: nil)
    }

    /// Runs SQL without parameters, ignoring its rows.
    package func execute(_ sql: String) throws(SQLiteError) {
        try handle.execute(sql)
    }

    /// Returns the first column of the first row; zero if there is no row.
    package func integer(_ sql: StaticString) throws(SQLiteError) -> Int64 {
        let statement = try statement(sql)
        return try statement.step() ? statement.int64(0) : 0
    }

    /// The number of rows changed by the last `INSERT`, `UPDATE` or `DELETE`, without changes by triggers.
    package var changes: Int { Int(sqlite3_changes64(handle.pointer)) }

    /// The id of the row added by the last `INSERT`, ignoring triggers. `RETURNING` would return the same id, but
    /// creates a temporary table each time, which takes a fifth of the statement's time.
    package var lastInsertedID: Int64 { sqlite3_last_insert_rowid(handle.pointer) }

    /// Runs `body` in a savepoint. Rolls back its changes if it throws, or if it returns `false` with its result.
    ///
    /// - Parameter body: Returns its result, and whether to keep its changes.
    package func withSavepoint<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> (Result, Bool)
    ) throws(SQLiteError) -> Result {
        try statement("SAVEPOINT diamond").run()
        do {
            let (result, keepsChanges) = try body(self)
            if !keepsChanges { try statement("ROLLBACK TO diamond").run() }
            try statement("RELEASE diamond").run()
            return result
        } catch {
            try? handle.execute("ROLLBACK TO diamond")
            try? handle.execute("RELEASE diamond")
            throw error
        }
    }
}
