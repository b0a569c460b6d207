import CDiamondSQLite

/// One connection, for as long as the closure of `SQLiteDatabase.read` or `write` runs.
///
/// It cannot be copied or kept: the compiler refuses to let it out of the closure. Its statements end with it.
package struct SQLiteConnection: ~Copyable {
    let handle: SQLiteHandle

    /// The statement for a literal, prepared once per connection and reused.
    package func statement(_ sql: StaticString) throws(SQLiteError) -> SQLiteStatement {
        let (pointer, place) = try handle.statement(for: sql)
        return SQLiteStatement(handle: handle, pointer: pointer, place: place)
    }

    /// A statement made at run time, prepared for this one use. Build it from literals only; values are bound.
    package func statement(composed sql: String) throws(SQLiteError) -> SQLiteStatement {
        let text = sql.utf8CString
        let pointer = try text.withUnsafeBufferPointer { (text) throws(SQLiteError) in
            try handle.prepare(text, persistent: false)
        }
        return SQLiteStatement(handle: handle, pointer: pointer, place: nil)
    }

    /// Runs SQL that takes and returns nothing.
    package func execute(_ sql: String) throws(SQLiteError) {
        try handle.execute(sql)
    }

    /// The first column of the first row, or zero.
    package func integer(_ sql: StaticString) throws(SQLiteError) -> Int64 {
        let statement = try statement(sql)
        return try statement.step() ? statement.int64(0) : 0
    }

    /// Rows changed by the last `INSERT`, `UPDATE` or `DELETE`, triggers not counted.
    package var changes: Int { Int(sqlite3_changes64(handle.pointer)) }

    /// The id of the row that the last `INSERT` has added, triggers not counted. `RETURNING` would tell the same, but makes
    /// and frees a table of its own each time: a fifth of the whole statement.
    package var lastInsertedID: Int64 { sqlite3_last_insert_rowid(handle.pointer) }

    /// Runs `body` in a savepoint, and undoes what it did where it says so, or throws.
    ///
    /// - Parameter body: returns its result, and whether what it did is to stay.
    package func undoing<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> (Result, Bool)
    ) throws(SQLiteError) -> Result {
        try statement("SAVEPOINT diamond").run()
        do {
            let (result, stays) = try body(self)
            if !stays { try statement("ROLLBACK TO diamond").run() }
            try statement("RELEASE diamond").run()
            return result
        } catch {
            try? handle.execute("ROLLBACK TO diamond")
            try? handle.execute("RELEASE diamond")
            throw error
        }
    }
}
