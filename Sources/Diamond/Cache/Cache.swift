import Crypto
import DiamondSQLite
import Foundation

/// Stored responses: a memory tier over SQLite, keyed on the normalized request.
///
/// Both tiers are bounded in bytes; what is expired goes first, then what was not used, by SIEVE. A look-up takes the
/// memory tier's nanoseconds or, in the calling thread, the disk's microseconds; it never waits for a write. What cannot
/// be read counts as a miss and is reported to the ``Activity``; a look-up throws nothing.
///
/// Several processes share one store: what one has written, the others find; what one has replaced or removed, the
/// others notice within a tenth of a second.
public final class Cache: Sendable {
    let file: CacheFile
    private let memory: MemoryTier
    private let eviction: Eviction
    let writer: CacheWriter
    private let neighbors: Neighbors
    private let pressure: MemoryPressure
    private let activity: Activity
    let now: @Sendable () -> Int64
    /// What has been told of entries that are not to be read.
    private let locks = Guarded<Set<CacheLock>>([])
    /// What makes this store's keys.
    package let rules: KeyRules

    /// Bytes the memory tier keeps when nothing is said: 32 MiB.
    public static let defaultMemoryCapacity = 32 << 20
    /// Bytes the disk tier keeps when nothing is said: 256 MiB.
    public static let defaultDiskCapacity: Int64 = 256 << 20

    /// Opens the cache of a store.
    ///
    /// - Parameters:
    ///   - seal: what seals the files; `nil` keeps them in clear.
    ///   - create: whether directory and file are made where they are missing, and mended where they are damaged.
    ///   - now: milliseconds since 1970.
    ///   - uptime: nanoseconds of a clock that only goes forward.
    /// - Throws: ``CacheError``, which says what to do.
    package init(
        _ store: Store,
        seal: (any CacheSeal)? = nil,
        activity: Activity = Activity(),
        memoryCapacity: Int = defaultMemoryCapacity,
        diskCapacity: Int64 = defaultDiskCapacity,
        create: Bool = true,
        now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) },
        uptime: @escaping @Sendable () -> UInt64 = { DispatchTime.now().uptimeNanoseconds }
    ) throws(CacheError) {
        let memory = MemoryTier(capacity: memoryCapacity)
        file = try CacheFile(store, seal: seal, mends: create, activity: activity)
        rules = KeyRules(secret: SymmetricKey(data: file.secret))
        eviction = Eviction(file: file, capacity: diskCapacity, now: now)
        writer = CacheWriter(file: file, eviction: eviction, activity: activity)
        neighbors = try Neighbors(file: file, uptime: uptime)
        pressure = MemoryPressure(memory)
        self.memory = memory
        self.activity = activity
        self.now = now
    }

    /// Bytes of memory at most; may be changed at any time.
    public var memoryCapacity: Int {
        get { memory.capacity }
        set { memory.capacity = newValue }
    }

    /// Bytes on disk at most, the log beside the file included; may be changed at any time. Lowering it evicts with the
    /// next write, or with ``flush()``.
    public var diskCapacity: Int64 {
        get { eviction.capacity }
        set { eviction.capacity = newValue }
    }

    // MARK: What the pipeline needs

    /// What is stored under a key, fresh or not; `nil` where there is nothing, or nothing sound.
    package func find(_ key: RequestKey, request: [UInt8]) -> StoredResponse? {
        heedNeighbors()
        switch memory.find(key, request: request) {
        case .hit(let stored, let isFirst):
            if isFirst { writer.visit(key) }
            return stored
        case .miss(let changes): return findBelow(key, request, since: changes)
        }
    }

    /// What waits to be written comes before what is written.
    private func findBelow(_ key: RequestKey, _ request: [UInt8], since changes: Int) -> StoredResponse? {
        switch writer.pending(key) {
        case .store(let entry), .confirm(let entry, _): return entry.request == request ? entry.stored : nil
        case .delete: return nil
        case nil: break
        }
        do {
            guard var stored = try findOnDisk(key, request: request) else { return nil }
            stored.readHeaders()
            memory.keep(stored, under: key, request: request, since: changes)
            return stored
        } catch {
            activity.report(.cacheFailed(reason: error.message))
            return nil
        }
    }

    private func heedNeighbors() {
        guard let changes = neighbors.news() else { return }
        switch changes {
        case .keys(let prefixes): for prefix in prefixes { memory.remove(prefix) }
        case .everything: memory.removeAll()
        case .failure(let error): activity.report(.cacheFailed(reason: error.message))
        }
    }

    /// The disk tier alone.
    package func findOnDisk(_ key: RequestKey, request: [UInt8]) throws(CacheError) -> StoredResponse? {
        let finding = try file.read { (connection) throws(SQLiteError) in
            try CacheTable.find(key, request: request, sealing: file.sealing, on: connection)
        }
        switch finding {
        case .nothing: return nil
        case .entry(let stored, let isVisited):
            if !isVisited { writer.visit(key) }
            return stored
        case .damaged(let reason):
            writer.add(.delete(key))
            activity.report(.cacheEntryDropped(reason: "the entry \(key) was dropped: \(reason)"))
            return nil
        case .locked(let lock):
            let isNew = locks.withLock { $0.insert(lock).inserted }
            if isNew { activity.report(.cacheEntriesLocked(reason: lock.reason)) }
            return nil
        }
    }

    /// Keeps a new response: at once in memory, soon on disk.
    ///
    /// - Parameter isReplacing: whether another answer was there, and was no longer right.
    package func store(_ entry: CacheEntry, replacing isReplacing: Bool = false) {
        memory.store(entry.stored, under: entry.key, request: entry.request)
        // What is too large here may not be at another size.
        writer.record(CacheAccess(entry.key, entry.stored, at: now(), isReplacing ? .replaced : .stored))
        // Otherwise an older answer on disk would come back.
        guard !eviction.isTooLarge(entry.stored.body.count), writer.add(.store(entry)) else {
            return _ = writer.add(.delete(entry.key))
        }
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

    /// Counts an answer from the cache, and records it.
    package func count(_ source: Response.Source, of stored: StoredResponse, under key: RequestKey) {
        let now = now()
        writer.count(in: now / Self.hour, of: CacheAccess(key, stored, at: now, .hit)) { counts in
            switch source {
            case .stale: counts.staleHits += 1
            case .revalidated: counts.revalidations += 1
            default: counts.hits += 1
            }
            counts.bytesServed += Int64(stored.body.count)
            if source != .revalidated { counts.timeSaved += stored.duration }
        }
    }

    package func countMiss() { writer.count(in: now() / Self.hour) { $0.misses += 1 } }

    /// In milliseconds.
    private static let hour: Int64 = 3_600_000

    /// Returns when everything stored before is on disk, or has been reported as failed.
    public func flush() async { await writer.flush() }
}

extension Cache {
    // MARK: Erasing and marking stale

    /// Erases what a selection names, for every process of the store. No file holds its bytes afterwards, as far as
    /// readers of other processes allow.
    ///
    /// - Returns: how many entries there were.
    @discardableResult
    public func purge(_ selection: CacheSelection = .all) async throws(CacheError) -> Int {
        // The memory tier last: a look-up beside this may still bring in what it has just read from disk.
        defer { forgetInMemory(selection) }
        let (file, eviction) = (file, eviction)
        return try await writer.alone { () throws(CacheError) in
            let parts = try file.parts(of: selection)
            let isAll = selection == .all
            if !isAll { try Self.forgetAccesses(of: parts, file) }
            let count = try isAll ? Self.purgeAll(file) : Self.slices(of: parts, file, CacheTable.deleteSlice)
            if count > 0 { try eviction.giveBackAll() }
            return count
        }
    }

    private static func forgetAccesses(of parts: [CacheSelection], _ file: CacheFile) throws(CacheError) {
        try file.write { (connection) throws(SQLiteError) in
            for part in parts { try CacheTable.deleteAccesses(of: part, on: connection) }
        }
    }

    private static func purgeAll(_ file: CacheFile) throws(CacheError) -> Int {
        try file.write { (connection) throws(SQLiteError) in try CacheTable.deleteAll(on: connection) }
    }

    /// Marks what a selection names stale against every lifetime and `maxAge`, for every process of the store. The next
    /// request asks the server, with the validators that are stored.
    ///
    /// - Returns: how many entries were not marked before.
    @discardableResult
    public func invalidate(_ selection: CacheSelection) async throws(CacheError) -> Int {
        defer { forgetInMemory(selection) }
        let file = file
        return try await writer.alone { () throws(CacheError) in
            try Self.slices(of: file.parts(of: selection), file, CacheTable.invalidateSlice)
        }
    }

    /// Erases what a predicate picks out of all entries, for every process of the store. Looks at each of them: some
    /// hundred thousand a second.
    ///
    /// - Returns: how many there were.
    @discardableResult
    public func purge(where predicate: (CacheListing) -> Bool) async throws(CacheError) -> Int {
        var count = 0
        for key in try await keys(where: predicate) { count += try await purge(.key(key)) }
        return count
    }

    /// Marks stale what a predicate picks out of all entries, for every process of the store. Looks at each of them.
    ///
    /// - Returns: how many were not marked before.
    @discardableResult
    public func invalidate(where predicate: (CacheListing) -> Bool) async throws(CacheError) -> Int {
        var count = 0
        for key in try await keys(where: predicate) { count += try await invalidate(.key(key)) }
        return count
    }

    // In pages, so that no reading transaction stands long in the way of a checkpoint.
    private func keys(where predicate: (CacheListing) -> Bool) async throws(CacheError) -> [RequestKey] {
        await flush()
        var keys: [RequestKey] = []
        var next: Int64 = 0
        while true {
            let page = try file.read { (connection) throws(SQLiteError) in
                try file.opened(CacheTable.list(from: next, limit: 1000, on: connection), on: connection)
            }
            keys += page.filter(predicate).map(\.key)
            guard let last = page.last else { return keys }
            next = last.id + 1
        }
    }

    /// Erases one entry; `false` where there was none.
    @discardableResult
    public func purge(_ key: RequestKey) async throws(CacheError) -> Bool { try await purge(.key(key)) > 0 }

    /// Erases what was stored on behalf of one identity, for every process of the store.
    ///
    /// - Returns: how many entries there were.
    @discardableResult
    public func forget(identity: String) async throws(CacheError) -> Int { try await purge(.identity(identity)) }

    /// How many entries a selection names.
    ///
    /// - Parameter onlyValid: whether those that are marked stale are left out: what ``invalidate(_:)`` would mark.
    package func count(_ selection: CacheSelection, onlyValid: Bool = false) throws(CacheError) -> Int {
        let parts = try file.parts(of: selection)
        return try file.read { (connection) throws(SQLiteError) in
            var count = 0
            for part in parts { count += try CacheTable.count(part, onlyValid: onlyValid, on: connection) }
            return count
        }
    }

    // Others of it come back from disk.
    private func forgetInMemory(_ selection: CacheSelection) {
        if case .key(let key) = selection.content { memory.remove(key) } else { memory.removeAll() }
    }

    private typealias Slice =
        @Sendable (
            CacheSelection, borrowing SQLiteConnection
        ) throws(SQLiteError) -> (count: Int, isLast: Bool)

    private static func slices(
        of parts: [CacheSelection],
        _ file: CacheFile,
        _ slice: Slice
    ) throws(CacheError) -> Int {
        var count = 0
        for part in parts {
            var isLast = false
            while !isLast {
                let done = try file.write { (connection) throws(SQLiteError) in try slice(part, connection) }
                count += done.count
                isLast = done.isLast
            }
        }
        return count
    }

    /// Spares an entry from eviction until it is unpinned or erased; `false` where there is none.
    @discardableResult
    public func setPinned(_ isPinned: Bool, _ key: RequestKey) async throws(CacheError) -> Bool {
        let file = file
        return try await writer.alone { () throws(CacheError) in
            try file.write { (connection) throws(SQLiteError) in
                try CacheTable.setPinned(isPinned, key, on: connection)
            }
        } > 0
    }
}

extension Cache {
    // MARK: What people need

    /// A page of the entries that are in every one of some selections. By URL in a sealed store, or of some URLs, every
    /// entry's is opened.
    package func list(
        _ selections: [CacheSelection] = [],
        by order: CacheOrder = .newest,
        limit: Int,
        offset: Int = 0
    ) throws(CacheError) -> [CacheListing] {
        try file.list(selections, by: order, limit: limit, offset: offset)
    }

    /// At most two entries whose keys begin with these hexadecimal digits.
    package func list(beginning digits: String) throws(CacheError) -> [CacheListing] {
        try file.read { (connection) throws(SQLiteError) in
            try file.opened(CacheTable.list(beginning: digits, on: connection), on: connection)
        }
    }

    /// `nil` where there is none, or it is sealed and cannot be opened.
    package func canonicalForm(of key: RequestKey) throws(CacheError) -> String? {
        try file.read { (connection) throws(SQLiteError) in try file.canonicalForm(of: key, on: connection) }
    }

    /// The names of the keys that have sealed the store's secret: those of the programs that use it sealed.
    package func keyIDs() throws(CacheError) -> [String] {
        try file.read { (connection) throws(SQLiteError) in try CacheTable.sealedSecrets(on: connection).keys.sorted() }
    }

    /// How many entries are sealed, by the names of the keys.
    package func seals() throws(CacheError) -> [String: Int] {
        // A store without a sealed secret has no sealed rows to look for.
        guard try !keyIDs().isEmpty else { return [:] }
        return try file.read { (connection) throws(SQLiteError) in try CacheTable.seals(on: connection) }
    }

    /// What the store holds now.
    package func totals() throws(CacheError) -> CacheTotals {
        var totals = try file.read { (connection) throws(SQLiteError) in try CacheTable.totals(on: connection) }
        totals.diskBytes = file.database.size
        return totals
    }

    /// What happened in every hour of the last days, by all processes of the store, the oldest first. What this process
    /// did since its last write is among it after ``flush()``.
    ///
    /// - Parameter days: 30 by default; older hours are kept for 400 days.
    public func statistics(days: Int = 30) throws(CacheError) -> [CacheCounts] {
        let first = now() / 3_600_000 - Int64(days) * 24
        return try file.read { (connection) throws(SQLiteError) in try CacheTable.hours(from: first, on: connection) }
    }
}
