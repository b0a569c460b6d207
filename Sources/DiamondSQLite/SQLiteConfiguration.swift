import CDiamondSQLite

/// The settings for opening a database file.
package struct SQLiteConfiguration: Sendable {
    package enum Synchronous: String, Sendable {
        /// A commit survives a crash of the process. The latest commits may be lost in a power failure.
        case normal = "NORMAL"
        /// A commit survives a power failure.
        case full = "FULL"
    }

    package var synchronous: Synchronous = .normal
    /// The page size in bytes, fixed when the file is created. 8,192 was fastest for bodies of 1 to 64 KiB.
    package var pageSize = 8192
    /// The time in milliseconds to wait for another connection's lock. It is long because SQLite grants the lock in no
    /// particular order, and each process before this one may wait for a slow disk.
    package var busyTimeout: Int32 = 30_000
    /// The maximum number of idle read connections that stay open.
    package var idleReaders = 4
    /// The length of the write-ahead log, in pages, at which a write runs a checkpoint.
    package var checkpointLength: Int32 = 1000
    /// Whether a missing file is created.
    package var create = true
    /// The name of the registered VFS for the file; `nil` for SQLite's default.
    package var vfs: String?
    /// The id that identifies the files of this package (`PRAGMA application_id`).
    package var applicationID: Int32
    /// The scripts that create and migrate the schema, one for each version, beginning with version 1.
    package var migrations: [String]
    /// Whether version 1 was changed in place, so that its files have several forms. Before the second script, such a
    /// file gets the form that the first script creates.
    package var firstVersionVaries = false
    /// Computes the values that a script cannot, in the transaction of the migration, after a file of version 1 was
    /// migrated. New columns that may not be NULL have zeros and empty values then.
    package var complete: (@Sendable (borrowing SQLiteConnection) throws(SQLiteError) -> Void)?
    /// An object for the code that reads and writes the tables, such as the seal of their values.
    package var context: (any AnyObject & Sendable)?

    package init(applicationID: Int32, migrations: [String]) {
        self.applicationID = applicationID
        self.migrations = migrations
    }
}

/// The SQLite library that the program is linked with.
package enum SQLiteLibrary {
    /// The version, such as `3.45.1`.
    package static var version: String { String(cString: sqlite3_libversion()) }

    /// The options of its build, such as `SECURE_DELETE` or `THREADSAFE=1` (https://sqlite.org/compile.html).
    package static var options: [String] {
        var options: [String] = []
        while let option = sqlite3_compileoption_get(Int32(options.count)) { options.append(String(cString: option)) }
        return options
    }
}
