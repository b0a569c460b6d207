import DiamondSQLite
import Foundation

/// Reading columns by their names. The functions are in this module, where the compiler specializes them.
extension SQLiteStatement {
    func isNull(_ column: some SQLiteColumns) -> Bool { isNull(Int32(column.rawValue)) }

    func int64(_ column: some SQLiteColumns) -> Int64 { int64(Int32(column.rawValue)) }

    func optional(_ column: some SQLiteColumns) -> Int64? { isNull(column) ? nil : int64(column) }

    func text(_ column: some SQLiteColumns) -> String { text(Int32(column.rawValue)) }

    func optionalText(_ column: some SQLiteColumns) -> String? { isNull(column) ? nil : text(column) }

    func data(_ column: some SQLiteColumns) -> Data { data(Int32(column.rawValue)) }

    func optionalData(_ column: some SQLiteColumns) -> Data? { isNull(column) ? nil : data(column) }

    func withBytes<Result, Failure: Error>(
        _ column: some SQLiteColumns, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withBytes(Int32(column.rawValue), body)
    }
}

/// Reading columns that may be NULL, by their positions.
extension SQLiteStatement {
    func optional(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }

    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
}
