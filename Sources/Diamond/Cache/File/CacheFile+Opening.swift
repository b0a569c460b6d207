import Crypto
package import DiamondSQLite
import DiamondSchema
package import Foundation

/// Opening a store's file, and setting it aside if it is damaged.
extension CacheFile {
    package static func newSecret() -> Data { SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) } }

    /// A file as it was opened, with its secret and its number.
    typealias Opened = (database: SQLiteDatabase, secret: Data, number: FileNumber?)

    static func open(
        _ store: Store,
        _ seal: (any CacheSeal)?,
        secret: Data,
        recreates: Bool,
        _ activity: Activity
    ) throws(CacheError) -> Opened {
        // Of the file that is about to be found damaged: afterwards another one may stand in its place.
        let number = FileNumber(store.cachePath)
        do {
            return try open(store, seal, secret: secret, keeps: recreates)
        } catch {
            guard recreates, error.code == .corrupt else { throw error }
            if let place = try setAside(store, unlessOtherThan: number) {
                activity.report(.cacheSetAside(file: place))
            }
            return try open(store, seal, secret: secret, keeps: recreates)
        }
    }

    /// - Parameter keeps: whether a store without a secret gets this one.
    static func open(
        _ store: Store,
        _ seal: (any CacheSeal)?,
        secret: Data,
        keeps: Bool
    ) throws(CacheError) -> Opened {
        do throws(SQLiteError) {
            return try openOnce(store, seal, secret: secret, keeps: keeps)
        } catch {
            // Of a full disk, an index for the processes wants some kilobytes: whoever only looks, or erases, gets them.
            let error = CacheError(error)
            guard error.code == .diskFull, !keeps, Reserve(of: store).release() else { throw error }
        }
        do throws(SQLiteError) {
            let opened = try openOnce(store, seal, secret: secret, keeps: keeps)
            // While there is room for that.
            opened.database.emptyLog()
            return opened
        } catch {
            throw CacheError(error)
        }
    }

    private static func openOnce(
        _ store: Store,
        _ seal: (any CacheSeal)?,
        secret: Data,
        keeps: Bool
    ) throws(SQLiteError) -> Opened {
        let (database, number) = try database(of: store)
        return (database, try self.secret(in: database, seal, secret, keeps: keeps), number)
    }

    private static func secret(
        in database: SQLiteDatabase,
        _ seal: (any CacheSeal)?,
        _ secret: Data,
        keeps: Bool
    ) throws(SQLiteError) -> Data {
        if let seal { return try SealedSecret(seal).find(in: database, orKeep: keeps, secret) }
        if let kept = try database.read(CacheTable.secret) { return kept }
        guard keeps else { return secret }
        // Another process may have been faster: what is in the file counts.
        let kept = try database.write { (connection) throws(SQLiteError) in
            try CacheTable.saveSecret(secret, on: connection)
            return try CacheTable.secret(on: connection)
        }
        return kept ?? secret
    }

    /// Opens the file, also while other processes open it. A missing file is created under an exclusive lock.
    package static func database(of store: Store) throws(SQLiteError) -> (database: SQLiteDatabase, number: FileNumber?)
    {
        // Shared, so that a process that is stopped here does not keep others from the file.
        var lock = try openingLock(of: store, isShared: true)
        defer { withExtendedLifetime(lock) {} }
        if isMissing(store) {
            lock = nil
            lock = try openingLock(of: store, isShared: false)
            if isMissing(store) { try removeLeftovers(of: store) }
        }
        var configuration = DiamondSchema.cache
        configuration.vfs = store.vfs
        let database = try SQLiteDatabase(path: store.cachePath, configuration: configuration)
        return (database, FileNumber(store.cachePath))
    }

    // Where it cannot be looked at, it may be there.
    private static func isMissing(_ store: Store) -> Bool { FileNumber(store.cachePath) == nil && errno == ENOENT }

    /// `nil` where it cannot be had for a file that is there: in a directory that cannot be written, it stays the one.
    private static func openingLock(of store: Store, isShared: Bool) throws(SQLiteError) -> FileLock? {
        do {
            return try FileLock(store.lockPath, isShared: isShared, patience: store.lockPatience)
        } catch {
            guard error.code != .busy, !error.code.isUnsafe, FileNumber(store.cachePath) != nil else { throw error }
            return nil
        }
    }

    // Of a file that was removed alone. Where two files have one index, the process loses all its locks on it with the
    // first of them that it closes. Who opens it next believes to be alone, and cuts it off: whoever has it mapped is
    // killed by that (SIGBUS).
    private static func removeLeftovers(of store: Store) throws(SQLiteError) {
        for path in ["-wal", "-shm"].map({ store.cachePath + $0 }) {
            guard unlink(path) != 0, errno != ENOENT else { continue }
            throw SQLiteError(errno: errno, "is left of another file and cannot be removed", path: path)
        }
    }

    /// Renames a damaged file and the files that belong to it, under a lock that every process of the store respects.
    ///
    /// - Parameter number: the number of the damaged file. If another file is in its place, another process has already
    ///   set it aside.
    /// - Returns: its new path; `nil` if it was not renamed.
    package static func setAside(
        _ store: Store,
        unlessOtherThan number: FileNumber?
    ) throws(CacheError) -> String? {
        let lock = try lock(of: store)
        defer { withExtendedLifetime(lock) {} }
        guard let number, FileNumber(store.cachePath) == number else { return nil }
        removeOlder(in: store)
        let place = store.cachePath + ".corrupt-" + date()
        // The file first: what it leaves where this ends on the way is removed by whoever makes the next one.
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
        do { return try FileLock(store.lockPath, patience: store.lockPatience) } catch { throw CacheError(error) }
    }

    /// Removes earlier damaged files: one is enough to look into.
    private static func removeOlder(in store: Store) {
        for file in store.setAside { try? FileManager.default.removeItem(at: file) }
    }

    private static func date() -> String {
        Date().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
    }
}
