import Crypto
package import DiamondSQLite
import DiamondSchema
package import Foundation

/// Opening a store's file, and setting it aside if it is damaged.
extension CacheFile {
    package static func newSecret() -> Data { SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) } }

    /// An opened file with its secret.
    struct OpenedFile {
        let database: SQLiteDatabase
        let secret: Data
    }

    /// Opens the file of a store. If it is damaged, sets it aside and creates another one.
    ///
    /// - Parameter recreates: whether to replace a damaged file, and to save the secret in a store that has none.
    static func open(
        _ store: Store,
        seal: (any CacheSeal)?,
        secret: Data,
        recreates: Bool,
        activity: Activity
    ) throws(CacheError) -> OpenedFile {
        // Read before: after the failure, the path may name another file.
        let number = FileIdentity(store.cachePath)
        do {
            return try open(store, seal: seal, secret: secret, savesSecret: recreates)
        } catch {
            guard recreates, error.code == .corrupt else { throw error }
            if let place = try setAside(store, ifStill: number) {
                activity.report(.cacheSetAside(file: place))
            }
            return try open(store, seal: seal, secret: secret, savesSecret: recreates)
        }
    }

    /// Opens the file of a store.
    ///
    /// - Parameter savesSecret: whether a store without a secret gets this one.
    static func open(
        _ store: Store,
        seal: (any CacheSeal)?,
        secret: Data,
        savesSecret: Bool
    ) throws(CacheError) -> OpenedFile {
        do throws(SQLiteError) {
            return try openOnce(store, seal: seal, secret: secret, savesSecret: savesSecret)
        } catch {
            // On a full disk, the shared-memory index needs some kilobytes. Processes that only read or erase get them.
            let error = CacheError(error)
            guard error.code == .diskFull, !savesSecret, Reserve(of: store).release() else { throw error }
        }
        do throws(SQLiteError) {
            let opened = try openOnce(store, seal: seal, secret: secret, savesSecret: savesSecret)
            // Now, because the reserve gives it the space.
            opened.database.emptyLog()
            return opened
        } catch {
            throw CacheError(error)
        }
    }

    private static func openOnce(
        _ store: Store,
        seal: (any CacheSeal)?,
        secret: Data,
        savesSecret: Bool
    ) throws(SQLiteError) -> OpenedFile {
        let database = try database(of: store)
        let secret = try self.secret(in: database, seal: seal, new: secret, savesSecret: savesSecret)
        return OpenedFile(database: database, secret: secret)
    }

    private static func secret(
        in database: SQLiteDatabase,
        seal: (any CacheSeal)?,
        new secret: Data,
        savesSecret: Bool
    ) throws(SQLiteError) -> Data {
        if let seal { return try SealedSecret(seal).find(in: database, new: secret, savesNew: savesSecret) }
        if let stored = try database.read(CacheTable.secret) { return stored }
        guard savesSecret else { return secret }
        // Another process may have saved one first: the secret in the file counts.
        let stored = try database.write { (connection) throws(SQLiteError) in
            try CacheTable.saveSecret(secret, on: connection)
            return try CacheTable.secret(on: connection)
        }
        return stored ?? secret
    }

    /// Opens the file, also while other processes open it. A missing file is created under an exclusive lock.
    package static func database(of store: Store) throws(SQLiteError) -> SQLiteDatabase {
        do throws(SQLiteError) {
            // Shared, so that a process stopped here does not block others.
            let lock = try openingLock(of: store, isShared: true)
            defer { withExtendedLifetime(lock) {} }
            return try database(of: store, create: false)
        } catch  where isMissing(store) || error.code == .fileReplaced {
            let lock = try openingLock(of: store, isShared: false)
            defer { withExtendedLifetime(lock) {} }
            let isNew = isMissing(store)
            if isNew { try removeLeftovers(of: store) }
            return try database(of: store, create: isNew)
        }
    }

    private static func database(of store: Store, create: Bool) throws(SQLiteError) -> SQLiteDatabase {
        var configuration = DiamondSchema.cache
        configuration.vfs = store.vfs
        configuration.create = create
        return try SQLiteDatabase(path: store.cachePath, configuration: configuration)
    }

    // Any other error than ENOENT: the file may exist.
    private static func isMissing(_ store: Store) -> Bool { FileIdentity(store.cachePath) == nil && errno == ENOENT }

    /// Returns the lock for opening the file; `nil` if the lock is unavailable and the file exists: in a directory that
    /// is not writable, the file is not replaced.
    private static func openingLock(of store: Store, isShared: Bool) throws(SQLiteError) -> FileLock? {
        do {
            return try FileLock(store.lockPath, isShared: isShared, timeout: store.lockTimeout)
        } catch {
            guard error.code != .busy, !error.code.isUnsafe, FileIdentity(store.cachePath) != nil else { throw error }
            return nil
        }
    }

    // Removes the log and the index of a file that was removed without them. If two files had one index, closing the
    // first of them would release all locks of the process on it. The next process to open it would then truncate it,
    // which kills every process that has it mapped (SIGBUS).
    private static func removeLeftovers(of store: Store) throws(SQLiteError) {
        for path in ["-wal", "-shm"].map({ store.cachePath + $0 }) {
            guard unlink(path) != 0, errno != ENOENT else { continue }
            throw SQLiteError(errno: errno, "belongs to a removed file, and cannot be removed", path: path)
        }
    }

    /// Renames a damaged file and the files that belong to it, under a lock that every process of the store respects.
    ///
    /// - Parameter number: the identity of the damaged file. If another file is in its place, another process has
    ///   already set it aside.
    /// - Returns: its new path; `nil` if it was not renamed.
    package static func setAside(
        _ store: Store,
        ifStill number: FileIdentity?
    ) throws(CacheError) -> String? {
        let lock = try lock(of: store)
        defer { withExtendedLifetime(lock) {} }
        guard let number, FileIdentity(store.cachePath) == number else { return nil }
        removeOlder(in: store)
        let place = store.cachePath + ".corrupt-" + date()
        // The file first: if this process dies halfway, the process that creates the next file removes the rest.
        for suffix in ["", "-wal", "-shm"] {
            guard rename(store.cachePath + suffix, place + suffix) != 0, errno != ENOENT else { continue }
            let reason = String(cString: strerror(errno))
            throw CacheError(.cannotOpen, "\(store.cachePath) is damaged and cannot be moved (\(reason)): remove it")
        }
        return place
    }

    /// Removes the files that were set aside: the contents of a damaged file are unknown.
    func removeSetAside() throws(CacheError) {
        guard !store.setAside.isEmpty else { return }
        let lock = try Self.lock(of: store)
        defer { withExtendedLifetime(lock) {} }
        Self.removeOlder(in: store)
        guard let left = store.setAside.first else { return }
        throw CacheError(.diskError, "\(left.path) was set aside and cannot be removed: remove it")
    }

    private static func lock(of store: Store) throws(CacheError) -> FileLock {
        do { return try FileLock(store.lockPath, timeout: store.lockTimeout) } catch { throw CacheError(error) }
    }

    /// Removes earlier damaged files: one is enough to examine.
    private static func removeOlder(in store: Store) {
        for file in store.setAside { try? FileManager.default.removeItem(at: file) }
    }

    private static func date() -> String {
        Date().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
    }
}
