import CDiamondSQLite
import Foundation

/// A SQLite file in WAL mode, with one writer at a time and any number of concurrent readers.
///
/// Calls block the calling thread during the work. `write` also waits for earlier writers. The file is closed with the
/// last reference.
package final class SQLiteDatabase: Sendable {
    package let path: String
    /// The identity of the file. A later file at the path has another.
    package let identity: FileIdentity
    /// The path, with the links among its directories resolved at opening. A link that is changed later would lead to
    /// another store.
    private let resolvedPath: String
    private let configuration: SQLiteConfiguration
    private let writer: Guarded<SQLiteHandle>
    private let readers = Guarded<[SQLiteHandle]>([])
    /// A separate connection for checkpoints, used while the writer holds the write lock.
    private let checkpointer: SQLiteHandle
    /// The connection that rewrites the file now; `nil` for none.
    private let rewriting = Guarded<OpaquePointer?>(nil)
    private let process = getpid()

    /// Opens the file and migrates it. A missing file is created, accessible to its owner only.
    package init(path: String, configuration: SQLiteConfiguration) throws(SQLiteError) {
        let resolvedPath = PrivateFile.resolved(path)
        try PrivateFile.checkDirectory(URL(filePath: resolvedPath).deletingLastPathComponent().path)
        if configuration.create { try Self.makeFile(resolvedPath) }
        let (writer, identity) = try Self.openWriter(resolvedPath, configuration: configuration)
        try Self.prepareFile(writer, path: path, configuration: configuration)
        writer.watchLog()
        checkpointer = try Self.open(resolvedPath, configuration: configuration, readOnly: false, identity: identity)
        self.identity = identity
        self.path = path
        self.resolvedPath = resolvedPath
        self.configuration = configuration
        self.writer = Guarded(writer)
    }

    /// Runs `body` on a read connection. Each of its statements reads a consistent snapshot of its own.
    package func read<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        try refuseFork()
        let handle = try borrowReader()
        defer { returnReader(handle) }
        return try body(SQLiteConnection(handle: handle))
    }

    /// Runs `body` on an idle read connection, without waiting for other connections.
    ///
    /// - Returns: `nil` if no read connection is idle.
    package func readAtOnce<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result? {
        try refuseFork()
        guard let handle = readers.withLock({ $0.popLast() }) else { return nil }
        sqlite3_busy_timeout(handle.pointer, 0)
        defer {
            sqlite3_busy_timeout(handle.pointer, configuration.busyTimeout)
            returnReader(handle)
        }
        return try body(SQLiteConnection(handle: handle))
    }

    /// Runs `body` in a `BEGIN IMMEDIATE` transaction, which is rolled back if it throws. Throws if a newer program has
    /// migrated the file since it was opened.
    ///
    /// - Parameters:
    ///   - busyTimeout: The time to wait for another process that writes, before the error `busy`; `nil` for the
    ///     configuration's `busyTimeout`.
    ///   - overwrites: Whether deleted content is overwritten with zeros, which also takes space in the log.
    package func write<Result>(
        busyTimeout: Duration? = nil,
        overwrites: Bool = true,
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        try refuseFork()
        return try writer.withLock { (handle) throws(SQLiteError) in
            if let busyTimeout { sqlite3_busy_timeout(handle.pointer, Self.milliseconds(busyTimeout)) }
            defer { if busyTimeout != nil { sqlite3_busy_timeout(handle.pointer, configuration.busyTimeout) } }
            if !overwrites { try handle.execute("PRAGMA secure_delete = OFF") }
            defer { if !overwrites { try? handle.execute("PRAGMA secure_delete = ON") } }
            let result = try Self.transaction(on: handle) { (connection) throws(SQLiteError) in
                // A newer program may have migrated the file since this one opened it.
                try configuration.version(of: connection, path: path)
                return try body(connection)
            }
            if handle.logLength >= configuration.checkpointLength { try? checkpoint(lockedBy: handle) }
            return result
        }
    }

    /// A number that changes whenever another connection than this object's has changed the file (`PRAGMA data_version`);
    /// `nil` if it cannot be read now without waiting for a write.
    package var versionByOthers: Int64? {
        guard getpid() == process else { return nil }
        return writer.withLockIfFree { handle in
            try? SQLiteConnection(handle: handle).integer("PRAGMA data_version")
        } ?? nil
    }

    /// Whether a write could begin now without waiting for another process. This may change at any time.
    package var canWriteImmediately: Bool {
        let isFree = try? write(busyTimeout: .zero) { (connection) throws(SQLiteError) in true }
        return isFree == true
    }

    /// Runs `body` on a separate read-only connection. Does not create or migrate the file, and accepts any schema.
    package static func inspect<Result>(
        at path: String,
        configuration: SQLiteConfiguration,
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        let path = PrivateFile.resolved(path)
        do throws(SQLiteError) {
            return try body(SQLiteConnection(handle: open(path, configuration: configuration, readOnly: true)))
        } catch {
            // After a crash SQLite first has to recover the file, which needs write access.
            guard error.code.primary == .readOnly else { throw error }
            return try body(SQLiteConnection(handle: open(path, configuration: configuration, readOnly: false)))
        }
    }

    /// The size of the file, its write-ahead log and the log's index in bytes.
    package var size: Int64 {
        ["", "-wal", "-shm"].reduce(0) { sum, suffix in
            let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
            return sum + ((attributes?[.size] as? NSNumber)?.int64Value ?? 0)
        }
    }

    /// Removes up to a number of free pages from the file.
    package func vacuum(pages: Int) throws(SQLiteError) {
        try refuseFork()
        try writer.withLock { (handle) throws(SQLiteError) in
            // The pragma frees one page per step.
            let connection = SQLiteConnection(handle: handle)
            try connection.execute("PRAGMA incremental_vacuum(\(pages))")
            if handle.logLength >= configuration.checkpointLength { try? checkpoint(lockedBy: handle) }
        }
    }

    /// Writes the whole file again, and empties the log. SQLite moves rows between pages without overwriting the place
    /// that they leave, so that a page may have copies of rows that are deleted later. `secure_delete` does not
    /// overwrite these. Needs space for two copies of the file.
    package func rewrite() throws(SQLiteError) {
        try refuseFork()
        try writer.withLock { (handle) throws(SQLiteError) in
            // In a file, which SQLite removes as soon as it is open: in memory it could take as much as the cache.
            try handle.execute("PRAGMA temp_store = FILE")
            defer { try? handle.execute("PRAGMA temp_store = MEMORY") }
            rewriting.withLock { $0 = handle.pointer }
            defer { rewriting.withLock { $0 = nil } }
            try handle.execute("VACUUM")
        }
        emptyLog()
    }

    /// Ends a ``rewrite()`` that is under way with an error. The file stays as it was.
    package func interruptRewrite() {
        rewriting.withLock { pointer in
            if let pointer { sqlite3_interrupt(pointer) }
        }
    }

    /// Checkpoints and truncates the write-ahead log, as far as readers allow. After that, the log contains no deleted
    /// content, and the file has the size after the last `vacuum`, unless a reader prevented it. If it fails, the next
    /// call repeats it.
    package func emptyLog() {
        writer.withLock { handle in
            // The checkpoint waits for other writers. The truncation makes them wait for half a second at most.
            guard (try? checkpoint(lockedBy: handle)) != nil else { return }
            Self.truncateLog(on: handle)
            sqlite3_busy_timeout(handle.pointer, configuration.busyTimeout)
        }
    }

    /// Checkpoints and truncates the write-ahead log without waiting, so that a copy of the file alone is complete.
    /// Called at the end of use.
    ///
    /// If another connection writes, or still reads older pages, the log stays until that connection ends.
    package func emptyLogIfFree() {
        guard getpid() == process else { return }
        _ = writer.withLockIfFree { handle in
            sqlite3_busy_timeout(handle.pointer, 0)
            defer { sqlite3_busy_timeout(handle.pointer, configuration.busyTimeout) }
            guard (try? checkpoint(lockedBy: handle)) != nil else { return }
            // Without this, the next process that opens the file would read and copy the whole log again.
            Self.truncateLog(on: handle, waiting: false)
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int32 {
        let (seconds, attoseconds) = duration.components
        return Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }

    private func borrowReader() throws(SQLiteError) -> SQLiteHandle {
        if let idle = readers.withLock({ $0.popLast() }) { return idle }
        return try Self.open(resolvedPath, configuration: configuration, readOnly: true, identity: identity)
    }

    private func returnReader(_ handle: SQLiteHandle) {
        readers.withLock { idle in
            if idle.count < configuration.idleReaders { idle.append(handle) }
        }
    }

    // SQLite before 3.51.3 can corrupt the file if a checkpoint runs during a commit of another connection that resets
    // the log. The write lock prevents such commits, in this process and in others. The checkpoint runs on another
    // connection, because SQLite refuses it on a connection with an open transaction.
    private func checkpoint(lockedBy handle: SQLiteHandle) throws(SQLiteError) {
        try handle.execute("BEGIN IMMEDIATE")
        defer { try? handle.execute("ROLLBACK") }
        let code = sqlite3_wal_checkpoint_v2(checkpointer.pointer, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        if code != SQLITE_OK { throw checkpointer.error(code) }
        handle.forgetLogLength()
    }

    private func refuseFork() throws(SQLiteError) {
        guard getpid() == process else { throw SQLiteError(.forked, "opened before a fork", path: path) }
    }
}

extension SQLiteDatabase {
    static func transaction<Result>(
        on handle: SQLiteHandle,
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        let connection = SQLiteConnection(handle: handle)
        try connection.run("BEGIN IMMEDIATE")
        do {
            let result = try body(connection)
            try connection.run("COMMIT")
            return result
        } catch {
            // Some failures (a full disk) have rolled back already.
            if sqlite3_get_autocommit(handle.pointer) == 0 { try? handle.execute("ROLLBACK") }
            throw error
        }
    }

    /// Truncates the log if no reader needs it.
    ///
    /// Waits for readers for up to half a second, during which no other connection can write.
    ///
    /// If another connection holds the write lock, SQLite would checkpoint without that lock, during a commit (see
    /// `checkpoint(lockedBy:)`). The busy handler interrupts it instead, before it copies pages.
    ///
    /// - Parameter waiting: Whether to wait for readers.
    static func truncateLog(on handle: SQLiteHandle, waiting: Bool = true) {
        let pointer = UnsafeMutableRawPointer(handle.pointer)
        if waiting {
            sqlite3_busy_handler(
                handle.pointer, { $1 < 50 ? sqlite3_sleep(10) : SQLiteDatabase.interrupt($0) }, pointer)
        } else {
            sqlite3_busy_handler(handle.pointer, { pointer, _ in SQLiteDatabase.interrupt(pointer) }, pointer)
        }
        sqlite3_wal_checkpoint_v2(handle.pointer, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    }

    /// Interrupts the connection, for a busy handler.
    private static func interrupt(_ pointer: UnsafeMutableRawPointer?) -> Int32 {
        sqlite3_interrupt(OpaquePointer(pointer))
        return 0
    }
}
