/// The settings with which one database file is opened.
package struct SQLiteConfiguration: Sendable {
    package enum Synchronous: String, Sendable {
        /// A commit survives the death of the process; the newest may be lost with the power.
        case normal = "NORMAL"
        /// A commit survives the loss of power.
        case full = "FULL"
    }

    package var synchronous: Synchronous = .normal
    /// Bytes; fixed when the file is made. 8,192 measured best for bodies of 1 to 64 KiB.
    package var pageSize = 8192
    /// Milliseconds to wait for another connection's lock. Processes take turns in no order, and whose turn it is may wait
    /// for a slow disk more than once: seconds where it is busy.
    package var busyTimeout: Int32 = 30_000
    /// Readers kept open while idle.
    package var idleReaders = 4
    /// Pages of write-ahead log after which a write is followed by a checkpoint.
    package var checkpointLength: Int32 = 1000
    /// Whether the file may be made when it is missing.
    package var create = true
    /// The name of the registered VFS that the file is opened with; `nil` is SQLite's default.
    package var vfs: String?
    /// Marks the file as ours (`PRAGMA application_id`).
    package var applicationID: Int32
    /// One script per shipped version of the schema, the first for version 1.
    package var migrations: [String]

    package init(applicationID: Int32, migrations: [String]) {
        self.applicationID = applicationID
        self.migrations = migrations
    }
}
