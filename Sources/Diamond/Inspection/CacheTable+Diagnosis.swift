import DiamondSQLite

/// The reads of a diagnosis: settings and sizes.
extension CacheTable {
    static func settings(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> CacheDiagnosis.Settings {
        CacheDiagnosis.Settings(
            schemaVersion: try connection.integer("PRAGMA user_version"),
            applicationID: try connection.integer("PRAGMA application_id"),
            journalMode: try text("PRAGMA journal_mode", on: connection),
            autoVacuum: try connection.integer("PRAGMA auto_vacuum"),
            pageSize: try connection.integer("PRAGMA page_size"),
            pages: try connection.integer("PRAGMA page_count"),
            freePages: try connection.integer("PRAGMA freelist_count")
        )
    }

    private static func text(
        _ sql: StaticString,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> String {
        let statement = try connection.statement(sql)
        return try statement.step() ? statement.text(0) : ""
    }
}
