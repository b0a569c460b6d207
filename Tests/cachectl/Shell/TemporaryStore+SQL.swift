import DiamondTestSupport
import DiamondTesting

@testable import Diamond
@testable import DiamondSQLite

extension TemporaryStore {
    /// Runs SQL on the store's file, beside whoever uses it and past all that Diamond guards.
    func run(_ sql: String) throws {
        // Read and write.
        try SQLiteHandle(path: store.cachePath, flags: 2, vfs: nil).execute(sql)
    }

    /// Runs SQL as a program would: its log stays.
    func write(_ sql: String) throws {
        let configuration = SQLiteConfiguration.ofCacheFile
        try SQLiteDatabase(path: store.cachePath, configuration: configuration).write {
            (connection) throws(SQLiteError) in try connection.execute(sql)
        }
    }

    /// Each entry with what a lookup may change.
    func entries() throws -> String? {
        let handle = try SQLiteHandle(path: store.cachePath, flags: 1, vfs: nil)
        return try SQLiteConnection(handle: handle).first(
            """
            SELECT group_concat(id || ' ' || is_visited || ' ' || checksum)
            FROM (SELECT id, is_visited, checksum FROM entry ORDER BY id)
            """
        ) { $0.text(0) }
    }

    /// The first page of a table or an index.
    func root(of name: String) throws -> Int {
        let handle = try SQLiteHandle(path: store.cachePath, flags: 1, vfs: nil)
        let connection = SQLiteConnection(handle: handle)
        return try connection.count("SELECT rootpage FROM sqlite_schema WHERE name = \(name)")
    }

    /// Somebody who meant well.
    func rebuildWithoutVacuum() throws { try run("PRAGMA auto_vacuum = NONE; VACUUM") }
}
