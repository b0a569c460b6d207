import CDiamondSQLite
package import Foundation

/// A prepared statement. Columns are numbered from 0, as in SQLite, or have the names of ``SQLiteColumns``. A cached
/// statement returns to its connection's cache at the end of its scope.
package struct SQLiteStatement: ~Copyable {
    private let handle: SQLiteHandle
    let pointer: OpaquePointer
    /// The place in the connection's cache; `nil` for a statement that is finalized after its use.
    private let place: Int?

    init(handle: SQLiteHandle, pointer: OpaquePointer, place: Int?) {
        self.handle = handle
        self.pointer = pointer
        self.place = place
        handle.beginUse()
    }

    deinit {
        if let place { handle.recycle(pointer, at: place) } else { sqlite3_finalize(pointer) }
        handle.endUse()
    }

    // MARK: Binding

    /// Binds all values, copied immediately. Bytes to be lent are bound by ``run(lending:at:)``.
    func bind(_ sql: SQL) throws(SQLiteError) {
        var place: Int32 = 0
        if sql.count > 0 { try bind(sql.first, after: &place) }
        if sql.count > 1 { try bind(sql.second, after: &place) }
        for index in sql.rest.indices { try bind(sql.rest[index], after: &place) }
    }

    @inline(__always) private func bind(_ piece: SQL.Piece, after place: inout Int32) throws(SQLiteError) {
        place += 1
        let code: Int32
        switch piece.value {
        case .none: return place -= 1
        case .lent: return
        case .null: code = sqlite3_bind_null(pointer, place)
        case .integer(let value): code = sqlite3_bind_int64(pointer, place, value)
        case .string(let value): code = bindText(value, at: place)
        case .bytes(let value, isText: true): code = value.withUnsafeBytes { bindText($0, at: place) }
        case .bytes(let value, isText: false): code = value.withUnsafeBytes { bindBlob($0, at: place) }
        case .blob(let value): code = value.withUnsafeBytes { bindBlob($0, at: place) }
        }
        if code != SQLITE_OK { throw handle.error(code, sql: String(cString: sqlite3_sql(pointer))) }
    }

    private func bindText(_ text: String, at index: Int32) -> Int32 {
        var text = text
        return text.withUTF8 { bindText(UnsafeRawBufferPointer($0), at: index) }
    }

    private func bindText(_ bytes: UnsafeRawBufferPointer, at index: Int32) -> Int32 {
        // An empty string may have no address, which SQLite would bind as NULL.
        guard let start = bytes.baseAddress, !bytes.isEmpty else {
            return diamond_sqlite3_bind_text_copy(pointer, index, "", 0)
        }
        if let copy = handle.copyForBinding(bytes) {
            return diamond_sqlite3_bind_text_static(pointer, index, copy, UInt64(bytes.count))
        }
        return diamond_sqlite3_bind_text_copy(pointer, index, start, UInt64(bytes.count))
    }

    private func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: Int32) -> Int32 {
        guard !bytes.isEmpty else { return sqlite3_bind_zeroblob(pointer, index, 0) }
        if let copy = handle.copyForBinding(bytes) {
            return diamond_sqlite3_bind_blob_static(pointer, index, copy, UInt64(bytes.count))
        }
        return diamond_sqlite3_bind_blob_copy(pointer, index, bytes.baseAddress, UInt64(bytes.count))
    }

    // MARK: Running

    /// Steps to the next row. Returns `false` if there is none.
    package func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw handle.error(code, sql: String(cString: sqlite3_sql(pointer)))
        }
    }

    /// Runs to the end, ignoring rows.
    package func run() throws(SQLiteError) { while try step() {} }

    /// Binds bytes without copying them, and runs to the end.
    func run(lending bytes: Data, at place: Int32) throws(SQLiteError) {
        let error = bytes.withUnsafeBytes { bytes in
            diamond_sqlite3_bind_blob_static(pointer, place, bytes.baseAddress, UInt64(bytes.count))
            let error = failure(of: sqlite3_step(pointer))
            sqlite3_reset(pointer)
            sqlite3_bind_null(pointer, place)
            return error
        }
        if let error { throw error }
    }

    /// Returns a value of each row.
    package func rows<Value>(
        _ value: (borrowing SQLiteStatement) throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> [Value] {
        var values: [Value] = []
        while try step() { values.append(try value(self)) }
        return values
    }

    /// Returns the error of a step. Call it immediately: the handle has only the message of its last call.
    private func failure(of code: Int32) -> SQLiteError? {
        guard code != SQLITE_DONE, code != SQLITE_ROW else { return nil }
        return handle.error(code, sql: String(cString: sqlite3_sql(pointer)))
    }

    // MARK: Columns

    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(pointer, column) == SQLITE_NULL }

    package func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

    /// Returns the column as text: an empty string for NULL, and replacement characters for invalid UTF-8.
    package func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(pointer, column) else { return "" }
        let count = Int(sqlite3_column_bytes(pointer, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    package func data(_ column: Int32) -> Data {
        withBytes(column) { Data($0) }
    }

    /// Runs `body` with the column's bytes, without a copy. The bytes are valid in `body`.
    package func withBytes<Result, Failure: Error>(
        _ column: Int32,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = sqlite3_column_blob(pointer, column)
        return try body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column))))
    }
}
