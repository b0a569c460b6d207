import CDiamondSQLite

/// One open `sqlite3 *` with its prepared statements; used by one thread at a time.
///
/// `@unchecked Sendable`: the code that takes a handle out of `SQLiteDatabase`'s writer lock or reader pool is the only
/// one to touch it until it goes back.
final class SQLiteHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    let path: String
    // Unchecked: every value that is bound looks at them, and what is used by one thread at a time, and calls nobody back,
    // has no overlap for the runtime to find.
    @exclusivity(unchecked) private var statements = SQLiteStatementCache()
    /// The number of statements in use.
    @exclusivity(unchecked) private var uses = 0
    @exclusivity(unchecked) private var bindings = SQLiteBindings()
    /// Length of the write-ahead log in pages after this handle's last commit.
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

    /// The last failure on this handle.
    func error(_ code: Int32, sql: String? = nil) -> SQLiteError {
        SQLiteError(.init(rawValue: code), String(cString: sqlite3_errmsg(pointer)), path: path, sql: sql)
    }

    /// Runs SQL that returns nothing: pragmas, schema, `BEGIN`.
    func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(pointer, sql, nil, nil, nil)
        if code != SQLITE_OK { throw error(code, sql: sql) }
    }

    func prepare(_ sql: UnsafeBufferPointer<CChar>, persistent: Bool) throws(SQLiteError) -> OpaquePointer {
        var statement: OpaquePointer?
        let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        let code = sqlite3_prepare_v3(pointer, sql.baseAddress, Int32(sql.count), flags, &statement, nil)
        guard code == SQLITE_OK, let statement else {
            throw error(code, sql: String(decoding: sql.lazy.map(UInt8.init(bitPattern:)), as: UTF8.self))
        }
        return statement
    }

    /// The statement for `sql`, from the cache or prepared, and its place there; no place for one that is used inside of
    /// itself.
    func statement(for sql: StaticString) throws(SQLiteError) -> (OpaquePointer, place: Int?) {
        let lookup = statements.take(sql.utf8Start)
        if case .found(let statement, let place) = lookup { return (statement, place) }
        let start = UnsafeRawPointer(sql.utf8Start).assumingMemoryBound(to: CChar.self)
        let text = UnsafeBufferPointer(start: start, count: sql.utf8CodeUnitCount)
        guard case .missing = lookup else { return (try prepare(text, persistent: false), nil) }
        let statement = try prepare(text, persistent: true)
        return (statement, statements.add(statement, for: sql.utf8Start))
    }

    /// Returns a statement to its place in the cache.
    func recycle(_ statement: OpaquePointer, at place: Int) {
        sqlite3_reset(statement)
        sqlite3_clear_bindings(statement)
        statements.giveBack(place)
    }

    func beginUse() { uses += 1 }

    /// A statement has gone back, or is no more: it has nothing bound.
    func endUse() {
        uses -= 1
        if uses == 0 { bindings.removeAll() }
    }

    /// Keeps bytes as long as any statement is in use; `nil` where there is no room.
    func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? { bindings.keep(bytes) }

    /// Keeps ``logLength`` up to date. With automatic checkpoints off the hook is free.
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
