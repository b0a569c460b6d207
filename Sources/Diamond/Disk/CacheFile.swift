import DiamondSQLite
import Foundation

/// The file of a cache: opened when it is made, opened anew when somebody has replaced or removed it, set aside and made
/// anew when it is damaged.
final class CacheFile: Sendable {
    private struct State {
        var database: SQLiteDatabase
        /// With the secret that is in the file: another process may have made it anew.
        var sealing: Sealing?
        /// Tells the file from another one of its name.
        var number: FileNumber?
        /// Counts the files that were opened.
        var generation = 0
        /// Whether nobody asks it any more.
        var isAbandoned = false
    }

    /// What a lookup may wait for another process.
    static let moment: Duration = .milliseconds(100)

    let store: Store
    /// Of its file.
    private let path: String
    /// Whether what is missing is made, and what is damaged made anew.
    private let mends: Bool
    private let activity: Activity
    private let state: Guarded<State>
    /// What makes this store's keys: kept over the file, so that what this process asks for is found again.
    let secret: Data
    let seal: (any CacheSeal)?
    /// Whether bodies of text are compressed.
    let compresses: Bool

    /// - Parameter mends: `false` for those who only look.
    init(
        _ store: Store,
        seal: (any CacheSeal)? = nil,
        compresses: Bool = false,
        mends: Bool,
        activity: Activity
    ) throws(CacheError) {
        if mends { try store.create() } else { try store.requireCache() }
        (self.store, self.seal, path) = (store, seal, store.cachePath)
        self.mends = mends
        self.compresses = compresses
        self.activity = activity
        let (database, secret, number) = try Self.open(
            store, seal, secret: Self.freshSecret(), mends: mends, activity)
        self.secret = secret
        let sealing = seal.map { Sealing($0, secret: secret) }
        state = Guarded(State(database: database, sealing: sealing, number: number))
    }

    /// What seals the rows; `nil` for a store in clear.
    var sealing: Sealing? { seal == nil ? nil : state.withLock { $0.sealing } }

    /// Whether bodies and headers are written as they came, neither compressed nor sealed.
    var isInClear: Bool { !compresses && seal == nil }

    /// Counts up when the file is another one than before.
    var generation: Int { state.withLock { $0.generation } }

    var database: SQLiteDatabase { state.withLock { $0.database } }

    func read<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        try run { (database) throws(SQLiteError) in try database.read(body) }
    }

    /// - Parameters:
    ///   - patience: how long it waits for another process that writes; `nil` for as long as SQLite does.
    ///   - overwrites: as in ``SQLiteDatabase/write(patience:overwrites:_:)``.
    func write<Result>(
        patience: Duration? = nil,
        overwrites: Bool = true,
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        try run { (database) throws(SQLiteError) in
            try database.write(patience: patience, overwrites: overwrites, body)
        }
    }

    /// Whether a write would wait for no other process now.
    var mayWriteAtOnce: Bool { database.mayWriteAtOnce }

    /// Gives back some pages that hold nothing.
    func vacuum(pages: Int) throws(CacheError) {
        try run { (database) throws(SQLiteError) in try database.vacuum(pages: pages) }
    }

    /// Where the file is damaged, it is mended for the next time; this time fails.
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

    /// Nobody asks it any more; what was added before is written still, to a file that is there and sound.
    func abandon() { state.withLock { $0.isAbandoned = true } }

    /// Opens the file anew where it is no longer the one that was opened: removed, or set aside by another process.
    ///
    /// Once ``abandon()`` was called, what is removed stays away: whoever lets go of a cache and removes its directory does
    /// not want what is written last to make it again.
    ///
    /// - Parameter patience: how long it waits at most for another process that does so: the next time it is tried again.
    func reopenIfReplaced(patience: Duration = .seconds(1)) throws(CacheError) {
        let now = FileNumber(path)
        let (database, known, isAbandoned) = state.withLock { ($0.database, $0.number, $0.isAbandoned) }
        // Where there is none, it may have gone before its number was taken.
        guard mends, now == nil ? !isAbandoned : now != known else { return }
        try reopen(database, store.waiting(atMost: patience))
    }

    // Whoever has read waits for its answer meanwhile. Once abandoned, it leaves that to who opens the file next: it would
    // make what is removed.
    private func mend(_ damaged: SQLiteDatabase) {
        guard mends, state.withLock({ $0.database === damaged && !$0.isAbandoned }) else { return }
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

    /// - Parameter store: with the patience for this once.
    private func reopen(_ old: SQLiteDatabase, _ store: Store) throws(CacheError) {
        try store.create()
        let (database, kept, number) = try Self.open(store, seal, secret: secret, mends: true, activity)
        let sealing = seal.map { Sealing($0, secret: kept) }
        state.withLock { state in
            guard state.database === old else { return }
            state = State(
                database: database, sealing: sealing, number: number, generation: state.generation + 1,
                isAbandoned: state.isAbandoned)
        }
    }
}
