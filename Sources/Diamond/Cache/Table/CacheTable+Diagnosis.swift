package import DiamondSQLite

/// The reads of a diagnosis: settings and sizes.
extension CacheTable {
    /// The settings that the file records.
    package struct Settings: Hashable, Sendable {
        package var schemaVersion: Int64
        package var applicationID: Int64
        package var journalMode: String
        /// 0 none, 1 full, 2 incremental.
        package var autoVacuum: Int64
        package var pageSize: Int64
        package var pages: Int64
        package var freePages: Int64

        package var freeBytes: Int64 { freePages * pageSize }
        package var usedBytes: Int64 { (pages - freePages) * pageSize }
    }

    package static func settings(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Settings {
        Settings(
            schemaVersion: try connection.integer("PRAGMA user_version"),
            applicationID: try connection.integer("PRAGMA application_id"),
            journalMode: try connection.first("PRAGMA journal_mode") { $0.text(0) } ?? "",
            autoVacuum: try connection.integer("PRAGMA auto_vacuum"),
            pageSize: try connection.integer("PRAGMA page_size"),
            pages: try connection.integer("PRAGMA page_count"),
            freePages: try connection.integer("PRAGMA freelist_count")
        )
    }
}
