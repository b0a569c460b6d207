import CDiamondSQLite

/// One open `sqlite3 *` with its prepared statements; used by one thread at a time.
///
/// `@unchecked Sendable`: whoever takes a handle out of `SQLiteDatabase`'s writer lock or reader pool is the only one
/// to touch it until it goes back.
final class SQLiteHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    let path: String
    /// Prepared statements not in use, by the address of their SQL. An array: they are some twenty, and looking through
    /// them takes less than hashing an address.
    private var idleStatements: [(sql: UnsafePointer<UInt8>, statement: OpaquePointer)] = []
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
        for idle in idleStatements { sqlite3_finalize(idle.statement) }
        sqlite3_close_v2(pointer)
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

    /// Takes the statement for `sql` out of the cache, or prepares it.
    func statement(for sql: StaticString) throws(SQLiteError) -> OpaquePointer {
        if let index = idleStatements.lastIndex(where: { $0.sql == sql.utf8Start }) {
            idleStatements.swapAt(index, idleStatements.endIndex - 1)
            return idleStatements.removeLast().statement
        }
        let start = UnsafeRawPointer(sql.utf8Start).assumingMemoryBound(to: CChar.self)
        return try prepare(UnsafeBufferPointer(start: start, count: sql.utf8CodeUnitCount), persistent: true)
    }

    /// Gives a statement back; a second one for the same SQL (nested use) is closed.
    func recycle(_ statement: OpaquePointer, for sql: StaticString) {
        sqlite3_reset(statement)
        sqlite3_clear_bindings(statement)
        guard !idleStatements.contains(where: { $0.sql == sql.utf8Start }) else {
            return _ = sqlite3_finalize(statement)
        }
        idleStatements.append((sql.utf8Start, statement))
    }

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
