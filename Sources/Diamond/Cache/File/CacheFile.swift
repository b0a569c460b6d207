package import DiamondSQLite
import Foundation

/// The file of a cache. If the file was replaced or removed, it is opened again. A damaged file is set aside, and
/// another one is created.
package final class CacheFile: Sendable {
    private struct State {
        var database: SQLiteDatabase
        /// The sealing with the secret that is now in the file. It differs from ``CacheFile/secret`` if another process
        /// has created the file again.
        var sealing: Sealing?
        /// The number of files opened after the first.
        var generation = 0
        /// Whether ``abandon()`` was called.
        var isAbandoned = false
    }

    /// The longest wait for another process in a lookup, and in other work that must not delay a lookup.
    static let briefTimeout: Duration = .milliseconds(100)

    let store: Store
    /// The path of the store's cache file.
    private let path: String
    /// Whether a missing file is created, and a damaged one replaced.
    private let recreates: Bool
    private let activity: Activity
    private let state: Guarded<State>
    let ownChanges = OwnChanges()
    /// The secret that makes this store's keys. It stays when the file is replaced, so that this process keeps its
    /// keys.
    let secret: Data
    let seal: (any CacheSeal)?
    /// Whether bodies of text are compressed.
    let compresses: Bool

    /// - Parameter recreates: `false` for callers that only read.
    init(
        _ store: Store,
        seal: (any CacheSeal)? = nil,
        compresses: Bool = false,
        recreates: Bool,
        activity: Activity
    ) throws(CacheError) {
        if recreates { try store.create() } else { try store.requireCache() }
        self.store = store
        self.seal = seal
        path = store.cachePath
        self.recreates = recreates
        self.compresses = compresses
        self.activity = activity
        let file = try Self.open(
            store, seal: seal, secret: Self.newSecret(), recreates: recreates, activity: activity)
        secret = file.secret
        let sealing = seal.map { Sealing($0, secret: file.secret) }
        state = Guarded(State(database: file.database, sealing: sealing))
    }

    /// The sealing of the rows; `nil` for a store in clear.
    var sealing: Sealing? { seal == nil ? nil : state.withLock { $0.sealing } }

    /// The form of the entries.
    var coding: CacheCoding { CacheCoding(sealing: sealing, compresses: compresses, place: path) }

    /// A number that increases when another file is opened.
    var generation: Int { state.withLock { $0.generation } }

    var database: SQLiteDatabase { state.withLock { $0.database } }

    /// Reads without waiting: for no other process, and for no file that has to be opened.
    ///
    /// - Returns: `nil` if it would wait, after a failure, and if the file was replaced.
    func readAtOnce<Result>(_ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result) -> Result? {
        replacedDatabase == nil ? try? database.readAtOnce(body) : nil
    }

    package func read<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        try run { (database) throws(SQLiteError) in try database.read(body) }
    }

    /// - Parameters:
    ///   - busyTimeout: the longest wait for another process that writes; `nil` for the database's own timeout.
    ///   - overwrites: as in ``SQLiteDatabase/write(busyTimeout:overwrites:_:)``.
    package func write<Result>(
        busyTimeout: Duration? = nil,
        overwrites: Bool = true,
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        try run { (database) throws(SQLiteError) in
            try database.write(busyTimeout: busyTimeout, overwrites: overwrites, body)
        }
    }

    /// Whether a write could begin now without waiting for another process.
    var canWriteImmediately: Bool { database.canWriteImmediately }

    /// Returns some unused pages to the file system.
    func vacuum(pages: Int) throws(CacheError) {
        try run { (database) throws(SQLiteError) in try database.vacuum(pages: pages) }
    }

    /// Writes the whole file again (``SQLiteDatabase/rewrite()``).
    func rewrite() throws(CacheError) {
        try run { (database) throws(SQLiteError) in try database.rewrite() }
    }

    /// Runs a body on the database. If the file is damaged, this call fails, and another file is created for the next
    /// one.
    private func run<Result>(
        _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        let database = database
        do throws(SQLiteError) {
            return try body(database)
        } catch  where error.code == .fileReplaced {
            // Use the file that has replaced it.
            try reopenIfReplaced(timeout: Self.briefTimeout)
            do throws(SQLiteError) { return try body(self.database) } catch { throw CacheError(error) }
        } catch {
            let error = CacheError(error)
            if error.code == .corrupt { replace(database) }
            throw error
        }
    }

    // MARK: Replacing the file

    /// Marks the file as no longer in use. Changes added before are still written if the file is there and sound.
    func abandon() { state.withLock { $0.isAbandoned = true } }

    /// Opens the file again if it is no longer the one that was opened: it was removed, or another process set it
    /// aside.
    ///
    /// After ``abandon()``, a removed file is not created again: if a program releases a cache and removes its
    /// directory, the last write must not create it again.
    ///
    /// - Parameter timeout: the longest wait for another process that does the same. After that, the next call tries
    ///   again.
    func reopenIfReplaced(timeout: Duration = .seconds(1)) throws(CacheError) {
        guard let database = replacedDatabase else { return }
        try reopen(replacing: database, in: store.waiting(atMost: timeout))
    }

    /// The open file, if the path has another one, or none, and the file at the path is to be opened.
    private var replacedDatabase: SQLiteDatabase? {
        let now = FileIdentity(path)
        let (database, isAbandoned) = state.withLock { ($0.database, $0.isAbandoned) }
        return recreates && (now == nil ? !isAbandoned : now != database.identity) ? database : nil
    }

    // With a brief timeout, because the failed read waits. An abandoned file is not replaced: that would create a file
    // that the program has removed.
    private func replace(_ damaged: SQLiteDatabase) {
        guard recreates, state.withLock({ $0.database === damaged && !$0.isAbandoned }) else { return }
        let store = store.waiting(atMost: Self.briefTimeout)
        do throws(CacheError) {
            if let place = try Self.setAside(store, ifStill: damaged.identity) {
                activity.report(.cacheSetAside(file: place))
            }
            try reopen(replacing: damaged, in: store)
        } catch {
            activity.report(.cacheFailed(reason: error.message))
        }
    }

    /// - Parameter store: the store, with the timeout for this call.
    private func reopen(replacing old: SQLiteDatabase, in store: Store) throws(CacheError) {
        try store.create()
        let file = try Self.open(store, seal: seal, secret: secret, recreates: true, activity: activity)
        let sealing = seal.map { Sealing($0, secret: file.secret) }
        state.withLock { state in
            guard state.database === old else { return }
            state = State(
                database: file.database, sealing: sealing, generation: state.generation + 1,
                isAbandoned: state.isAbandoned)
        }
    }
}
