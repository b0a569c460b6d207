/// The files of a first version that was changed in place.
extension SQLiteMigration {
    /// A table, an index or a trigger.
    private struct Part {
        var name: String
        var sql: String
        /// The columns; `nil` for an index or a trigger.
        var columns: [Column]?
    }

    /// A column of a table.
    private struct Column: Hashable {
        var name: String
        var type: String
        var isRequired: Bool
        var hasDefault: Bool
        var isGenerated: Bool

        /// The value of the column in rows of a table that lacks it; `nil` if SQLite sets it.
        var filling: String? {
            guard isRequired, !hasDefault, !isGenerated else { return nil }
            return ["TEXT": "''", "BLOB": "x''"][type] ?? "0"
        }
    }

    /// Gives the file the tables, indexes and triggers that the first script creates.
    ///
    /// A table is replaced if it has another set of columns. Of a column, the name, the type, NOT NULL, and whether it
    /// has a default or is generated are compared, and not its place, the default itself, or other constraints. Rows
    /// keep the values of the columns that stay, also values that a CHECK constraint refuses. Indexes and triggers are
    /// compared by name alone: the missing ones are created.
    func unify(_ handle: SQLiteHandle) throws(SQLiteError) {
        let connection = SQLiteConnection(handle: handle)
        let parts = try firstParts()
        for part in parts { if let columns = part.columns { try unify(part, columns: columns, on: connection) } }
        let present = Set(try Self.parts(on: connection).map(\.name))
        for part in parts where !present.contains(part.name) { try connection.execute(part.sql) }
    }

    private func firstParts() throws(SQLiteError) -> [Part] {
        var first = configuration
        first.migrations = Array(configuration.migrations.prefix(1))
        return try SQLiteDatabase.inMemory(configuration: first, Self.parts)
    }

    private func unify(
        _ table: Part, columns: [Column], on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let old = try Self.columns(of: table.name, on: connection)
        guard !old.isEmpty else { return try connection.execute(table.sql) }
        guard Set(old) != Set(columns) else { return }
        try rebuild(table, columns: columns, from: old, on: connection)
    }

    /// Replaces a table by one with other columns. Its indexes and triggers are dropped with it.
    private func rebuild(
        _ table: Part, columns: [Column], from old: [Column], on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let name = table.name
        let known = Set(old.map(\.name))
        let copied = columns.filter { known.contains($0.name) && !$0.isGenerated }.map(\.name)
        let filled = columns.filter { !known.contains($0.name) && $0.filling != nil }
        let targets = (copied + filled.map(\.name)).joined(separator: ", ")
        let values = (copied + filled.compactMap(\.filling)).joined(separator: ", ")
        try connection.execute("ALTER TABLE \(name) RENAME TO old_\(name)")
        try connection.execute(table.sql)
        // No id of a deleted row is used again.
        if table.sql.contains("AUTOINCREMENT") {
            try connection.execute(
                "INSERT INTO sqlite_sequence SELECT '\(name)', seq FROM sqlite_sequence WHERE name = 'old_\(name)'")
        }
        // One damaged cell must not make the whole file unusable. Its row is found when it is read.
        try connection.execute("PRAGMA ignore_check_constraints = ON")
        defer { try? connection.execute("PRAGMA ignore_check_constraints = OFF") }
        try connection.execute("INSERT INTO \(name) (\(targets)) SELECT \(values) FROM old_\(name) ORDER BY rowid")
        try connection.execute("DROP TABLE old_\(name)")
    }

    private static func parts(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Part] {
        try connection.rows(
            "SELECT name, type = 'table', sql FROM sqlite_schema WHERE substr(name, 1, 7) <> 'sqlite_'"
        ) { (row) throws(SQLiteError) in
            let name = row.text(0)
            let columns = try row.int64(1) != 0 ? columns(of: name, on: connection) : nil
            return Part(name: name, sql: row.text(2), columns: columns)
        }
    }

    private static func columns(
        of table: String, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Column] {
        try connection.rows(
            """
            SELECT name, type, "notnull", dflt_value IS NOT NULL, hidden <> 0 FROM pragma_table_xinfo(\(table))
            """
        ) { row in
            Column(
                name: row.text(0), type: row.text(1), isRequired: row.int64(2) != 0, hasDefault: row.int64(3) != 0,
                isGenerated: row.int64(4) != 0)
        }
    }
}
