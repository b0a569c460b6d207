package import DiamondSQLite
import Testing

/// A column of a table in a file of a store.
package struct StoreColumn: Sendable, CustomTestStringConvertible {
    package var table: String
    package var name: String
    package var testDescription: String { "\(table).\(name)" }

    package init(table: String, name: String) {
        self.table = table
        self.name = name
    }

    /// Extreme values, and values of other types, as SQL.
    package static let values = [
        "-9223372036854775808", "9223372036854775807", "-1", "0", "1 << 53", "''", "x''", "'9e999'", "x'ff00'", "NULL",
        "1.5", "-1e308",
    ]

    /// Returns the columns of all tables.
    package static func all(of configuration: SQLiteConfiguration) -> [StoreColumn] {
        let columns = try? SQLiteDatabase.inMemory(configuration: configuration) { (connection) throws(SQLiteError) in
            let statement = try connection.statement(
                """
                SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_xinfo(t.name) AS c
                WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_s%' AND c.hidden = 0
                """
            )
            var columns: [StoreColumn] = []
            while try statement.step() {
                columns.append(StoreColumn(table: statement.text(0), name: statement.text(1)))
            }
            return columns
        }
        return columns ?? []
    }

    /// Returns a statement that writes a value into all rows, and one that writes it into the first row, for a column
    /// whose values have to differ.
    package func updates(to value: String) -> [String] {
        let update = "UPDATE \(table) SET \(name) = \(value)"
        return [update, update + " WHERE rowid = (SELECT min(rowid) FROM \(table))"]
    }

    /// Returns some of the values in the short form, others in each run, and all in the long form.
    package func some(_ count: Int) -> [String] {
        guard !Effort.isSoaking else { return Self.values }
        var random = SplitMix(state: testDescription.utf8.reduce(Effort.seed) { $0 &* 31 &+ UInt64($1) })
        return (0..<count).map { _ in Self.values[random.below(Self.values.count)] }
    }
}
