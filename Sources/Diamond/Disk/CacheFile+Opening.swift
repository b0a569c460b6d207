import Crypto
import DiamondSQLite
import DiamondSchema
import Foundation

/// Opening a store's file, and setting it aside where it is damaged.
extension CacheFile {
    static func freshSecret() -> Data { SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) } }

    static func open(
        _ store: Store,
        _ seal: (any CacheSeal)?,
        secret: Data,
        mends: Bool,
        _ activity: Activity
    ) throws(CacheError) -> (SQLiteDatabase, secret: Data) {
        do {
            return try open(store, seal, secret: secret, keeps: mends)
        } catch {
            guard mends, error.code == .corrupt else { throw error }
            if let place = try setAside(store, unlessOtherThan: FileNumber(store.cachePath)) {
                activity.report(.cacheSetAside(file: place))
            }
            return try open(store, seal, secret: secret, keeps: mends)
        }
    }

    /// - Parameter keeps: whether a store without a secret gets this one.
    static func open(
        _ store: Store,
        _ seal: (any CacheSeal)?,
        secret: Data,
        keeps: Bool
    ) throws(CacheError) -> (SQLiteDatabase, secret: Data) {
        do throws(SQLiteError) {
            var configuration = DiamondSchema.cache
            configuration.vfs = store.vfs
            let database = try SQLiteDatabase(path: store.cachePath, configuration: configuration)
            if let seal { return (database, try SealedSecret(seal).find(in: database, orKeep: keeps, secret)) }
            if let kept = try database.read(CacheTable.secret) { return (database, kept) }
            guard keeps else { return (database, secret) }
            // Another process may have been faster: what is in the file counts.
            let kept = try database.write { (connection) throws(SQLiteError) in
                try CacheTable.keepSecret(secret, on: connection)
                return try CacheTable.secret(on: connection)
            }
            return (database, kept ?? secret)
        } catch {
            throw CacheError(error)
        }
    }

    /// Gives a damaged file and what belongs to it another name, under a lock that every process of the store respects.
    ///
    /// - Parameter number: the damaged file's; where another stands in its place, somebody has been faster.
    /// - Returns: its new path, or `nil`.
    static func setAside(
        _ store: Store,
        unlessOtherThan number: FileNumber?
    ) throws(CacheError) -> String? {
        let lock = try FileLock(store.lockPath)
        defer { withExtendedLifetime(lock) {} }
        guard let number, FileNumber(store.cachePath) == number else { return nil }
        removeOlder(in: store)
        let place = store.cachePath + ".corrupt-" + date()
        for suffix in ["-wal", "-shm", ""] {
            guard rename(store.cachePath + suffix, place + suffix) != 0, errno != ENOENT else { continue }
            let reason = String(cString: strerror(errno))
            throw CacheError(.cannotOpen, "\(store.cachePath) is damaged and cannot be moved (\(reason)): remove it")
        }
        return place
    }

    /// Removes what was set aside: nobody can say what a damaged file holds.
    func removeSetAside() throws(CacheError) {
        guard !store.setAside.isEmpty else { return }
        let lock = try FileLock(store.lockPath)
        defer { withExtendedLifetime(lock) {} }
        Self.removeOlder(in: store)
        guard let left = store.setAside.first else { return }
        throw CacheError(.diskError, "\(left.path) was set aside and cannot be removed: remove it")
    }

    /// One damaged file is enough to look into.
    private static func removeOlder(in store: Store) {
        for file in store.setAside { try? FileManager.default.removeItem(at: file) }
    }

    private static func date() -> String {
        Date().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
    }
}
