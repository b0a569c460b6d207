package import DiamondSQLite

/// The reads and repairs of the file's schema.
extension CacheTable {
    /// Returns the schema of the file, without SQLite's own tables and indexes.
    package static func schema(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> CacheSchema {
        let statement = try connection.statement(
            "SELECT type, name, sql FROM sqlite_schema WHERE substr(name, 1, 7) <> 'sqlite_' ORDER BY name")
        var parts: [CacheSchema.Part] = []
        while try statement.step() {
            guard let kind = CacheSchema.Kind(rawValue: statement.text(0)) else { continue }
            let name = statement.text(1)
            let sql = statement.text(2)
            let meaning = try kind == .table ? columns(of: name, on: connection) : plain(sql)
            parts.append(CacheSchema.Part(kind: kind, name: name, sql: sql, meaning: meaning))
        }
        let places = CacheSchema.Kind.allCases
        parts.sort { (places.firstIndex(of: $0.kind) ?? 0) < (places.firstIndex(of: $1.kind) ?? 0) }
        return CacheSchema(parts: parts)
    }

    private static func columns(
        of table: String,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> String {
        let statement = try connection.statement(
            """
            SELECT group_concat(name || ' ' || type || ' ' || "notnull" || ' ' || coalesce(dflt_value, '-') || ' ' || pk
                || ' ' || hidden, ', ')
                || (SELECT ' strict ' || strict || ' wr ' || wr FROM pragma_table_list WHERE name = \(table) LIMIT 1)
            FROM (SELECT * FROM pragma_table_xinfo(\(table)) ORDER BY name)
            """
        )
        return try statement.step() ? statement.text(0) : ""
    }

    private static func plain(_ sql: String) -> String {
        let lines = sql.split(separator: "\n").map { $0.split(separator: "--", maxSplits: 1).first ?? "" }
        return lines.joined(separator: " ").split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Repairs the faults that no other program has repaired meanwhile.
    ///
    /// - Returns: the repaired faults.
    package static func repair(
        _ faults: [CacheSchema.Fault],
        comparedTo expected: CacheSchema,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Set<CacheSchema.Fault> {
        let present = Set(try schema(on: connection).faults(comparedTo: expected))
        for fault in faults where present.contains(fault) {
            if fault.cause != .missing { try drop(fault.part, on: connection) }
            if fault.cause != .surplus { try create(fault.part, on: connection) }
        }
        return present.intersection(faults)
    }

    private static func drop(
        _ part: CacheSchema.Part,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let name = part.name.replacing("\"", with: "\"\"")
        // Dropping a table has dropped its indexes and triggers.
        try connection.execute("DROP \(part.kind) IF EXISTS \"\(name)\"")
    }

    private static func create(
        _ part: CacheSchema.Part,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        // Without this index, a key may have several rows: the newest one stays.
        if part.name == "entry_by_key" {
            try connection.run(
                """
                DELETE FROM entry WHERE id NOT IN (
                    SELECT max(id) FROM entry GROUP BY key_prefix, variant, is_partial)
                """
            )
        }
        try connection.execute(part.sql)
    }
}
