import Crypto
import DiamondSQLite
import DiamondSchema
import Foundation

/// Stored responses: a memory tier over SQLite, keyed on the normalized request.
///
/// The memory tier is bounded; the disk tier grows until it is purged.
///
/// A look-up takes the memory tier's nanoseconds or, in the calling thread, the disk's microseconds; it never waits for
/// a write. What cannot be read counts as a miss and is reported to the ``Activity``; a look-up throws nothing. Several
/// processes share one store: what one has written, the others find.
public final class Cache: Sendable {
    private let database: SQLiteDatabase
    private let memory: MemoryTier
    private let writer: CacheWriter
    private let activity: Activity
    /// What makes this store's keys.
    package let rules: KeyRules

    /// Bytes the memory tier keeps when nothing is said: 32 MiB.
    public static let defaultMemoryCapacity = 32 << 20

    /// Opens the cache of a store.
    ///
    /// - Parameter create: whether directory and file are made where they are missing.
    /// - Throws: ``CacheError``, which says what to do.
    package init(
        _ store: Store,
        activity: Activity = Activity(),
        memoryCapacity: Int = defaultMemoryCapacity,
        create: Bool = true
    ) throws(CacheError) {
        if create { try store.create() } else { try store.requireCache() }
        do {
            database = try SQLiteDatabase(path: store.cachePath, configuration: DiamondSchema.cache)
            rules = KeyRules(secret: try Self.secret(of: database))
        } catch {
            throw CacheError(error)
        }
        memory = MemoryTier(capacity: memoryCapacity)
        writer = CacheWriter(database: database, activity: activity)
        self.activity = activity
    }

    private static func secret(of database: SQLiteDatabase) throws(SQLiteError) -> SymmetricKey {
        if let kept = try database.read(CacheTable.secret) { return SymmetricKey(data: kept) }
        let fresh = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
        // Another process may have been faster: what is in the file counts.
        let kept = try database.write { (connection) throws(SQLiteError) in
            try CacheTable.keepSecret(fresh, on: connection)
            return try CacheTable.secret(on: connection)
        }
        return SymmetricKey(data: kept ?? fresh)
    }

    // MARK: What the pipeline needs

    /// What is stored under a key, fresh or not; `nil` where there is nothing, or nothing sound.
    package func find(_ key: RequestKey, request: [UInt8]) -> StoredResponse? {
        if let stored = memory.find(key, request: request) { return stored }
        switch writer.pending(key) {
        case .store(let entry), .confirm(let entry, _): return entry.request == request ? entry.stored : nil
        case .delete: return nil
        case nil: break
        }
        do {
            guard let stored = try findOnDisk(key, request: request) else { return nil }
            memory.store(stored, under: key, request: request)
            return stored
        } catch {
            activity.report(.cacheFailed(reason: error.message))
            return nil
        }
    }

    /// The disk tier alone.
    package func findOnDisk(_ key: RequestKey, request: [UInt8]) throws(CacheError) -> StoredResponse? {
        do {
            let finding = try database.read { (connection) throws(SQLiteError) in
                try CacheTable.find(key, request: request, on: connection)
            }
            return sound(finding, key)
        } catch {
            throw CacheError(error)
        }
    }

    private func sound(_ finding: CacheTable.Finding, _ key: RequestKey) -> StoredResponse? {
        switch finding {
        case .nothing: return nil
        case .entry(let stored): return stored
        case .damaged(let reason):
            writer.add(.delete(key))
            activity.report(.cacheEntryDropped(reason: "the entry \(key) was dropped: \(reason)"))
            return nil
        }
    }

    /// Keeps a new response: at once in memory, soon on disk.
    package func store(_ entry: CacheEntry) {
        memory.store(entry.stored, under: entry.key, request: entry.request)
        writer.add(.store(entry))
        activity.report(.stored)
    }

    /// Keeps what a 304 changed of a stored response.
    package func confirm(_ entry: CacheEntry, replacing old: StoredResponse) {
        memory.store(entry.stored, under: entry.key, request: entry.request)
        writer.add(.confirm(entry, replacing: old))
    }

    package func forget(_ key: RequestKey) {
        memory.remove(key)
        writer.add(.delete(key))
    }

    /// Returns when everything stored before is on disk, or has been reported as failed.
    public func flush() async { await writer.flush() }
}

extension Cache {
    // MARK: What people need

    /// Erases everything stored, for every process of the store.
    ///
    /// - Returns: how many entries there were.
    @discardableResult
    public func purge() async throws(CacheError) -> Int {
        await flush()
        // The memory tier last: a look-up beside this may still bring in what it has just read from disk.
        defer { memory.removeAll() }
        let count = try write { (connection) throws(SQLiteError) in try CacheTable.deleteAll(on: connection) }
        database.shrink()
        return count
    }

    /// Erases one entry; `false` where there was none.
    @discardableResult
    public func purge(_ key: RequestKey) async throws(CacheError) -> Bool {
        await flush()
        defer { memory.remove(key) }
        return try write { (connection) throws(SQLiteError) in try CacheTable.delete(key, on: connection) } > 0
    }

    /// Erases what was stored on behalf of one identity, for every process of the store.
    ///
    /// - Returns: how many entries there were.
    @discardableResult
    public func forget(identity: String) async throws(CacheError) -> Int {
        await flush()
        // It holds no identities; what others had in it comes back from disk.
        defer { memory.removeAll() }
        return try write { (connection) throws(SQLiteError) in
            try CacheTable.delete(identity: identity, on: connection)
        }
    }

    /// A page of entries, the newest first.
    package func list(limit: Int, offset: Int = 0) throws(CacheError) -> [CacheListing] {
        try read { (connection) throws(SQLiteError) in
            try CacheTable.list(limit: limit, offset: offset, on: connection)
        }
    }

    /// At most two entries whose keys begin with these hexadecimal digits.
    package func list(beginning digits: String) throws(CacheError) -> [CacheListing] {
        try read { (connection) throws(SQLiteError) in try CacheTable.list(beginning: digits, on: connection) }
    }

    package func canonicalForm(of key: RequestKey) throws(CacheError) -> String? {
        try read { (connection) throws(SQLiteError) in try CacheTable.canonicalForm(of: key, on: connection) }
    }

    package func statistics() throws(CacheError) -> CacheStatistics {
        var statistics = try read { (connection) throws(SQLiteError) in try CacheTable.statistics(on: connection) }
        statistics.diskBytes = database.size
        return statistics
    }

    private func read<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        do { return try database.read(body) } catch { throw CacheError(error) }
    }

    private func write<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        do { return try database.write(body) } catch { throw CacheError(error) }
    }
}
