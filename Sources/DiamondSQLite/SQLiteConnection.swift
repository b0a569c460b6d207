import CDiamondSQLite

/// A connection that is valid in the closure of `SQLiteDatabase.read` or `write`.
///
/// It is noncopyable and borrowed, so that it cannot leave the closure. Neither can its statements.
package struct SQLiteConnection: ~Copyable {
    let handle: SQLiteHandle

    /// The object of the configuration.
    package var context: (any AnyObject & Sendable)? { handle.context }

    /// Returns a statement with its values bound. It is prepared once per connection.
    ///
    /// - Parameter columns: the columns by whose names its rows are read; `nil` for reading by index.
    package func statement(
        _ sql: SQL, columns: (any SQLiteColumns.Type)? = nil
    ) throws(SQLiteError) -> SQLiteStatement {
        let (pointer, place) = try handle.statement(for: sql, columns: columns)
        let statement = SQLiteStatement(handle: handle, pointer: pointer, place: place)
        try statement.bind(sql)
        return statement
    }

    /// Prepares a statement for one use, and binds its values: for statements with one of many forms.
    package func statement(
        once sql: SQL, columns: (any SQLiteColumns.Type)? = nil
    ) throws(SQLiteError) -> SQLiteStatement {
        let pointer = try handle.prepare(sql.text, persistent: false, columns: columns)
        let statement = SQLiteStatement(handle: handle, pointer: pointer, place: nil)
        try statement.bind(sql)
        return statement
    }

    /// Prepares SQL that is composed at run time, for one use, such as that of a schema.
    package func statement(composed sql: String) throws(SQLiteError) -> SQLiteStatement {
        SQLiteStatement(handle: handle, pointer: try handle.prepare(sql, persistent: false), place: nil)
    }

    /// Runs SQL without values, ignoring its rows.
    package func execute(_ sql: String) throws(SQLiteError) {
        try handle.execute(sql)
    }

    /// Runs a statement to its end, ignoring its rows.
    package func run(_ sql: SQL) throws(SQLiteError) {
        let statement = try statement(sql)
        guard let lent = sql.lent else { return try statement.run() }
        try statement.run(lending: lent.bytes, at: lent.place)
    }

    /// Whether a statement returns a row.
    package func hasRow(_ sql: SQL) throws(SQLiteError) -> Bool { try statement(sql).step() }

    /// Returns the first column of the first row; zero if there is no row.
    package func integer(_ sql: SQL) throws(SQLiteError) -> Int64 { try first(sql) ?? 0 }

    /// Returns the first column of the first row; `nil` if there is no row.
    package func first(_ sql: SQL) throws(SQLiteError) -> Int64? { try first(sql) { $0.int64(0) } }

    /// Returns the first column of the first row as a count; zero if there is no row.
    package func count(_ sql: SQL) throws(SQLiteError) -> Int { Int(try integer(sql)) }

    /// Returns the first column of all rows.
    package func integers(_ sql: SQL) throws(SQLiteError) -> [Int64] { try rows(sql) { $0.int64(0) } }

    /// Returns a value of the first row; `nil` if there is no row.
    package func first<Value>(
        _ sql: SQL, columns: (any SQLiteColumns.Type)? = nil,
        _ value: (borrowing SQLiteStatement) throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value? {
        let statement = try statement(sql, columns: columns)
        return try statement.step() ? value(statement) : nil
    }

    /// Returns a value of each row.
    package func rows<Value>(
        _ sql: SQL, columns: (any SQLiteColumns.Type)? = nil,
        _ value: (borrowing SQLiteStatement) throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> [Value] {
        try statement(sql, columns: columns).rows(value)
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
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> (result: Result, isKept: Bool)
    ) throws(SQLiteError) -> Result {
        try run("SAVEPOINT diamond")
        do {
            let (result, keepsChanges) = try body(self)
            if !keepsChanges { try run("ROLLBACK TO diamond") }
            try run("RELEASE diamond")
            return result
        } catch {
            try? handle.execute("ROLLBACK TO diamond")
            try? handle.execute("RELEASE diamond")
            throw error
        }
    }
}
