#if Postgres && canImport(CDiamondPostgres)
import CDiamondPostgres
package import Foundation

/// The rows of a statement's result, whose columns are read by name.
///
/// A column that the statement does not return, or a value of another type, is NULL: 0, an empty text, no bytes.
package final class PostgresRows {
    private let result: OpaquePointer
    private let columns: [String: Int32]
    /// The number of rows.
    package let count: Int

    /// - Parameter result: a result of libpq, which is freed with the rows.
    init(_ result: OpaquePointer) {
        self.result = result
        count = Int(PQntuples(result))
        var columns: [String: Int32] = [:]
        for column in 0..<PQnfields(result) { columns[String(cString: PQfname(result, column))] = column }
        self.columns = columns
    }

    deinit { PQclear(result) }

    /// The number of rows that a statement has changed.
    package var changes: Int { Int(String(cString: PQcmdTuples(result))) ?? count }

    package subscript(index: Int) -> Row { Row(rows: self, index: Int32(index)) }

    /// Returns a value for each row.
    package func map<Value, Failure: Error>(_ value: (Row) throws(Failure) -> Value) throws(Failure) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for index in 0..<count { values.append(try value(self[index])) }
        return values
    }

    /// The only row; `nil` if there is none.
    package var first: Row? { count > 0 ? self[0] : nil }

    /// One row.
    package struct Row {
        fileprivate let rows: PostgresRows
        fileprivate let index: Int32

        /// The value as an integer of any size; `nil` for NULL.
        package func integer(_ column: String) -> Int64? {
            bytes(column) { bytes in
                switch bytes.count {
                case 1: Int64(bytes[0])
                case 2: Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
                case 4: Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
                case 8: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
                default: nil
                }
            } ?? nil
        }

        package func int64(_ column: String) -> Int64 { integer(column) ?? 0 }

        package func bool(_ column: String) -> Bool { int64(column) != 0 }

        package func optionalText(_ column: String) -> String? {
            bytes(column) { String(decoding: $0, as: UTF8.self) }
        }

        package func text(_ column: String) -> String { optionalText(column) ?? "" }

        package func optionalData(_ column: String) -> Data? { bytes(column) { Data($0) } }

        package func data(_ column: String) -> Data { optionalData(column) ?? Data() }

        /// Calls `body` with the value's bytes, which are valid in it; `nil` for NULL.
        private func bytes<Value>(_ column: String, _ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
            guard let column = rows.columns[column], PQgetisnull(rows.result, index, column) == 0 else { return nil }
            let count = Int(PQgetlength(rows.result, index, column))
            return body(UnsafeRawBufferPointer(start: PQgetvalue(rows.result, index, column), count: count))
        }
    }
}
#endif
