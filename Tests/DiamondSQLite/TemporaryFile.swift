import DiamondSQLite
import DiamondTestSupport
import Foundation

/// A database file in a directory of its own, deleted with this object.
final class TemporaryFile: Sendable {
    private let folder = TemporaryFolder()
    var directory: URL { folder.url }
    var path: String { directory.appendingPathComponent("test.sqlite").path }

    static func configuration(versions: Int = 1) -> SQLiteConfiguration {
        let scripts = [
            "CREATE TABLE item (a INTEGER, b REAL, c TEXT, d BLOB, e INTEGER) STRICT;",
            "ALTER TABLE item ADD COLUMN f TEXT;",
            "CREATE INDEX item_by_a ON item (a);",
        ]
        return SQLiteConfiguration(applicationID: 42, migrations: Array(scripts.prefix(versions)))
    }

    func open(_ configuration: SQLiteConfiguration = configuration()) throws(SQLiteError) -> SQLiteDatabase {
        try SQLiteDatabase(path: path, configuration: configuration)
    }
}
