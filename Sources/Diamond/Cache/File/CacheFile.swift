package import DiamondSQLite
import Foundation

/// The file of a cache. It is opened when it is created, and opened again when it was replaced or removed. A damaged
/// file is set aside, and another one is created.
package final class CacheFile: Sendable {
    private struct State {
        var database: SQLiteDatabase
        /// The sealing with the secret in the file: another process may have created the file again.
        var sealing: Sealing?
        /// The number that tells the file from another one of its name.
        var number: FileNumber?
        /// The number of files opened after the first.
        var generation = 0
        /// Whether ``abandon()`` was called.
        var isAbandoned = false
    }

    /// The longest time that a lookup waits for another process.
    static let moment: Duration = .milliseconds(100)

    let store: Store
    /// The path of the store's cache file.
    private let path: String
    /// Whether a missing file is created, and a damaged one replaced.
    private let recreates: Bool
    private let activity: Activity
    private let state: Guarded<State>
    /// The secret that makes this store's keys. It stays when the file is replaced, so that this process finds again
    /// what it asks for.
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
        (self.store, self.seal, path) = (store, seal, store.cachePath)
        self.recreates = recreates
        self.compresses = compresses
        self.activity = activity
        let (database, secret, number) = try Self.open(
            store, seal, secret: Self.newSecret(), recreates: recreates, activity)
        self.secret = secret
        let sealing = seal.map { Sealing($0, secret: secret) }
        state = Guarded(State(database: database, sealing: sealing, number: number))
    }

    /// The sealing of the rows; `nil` for a store in clear.
    var sealing: Sealing? { seal == nil ? nil : state.withLock { $0.sealing } }

    /// Whether bodies and headers are written as they came, neither compressed nor sealed.
    var isInClear: Bool { !compresses && seal == nil }

    /// A number that increases when the file is another one than before.
    var generation: Int { state.withLock { $0.generation } }

    var database: SQLiteDatabase { state.withLock { $0.database } }

    package func read<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        try run { (database) throws(SQLiteError) in try database.read(body) }
    }

    /// - Parameters:
    ///   - patience: the longest wait for another process that writes; `nil` for as long as SQLite waits.
    ///   - overwrites: as in ``SQLiteDatabase/write(patience:overwrites:_:)``.
    package func write<Result>(
        patience: Duration? = nil,
        overwrites: Bool = true,
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        try run { (database) throws(SQLiteError) in
            try database.write(patience: patience, overwrites: overwrites, body)
        }
    }

    /// Whether a write could begin now without waiting for another process.
    var mayWriteAtOnce: Bool { database.mayWriteAtOnce }

    /// Gives back some pages that hold nothing.
    func vacuum(pages: Int) throws(CacheError) {
        try run { (database) throws(SQLiteError) in try database.vacuum(pages: pages) }
    }

    /// Runs a body on the database. If the file is damaged, this call fails, and the file is mended for the next one.
    private func run<Result>(
        _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        let database = database
        do throws(SQLiteError) {
            return try body(database)
        } catch  where error.code == .fileReplaced {
            // What it has been replaced by is asked instead.
            try reopenIfReplaced(patience: Self.moment)
            do throws(SQLiteError) { return try body(self.database) } catch { throw CacheError(error) }
        } catch {
            let error = CacheError(error)
            if error.code == .corrupt { mend(database) }
            throw error
        }
    }

    // MARK: Another file

    /// Marks the file as no longer in use. Changes added before are still written if the file is there and sound.
    func abandon() { state.withLock { $0.isAbandoned = true } }

    /// Opens the file again if it is no longer the one that was opened: it was removed, or another process set it
    /// aside.
    ///
    /// After ``abandon()``, a removed file is not created again: a program that lets go of a cache and removes its
    /// directory does not want the last write to create it.
    ///
    /// - Parameter patience: the longest wait for another process that does the same. After that, the next call tries
    ///   again.
    func reopenIfReplaced(patience: Duration = .seconds(1)) throws(CacheError) {
        let now = FileNumber(path)
        let (database, known, isAbandoned) = state.withLock { ($0.database, $0.number, $0.isAbandoned) }
        // Where there is none, it may have gone before its number was taken.
        guard recreates, now == nil ? !isAbandoned : now != known else { return }
        try reopen(database, store.waiting(atMost: patience))
    }

    // Whoever has read waits for its answer meanwhile. Once abandoned, it leaves that to who opens the file next: it would
    // make what is removed.
    private func mend(_ damaged: SQLiteDatabase) {
        guard recreates, state.withLock({ $0.database === damaged && !$0.isAbandoned }) else { return }
        let store = store.waiting(atMost: Self.moment)
        do throws(CacheError) {
            let number = state.withLock { $0.number }
            if let place = try Self.setAside(store, unlessOtherThan: number) {
                activity.report(.cacheSetAside(file: place))
            }
            try reopen(damaged, store)
        } catch {
            activity.report(.cacheFailed(reason: error.message))
        }
    }

    /// - Parameter store: the store, with the patience for this call.
    private func reopen(_ old: SQLiteDatabase, _ store: Store) throws(CacheError) {
        try store.create()
        let (database, kept, number) = try Self.open(store, seal, secret: secret, recreates: true, activity)
        let sealing = seal.map { Sealing($0, secret: kept) }
        state.withLock { state in
            guard state.database === old else { return }
            state = State(
                database: database, sealing: sealing, number: number, generation: state.generation + 1,
                isAbandoned: state.isAbandoned)
        }
    }
}
