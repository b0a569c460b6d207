import Crypto
import DiamondSQLite
import DiamondSchema
import Foundation

/// The file of a cache: opened when it is made, opened anew when somebody has replaced or removed it, set aside and made
/// anew when it is damaged.
final class CacheFile: Sendable {
    private struct State {
        var database: SQLiteDatabase
        /// Tells the file from another one of its name.
        var number: FileNumber?
        /// Counts the files that were opened.
        var generation = 0
    }

    let store: Store
    /// Whether what is missing is made, and what is damaged made anew.
    private let mends: Bool
    private let activity: Activity
    private let state: Guarded<State>
    /// What makes this store's keys: kept over the file, so that what this process asks for is found again.
    let secret: Data
    /// What seals the rows; `nil` for a store in clear.
    let sealing: Sealing?

    /// - Parameter mends: `false` for those who only look.
    init(
        _ store: Store,
        seal: (any CacheSeal)? = nil,
        mends: Bool,
        activity: Activity
    ) throws(CacheError) {
        if mends { try store.create() } else { try store.requireCache() }
        self.store = store
        self.mends = mends
        self.activity = activity
        let (database, secret) = try Self.open(store, seal, secret: Self.freshSecret(), mends: mends, activity)
        self.secret = secret
        sealing = seal.map { Sealing($0, secret: secret) }
        state = Guarded(State(database: database, number: FileNumber(store.cachePath)))
    }

    /// Counts up when the file is another one than before.
    var generation: Int { state.withLock { $0.generation } }

    var database: SQLiteDatabase { state.withLock { $0.database } }

    func read<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        try run { (database) throws(SQLiteError) in try database.read(body) }
    }

    func write<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        try run { (database) throws(SQLiteError) in try database.write(body) }
    }

    /// Gives back some pages that hold nothing.
    func vacuum(pages: Int) throws(CacheError) {
        try run { (database) throws(SQLiteError) in try database.vacuum(pages: pages) }
    }

    /// Where the file is damaged, it is mended for the next time; this time fails.
    private func run<Result>(
        _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        let database = database
        do {
            return try body(database)
        } catch {
            let error = CacheError(error)
            if error.code == .corrupt { mend(database) }
            throw error
        }
    }

    // MARK: Another file

    /// Opens the file anew where it is no longer the one that was opened: removed, or set aside by another process.
    func reopenIfReplaced() {
        let now = FileNumber(store.cachePath)
        let (database, known) = state.withLock { ($0.database, $0.number) }
        guard mends, now != known else { return }
        reopen(database)
    }

    private func mend(_ damaged: SQLiteDatabase) {
        guard mends, state.withLock({ $0.database === damaged }) else { return }
        do throws(CacheError) {
            let number = state.withLock { $0.number }
            if let place = try Self.setAside(store, unlessOtherThan: number) {
                activity.report(.cacheSetAside(file: place))
            }
        } catch {
            return activity.report(.cacheFailed(reason: error.message))
        }
        reopen(damaged)
    }

    private func reopen(_ old: SQLiteDatabase) {
        do throws(CacheError) {
            try store.create()
            let (database, _) = try Self.open(store, sealing?.seal, secret: secret, mends: true, activity)
            let number = FileNumber(store.cachePath)
            state.withLock { state in
                guard state.database === old else { return }
                state = State(database: database, number: number, generation: state.generation + 1)
            }
        } catch {
            activity.report(.cacheFailed(reason: error.message))
        }
    }
}

extension CacheFile {
    static func freshSecret() -> Data { SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) } }

    private static func open(
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

    /// One damaged file is enough to look into.
    private static func removeOlder(in store: Store) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: store.directory.path)) ?? []
        where name.hasPrefix("cache.sqlite.corrupt-") {
            try? FileManager.default.removeItem(at: store.directory.appendingPathComponent(name))
        }
    }

    private static func date() -> String {
        Date().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
    }
}

/// Device and number of a file on it.
struct FileNumber: Equatable, Sendable {
    private var device: UInt64
    private var number: UInt64

    /// `nil` where there is no file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }
}

/// A lock between processes, held until it is dropped or its process ends.
final class FileLock {
    private let descriptor: Int32

    /// Waits for whoever has it.
    init(_ path: String) throws(CacheError) {
        descriptor = open(path, O_CREAT | O_CLOEXEC | O_RDWR, 0o600)
        guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else {
            let reason = String(cString: strerror(errno))
            throw CacheError(.cannotOpen, "the store's lock \(path) cannot be taken (\(reason)): make it writable")
        }
    }

    deinit { close(descriptor) }
}
