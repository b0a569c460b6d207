import CDiamondSQLite

/// An open `sqlite3 *` with its prepared statements, used by one thread at a time.
///
/// `@unchecked Sendable`: only the code that holds `SQLiteDatabase`'s writer lock, or that has borrowed the handle from
/// the pool of readers, uses it.
final class SQLiteHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    let path: String
    /// The object of the configuration.
    var context: (any AnyObject & Sendable)?
    // Exclusivity is unchecked because these are accessed for every bound value. Accesses cannot overlap: one thread at
    // a time uses the handle, and nothing calls back.
    @exclusivity(unchecked) private var statements = SQLiteStatementCache()
    /// The number of statements in use.
    @exclusivity(unchecked) private var uses = 0
    @exclusivity(unchecked) private var bindings = SQLiteBindings()
    /// The length of the write-ahead log in pages after this handle's last commit.
    private(set) var logLength: Int32 = 0

    init(path: String, flags: Int32, vfs: String?) throws(SQLiteError) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, vfs)
        guard let opened else { throw SQLiteError(.init(rawValue: code), "out of memory", path: path) }
        guard code == SQLITE_OK else {
            let message = String(cString: sqlite3_errmsg(opened))
            let extended = SQLiteError.Code(rawValue: sqlite3_extended_errcode(opened))
            sqlite3_close_v2(opened)
            throw SQLiteError(extended, message, path: path)
        }
        pointer = opened
        self.path = path
        sqlite3_extended_result_codes(pointer, 1)
    }

    deinit {
        for statement in statements.all { sqlite3_finalize(statement) }
        sqlite3_close_v2(pointer)
        bindings.free()
    }

    /// Returns the error of the last call on this handle.
    func error(_ code: Int32, sql: String? = nil) -> SQLiteError {
        SQLiteError(.init(rawValue: code), String(cString: sqlite3_errmsg(pointer)), path: path, sql: sql)
    }

    /// Runs SQL and ignores its rows, for pragmas, the schema and `BEGIN`.
    func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(pointer, sql, nil, nil, nil)
        if code != SQLITE_OK { throw error(code, sql: sql) }
    }

    /// - Throws: an error if the columns of the statement have other names.
    func prepare(
        _ sql: String, persistent: Bool, columns: (any SQLiteColumns.Type)? = nil
    ) throws(SQLiteError) -> OpaquePointer {
        var statement: OpaquePointer?
        let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        let code = sqlite3_prepare_v3(pointer, sql, -1, flags, &statement, nil)
        guard code == SQLITE_OK, let statement else { throw error(code, sql: sql) }
        if let difference = columns?.difference(from: statement) {
            sqlite3_finalize(statement)
            throw SQLiteError(.schemaMismatch, difference, path: path, sql: sql)
        }
        return statement
    }

    /// Returns the statement for `sql`, cached or newly prepared, with its place in the cache. The place is `nil` if
    /// the cached statement is in use, and another was prepared.
    func statement(
        for sql: SQL, columns: (any SQLiteColumns.Type)?
    ) throws(SQLiteError) -> (pointer: OpaquePointer, place: Int?) {
        switch statements.checkOut(sql) {
        case .found(let statement, let place): return (statement, place)
        case .inUse: return (try prepare(sql.text, persistent: false), nil)
        case .missing:
            let statement = try prepare(sql.text, persistent: true, columns: columns)
            return (statement, statements.add(statement, for: sql))
        }
    }

    /// Returns a statement to its place in the cache.
    func recycle(_ statement: OpaquePointer, at place: Int) {
        sqlite3_reset(statement)
        sqlite3_clear_bindings(statement)
        statements.checkIn(place)
    }

    func beginUse() { uses += 1 }

    /// Records that a statement was recycled or finalized, and has no bound values.
    func endUse() {
        uses -= 1
        if uses == 0 { bindings.removeAll() }
    }

    /// Copies bytes to memory that is valid as long as any statement is in use; `nil` if the buffer is full.
    func copyForBinding(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? { bindings.copy(bytes) }

    /// Updates ``logLength`` after each commit. SQLite's own use of this hook, automatic checkpoints, is off.
    func watchLog() {
        let me = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_wal_hook(
            pointer,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                Unmanaged<SQLiteHandle>.fromOpaque(context).takeUnretainedValue().logLength = pages
                return SQLITE_OK
            },
            me
        )
    }

    func forgetLogLength() { logLength = 0 }
}
