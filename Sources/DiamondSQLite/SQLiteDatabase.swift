import CDiamondSQLite
import Foundation

/// One SQLite file in WAL mode: one writer at a time, and any number of readers at the same time.
///
/// Calls block the calling thread for the work and, in `write`, for the writers before it. The file stays open until
/// the last reference goes.
package final class SQLiteDatabase: Sendable {
    package let path: String
    /// The path with the links to its directory followed once. A store that the links lead to later is another one.
    private let place: String
    private let configuration: SQLiteConfiguration
    private let writer: Guarded<SQLiteHandle>
    private let readers = Guarded<[SQLiteHandle]>([])
    /// A connection of its own for checkpoints, used while the writer holds its lock.
    private let checkpointer: SQLiteHandle
    private let process = getpid()

    /// Opens the file, makes it (readable by its owner only) where it is missing, and migrates it.
    package init(path: String, configuration: SQLiteConfiguration) throws(SQLiteError) {
        let place = PrivateFile.resolved(path)
        try PrivateFile.checkDirectory(URL(filePath: place).deletingLastPathComponent().path)
        if configuration.create { try Self.makeFile(place) }
        let writer = try Self.open(place, configuration, readOnly: false)
        try Self.prepareFile(writer, path, configuration)
        writer.watchLog()
        checkpointer = try Self.open(place, configuration, readOnly: false)
        (self.path, self.place) = (path, place)
        self.configuration = configuration
        self.writer = Guarded(writer)
    }

    /// Runs `body` on a connection that sees one state of the file for each statement.
    package func read<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        try refuseFork()
        let handle = try takeReader()
        defer { giveBack(handle) }
        return try body(SQLiteConnection(handle: handle))
    }

    /// Runs `body` in one `BEGIN IMMEDIATE` transaction: all of it happens, or, when it throws, nothing. A file that a newer
    /// program has migrated in the meantime is not written any more.
    ///
    /// - Parameters:
    ///   - patience: how long it waits for another process that writes, before that is the error `busy`; `nil` for the
    ///     configuration's time.
    ///   - overwrites: whether what is deleted is written over with zeros, which takes as much room in the log.
    package func write<Result>(
        patience: Duration? = nil,
        overwrites: Bool = true,
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        try refuseFork()
        return try writer.withLock { (handle) throws(SQLiteError) in
            if let patience { sqlite3_busy_timeout(handle.pointer, Self.milliseconds(patience)) }
            defer { if patience != nil { sqlite3_busy_timeout(handle.pointer, configuration.busyTimeout) } }
            if !overwrites { try handle.execute("PRAGMA secure_delete = OFF") }
            defer { if !overwrites { try? handle.execute("PRAGMA secure_delete = ON") } }
            let result = try Self.transaction(on: handle) { (connection) throws(SQLiteError) in
                // A newer program may have migrated the file since this one opened it.
                try configuration.version(of: connection, path)
                return try body(connection)
            }
            if handle.logLength >= configuration.checkpointLength { try? checkpoint(behind: handle) }
            return result
        }
    }

    /// Whether a write would wait for no other process, as far as that can be said before: another may come in between.
    package var mayWriteAtOnce: Bool {
        let isFree = try? write(patience: .zero) { (connection) throws(SQLiteError) in true }
        return isFree == true
    }

    /// Runs `body` on a connection of its own that only reads, to a file as it is: nothing is made, refused or migrated.
    package static func look<Result>(
        at path: String,
        _ configuration: SQLiteConfiguration,
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        let path = PrivateFile.resolved(path)
        do throws(SQLiteError) {
            return try body(SQLiteConnection(handle: open(path, configuration, readOnly: true)))
        } catch {
            // What a lost process or power left behind has to be rolled back first, and that is writing.
            guard error.code.primary == .readOnly else { throw error }
            return try body(SQLiteConnection(handle: open(path, configuration, readOnly: false)))
        }
    }

    /// Bytes of the file and of its log and index beside it.
    package var size: Int64 {
        ["", "-wal", "-shm"].reduce(0) { sum, suffix in
            let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
            return sum + ((attributes?[.size] as? NSNumber)?.int64Value ?? 0)
        }
    }

    /// Releases some free pages at the end of the file.
    package func vacuum(pages: Int) throws(SQLiteError) {
        try refuseFork()
        try writer.withLock { (handle) throws(SQLiteError) in
            // It frees one page a step: run to the end.
            let connection = SQLiteConnection(handle: handle)
            try connection.statement(composed: "PRAGMA incremental_vacuum(\(pages))").run()
            if handle.logLength >= configuration.checkpointLength { try? checkpoint(behind: handle) }
        }
    }

    /// Brings the log into the file and empties it, as far as readers allow: what was deleted is then in neither, and
    /// the file is as short as it can be. What fails is left for the next time.
    package func emptyLog() {
        writer.withLock { handle in
            // In its turn among the writers; to cut off what is in the file by then, nobody is kept waiting for long.
            guard (try? checkpoint(behind: handle)) != nil else { return }
            Self.cutOffLog(on: handle)
            sqlite3_busy_timeout(handle.pointer, configuration.busyTimeout)
        }
    }

    /// Checkpoints and truncates the write-ahead log, so that a copy of the file alone is complete. Called at the end of use.
    ///
    /// Does not wait: if another connection writes, or still reads older pages, that connection does it at its own end. What
    /// fails is left for the next time.
    package func emptyLogIfFree() {
        guard getpid() == process else { return }
        _ = writer.withLockIfFree { handle in
            sqlite3_busy_timeout(handle.pointer, 0)
            defer { sqlite3_busy_timeout(handle.pointer, configuration.busyTimeout) }
            guard (try? checkpoint(behind: handle)) != nil else { return }
            // Otherwise the next process to open the file reads the whole log, and copies it again.
            Self.cutOffLog(on: handle, waiting: false)
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int32 {
        let (seconds, attoseconds) = duration.components
        return Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }

    private func takeReader() throws(SQLiteError) -> SQLiteHandle {
        if let idle = readers.withLock({ $0.popLast() }) { return idle }
        return try Self.open(place, configuration, readOnly: true)
    }

    private func giveBack(_ handle: SQLiteHandle) {
        readers.withLock { idle in
            if idle.count < configuration.idleReaders { idle.append(handle) }
        }
    }

    // SQLite before 3.51.3 can corrupt the file when a checkpoint runs beside another connection's commit that resets
    // the log. The write lock keeps every such commit away, in this process and in others; the checkpoint itself runs
    // on a sibling connection because SQLite refuses it on one that is in a transaction.
    private func checkpoint(behind handle: SQLiteHandle) throws(SQLiteError) {
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
        try connection.statement("BEGIN IMMEDIATE").run()
        do {
            let result = try body(connection)
            try connection.statement("COMMIT").run()
            return result
        } catch {
            // Some failures (a full disk) have rolled back already.
            if sqlite3_get_autocommit(handle.pointer) == 0 { try? handle.execute("ROLLBACK") }
            throw error
        }
    }

    /// Empties the log where no reader needs it, for which it waits half a second: as long nobody else can write.
    ///
    /// - Parameter waiting: whether it waits at all.
    ///
    /// It takes the write lock itself, and where that is taken SQLite would go on without it, beside a commit (see
    /// `checkpoint(behind:)`): interrupted, it copies nothing.
    static func cutOffLog(on handle: SQLiteHandle, waiting: Bool = true) {
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

    // SQLite would make the file with the process's umask. Only ever made here when it is missing: closing a second
    // descriptor of an open database drops the POSIX locks of the whole process.
    private static func makeFile(_ path: String) throws(SQLiteError) {
        let descriptor = Foundation.open(path, O_CREAT | O_EXCL | O_CLOEXEC | O_WRONLY, 0o600)
        guard descriptor < 0 else { return _ = close(descriptor) }
        guard errno != EEXIST else { return }
        throw SQLiteError(errno: errno, "cannot be made", path: path)
    }

    /// - Parameter path: no directory of it is a link.
    static func open(
        _ path: String,
        _ configuration: SQLiteConfiguration,
        readOnly: Bool
    ) throws(SQLiteError) -> SQLiteHandle {
        try PrivateFile.checkDirectory(URL(filePath: path).deletingLastPathComponent().path)
        // SQLite opens all of them, and waits for the other end of a pipe.
        for suffix in ["", "-wal", "-shm", "-journal"] { try PrivateFile.check(path + suffix) }
        let access = (readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOFOLLOW
        let handle = try SQLiteHandle(path: path, flags: access, vfs: configuration.vfs)
        // First of all, or the switch to WAL below loses against another process that is opening too.
        sqlite3_busy_timeout(handle.pointer, configuration.busyTimeout)
        diamond_sqlite3_no_checkpoint_on_close(handle.pointer, 1)
        diamond_sqlite3_defensive(handle.pointer, 1)
        // Or a statement that an index on some rows might serve is compiled anew for each value bound to it.
        diamond_sqlite3_stable_plans(handle.pointer, 1)
        try handle.execute(
            """
            PRAGMA trusted_schema = OFF; PRAGMA wal_autocheckpoint = 0; PRAGMA mmap_size = 0;
            PRAGMA synchronous = \(configuration.synchronous.rawValue); PRAGMA temp_store = MEMORY;
            PRAGMA secure_delete = ON; PRAGMA foreign_keys = ON; PRAGMA fullfsync = \(configuration.synchronous == .full);
            """
        )
        return handle
    }

    private static func prepareFile(
        _ handle: SQLiteHandle,
        _ path: String,
        _ configuration: SQLiteConfiguration
    ) throws(SQLiteError) {
        let connection = SQLiteConnection(handle: handle)
        let isNew = try connection.integer("PRAGMA page_count") == 0
        if isNew {
            try handle.execute("PRAGMA page_size = \(configuration.pageSize); PRAGMA auto_vacuum = INCREMENTAL")
        } else {
            try refuseForeign(connection, path, configuration)
        }
        let migration = SQLiteMigration(path: path, configuration: configuration)
        // Before the switch to WAL, which writes: a file that is refused stays as it is.
        try migration.check(handle)
        try handle.execute("PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 16777216")
        try migration.run(on: handle)
    }

    private static func refuseForeign(
        _ connection: borrowing SQLiteConnection,
        _ path: String,
        _ configuration: SQLiteConfiguration
    ) throws(SQLiteError) {
        let id = try connection.integer("PRAGMA application_id")
        let isEmpty = try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
        guard id == configuration.applicationID || (isEmpty && id == 0) else {
            throw SQLiteError(.foreignFile, "belongs to another program", path: path)
        }
    }
}
