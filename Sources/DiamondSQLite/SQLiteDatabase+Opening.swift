import CDiamondSQLite
import Foundation

/// Opening files: the checks before, and the settings of each connection.
extension SQLiteDatabase {
    // SQLite would create the file with the process's umask. `O_EXCL`, because opening and closing an existing database
    // file would release the POSIX locks of the whole process.
    static func makeFile(_ path: String) throws(SQLiteError) {
        let descriptor = Foundation.open(path, O_CREAT | O_EXCL | O_CLOEXEC | O_WRONLY, 0o600)
        guard descriptor < 0 else { return _ = close(descriptor) }
        guard errno != EEXIST else { return }
        throw SQLiteError(errno: errno, "cannot be created", path: path)
    }

    /// Opens the first connection to a file.
    static func openWriter(
        _ path: String,
        configuration: SQLiteConfiguration
    ) throws(SQLiteError) -> (handle: SQLiteHandle, identity: FileIdentity) {
        let known = FileIdentity(path)
        let writer = try open(path, configuration: configuration, readOnly: false, identity: known)
        guard let known else { throw removed(path) }
        return (writer, known)
    }

    private static func removed(_ path: String) -> SQLiteError {
        SQLiteError(.fileReplaced, "was removed or replaced while it was opened", path: path)
    }

    /// Opens a connection.
    ///
    /// SQLite opens the index of the log by its path, at the first statement. If the file is replaced before that, the
    /// index belongs to the next file, and two files with one index end every process that uses them (SIGBUS).
    ///
    /// - Parameters:
    ///   - path: The path, without links among its directories.
    ///   - identity: The identity of the file. If the path has another file, throws the error `fileReplaced`.
    static func open(
        _ path: String,
        configuration: SQLiteConfiguration,
        readOnly: Bool,
        identity: FileIdentity? = nil
    ) throws(SQLiteError) -> SQLiteHandle {
        try PrivateFile.checkDirectory(URL(filePath: path).deletingLastPathComponent().path)
        // SQLite opens all of these files, and would block on a pipe.
        for suffix in ["", "-wal", "-shm", "-journal"] { try PrivateFile.check(path + suffix) }
        let access = (readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOFOLLOW
        let handle = Result { () throws(SQLiteError) in
            try SQLiteHandle(path: path, flags: access, vfs: configuration.vfs)
        }
        // Checked after the opening: a file that was removed never returns to its path.
        if let identity, FileIdentity(path) != identity { throw removed(path) }
        return try configured(handle.get(), configuration: configuration)
    }

    private static func configured(
        _ handle: SQLiteHandle,
        configuration: SQLiteConfiguration
    ) throws(SQLiteError) -> SQLiteHandle {
        // Set first, because the switch to WAL fails without it while another process opens the file.
        sqlite3_busy_timeout(handle.pointer, configuration.busyTimeout)
        handle.context = configuration.context
        diamond_sqlite3_no_checkpoint_on_close(handle.pointer, 1)
        diamond_sqlite3_defensive(handle.pointer, 1)
        // Without this, SQLite prepares a statement again for each bound value if a partial index might apply to it.
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

    static func prepareFile(
        _ handle: SQLiteHandle,
        path: String,
        configuration: SQLiteConfiguration
    ) throws(SQLiteError) {
        let connection = SQLiteConnection(handle: handle)
        let isNew = try connection.integer("PRAGMA page_count") == 0
        if isNew {
            try handle.execute("PRAGMA page_size = \(configuration.pageSize); PRAGMA auto_vacuum = INCREMENTAL")
        } else {
            try checkApplicationID(of: connection, path: path, configuration: configuration)
        }
        let migration = SQLiteMigration(path: path, configuration: configuration)
        // Checked before the switch to WAL, which would change a file that is refused.
        try migration.check(handle)
        // The switch to WAL uses a rollback journal. With `synchronous = NORMAL` SQLite writes the journal's header and
        // its pages with one sync, so that a power failure can leave a header without the pages. The rollback then
        // destroys the first page (https://sqlite.org/pragma.html#pragma_synchronous).
        try handle.execute(
            """
            PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL;
            PRAGMA synchronous = \(configuration.synchronous.rawValue); PRAGMA journal_size_limit = 16777216
            """
        )
        try migration.run(on: handle)
    }

    /// Throws for a file of another program. An empty file is accepted.
    private static func checkApplicationID(
        of connection: borrowing SQLiteConnection,
        path: String,
        configuration: SQLiteConfiguration
    ) throws(SQLiteError) {
        let id = try connection.integer("PRAGMA application_id")
        let isEmpty = try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
        guard id == configuration.applicationID || (isEmpty && id == 0) else {
            throw SQLiteError(.foreignFile, "belongs to another program", path: path)
        }
    }
}
