import Diamond
package import DiamondSQLite
import DiamondSchema
package import DiamondTesting

/// The configurations for a test's own connections to the files of a store.
extension SQLiteConfiguration {
    package static var ofCacheFile: SQLiteConfiguration { DiamondSchema.cache }
    package static var ofQueueFile: SQLiteConfiguration { DiamondSchema.replay }
}

extension TemporaryStore {
    /// Returns SQLite's result of its integrity check: `ok` where every page and index is right.
    package func integrity() throws -> String {
        try SQLiteDatabase(path: store.cachePath, configuration: DiamondSchema.cache).read {
            (connection) throws(SQLiteError) in
            let check = try connection.statement("PRAGMA integrity_check")
            return try check.step() ? check.text(0) : ""
        }
    }
}

extension SQLiteDatabase {
    /// Returns a number that each rewrite of the whole file increases by 1, as does each change of the schema.
    package func rewrites() throws -> Int64 {
        try read { (connection) throws(SQLiteError) in try connection.integer("PRAGMA schema_version") }
    }
}
