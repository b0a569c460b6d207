import DiamondSQLite
import Foundation

/// A database file in a directory of its own, gone with the test.
final class TemporaryFile: Sendable {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("diamond-\(UUID().uuidString)")
    var path: String { directory.appendingPathComponent("test.sqlite").path }

    init() { try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: directory) }

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
