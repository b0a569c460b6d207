import CDiamondSQLite

/// The columns of a query, in their order. A query may end before the last one.
///
/// Each case is named like its column: `storedAt` for `stored_at`. The names are compared when a statement is prepared,
/// so that a row is read by the indexes alone.
package protocol SQLiteColumns: CaseIterable, CodingKey, RawRepresentable where RawValue == Int {}

extension SQLiteColumns {
    /// Returns the first difference between the names and those of a statement; `nil` if there is none.
    static func difference(from statement: OpaquePointer) -> String? {
        for column in allCases.prefix(Int(sqlite3_column_count(statement))) {
            let found = sqlite3_column_name(statement, Int32(column.rawValue)).map { String(cString: $0) } ?? ""
            let name = column.name
            if found != name { return "column \(column.rawValue) is \(found) instead of \(name)" }
        }
        return nil
    }

    private var name: String {
        stringValue.reduce(into: "") { (name, character) in
            name += character.isUppercase ? "_\(character.lowercased())" : "\(character)"
        }
    }
}
