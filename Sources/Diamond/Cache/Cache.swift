import Crypto
import DiamondSQLite
import Foundation

/// Stored responses: a memory tier over SQLite, keyed on the normalized request.
///
/// Both tiers are bounded in bytes. Entries that were not used are evicted by SIEVE; the disk tier evicts expired ones
/// first. A lookup takes a microsecond in memory or, in the calling thread, some ten on disk. It never waits for a
/// write. An entry that cannot be read counts as a miss and is reported to the ``Activity``; a lookup throws nothing.
///
/// Several processes share one store. Each finds what the others have written, and notices within a tenth of a second
/// what they have replaced or removed.
public final class Cache: Sendable {
    package let file: CacheFile
    let memory: MemoryTier
    let eviction: Eviction
    let invalidations = InvalidationLog()
    let writer: CacheWriter
    let neighbors: CrossProcessChanges
    private let pressure: MemoryPressure
    let activity: Activity
    let now: @Sendable () -> Int64
    /// The locks of unreadable entries that have been reported.
    private let locks = Guarded<Set<CacheLock>>([])
    /// The rules that make this store's keys.
    package let rules: KeyRules

    /// Bytes the memory tier keeps when nothing is said: 32 MiB.
    public static let defaultMemoryCapacity = 32 << 20
    /// Bytes the disk tier keeps when nothing is said: 256 MiB.
    public static let defaultDiskCapacity: Int64 = 256 << 20

    /// Opens the cache of a store.
    ///
    /// - Parameters:
    ///   - seal: what seals the files; `nil` keeps them in clear.
    ///   - compresses: whether bodies of text are compressed, in builds with the trait `Compression`.
    ///   - create: whether directory and file are made where they are missing, and mended where they are damaged.
    ///   - now: milliseconds since 1970.
    ///   - uptime: nanoseconds of a clock that only goes forward.
    ///   - gathering: how long stores wait for others to go to disk with them.
    /// - Throws: ``CacheError``, which says what to do.
    package init(
        _ store: Store,
        seal: (any CacheSeal)? = nil,
        compresses: Bool = false,
        activity: Activity = Activity(),
        memoryCapacity: Int = defaultMemoryCapacity,
        diskCapacity: Int64 = defaultDiskCapacity,
        create: Bool = true,
        now: @escaping @Sendable () -> Int64 = { Date().milliseconds },
        uptime: @escaping @Sendable () -> UInt64 = { DispatchTime.now().uptimeNanoseconds },
        gathering: Duration = .milliseconds(10)
    ) throws(CacheError) {
        let memory = MemoryTier(capacity: memoryCapacity)
        file = try CacheFile(store, seal: seal, compresses: compresses, mends: create, activity: activity)
        if create { Reserve(of: store).make(for: diskCapacity) }
        rules = KeyRules(secret: SymmetricKey(data: file.secret))
        eviction = Eviction(file: file, capacity: diskCapacity, now: now)
        writer = CacheWriter(file: file, eviction: eviction, activity: activity, gathering: gathering) { key in
            memory.remove(key)
        }
        neighbors = try CrossProcessChanges(file: file, uptime: uptime)
        pressure = MemoryPressure(memory)
        self.memory = memory
        self.activity = activity
        self.now = now
    }

    deinit { file.abandon() }

    /// Bytes of memory at most; may be changed at any time.
    public var memoryCapacity: Int {
        get { memory.capacity }
        set { memory.capacity = newValue }
    }

    /// The maximum bytes on disk, the log included: 16 MiB are kept for the log, at most half of the bound. A sixteenth
    /// more, at most 12 MiB, is reserved in `cache.reserve`, so that entries can be erased when the disk is full. May
    /// be changed at any time; lowering it evicts with the next write, or with ``flush()``.
    public var diskCapacity: Int64 {
        get { eviction.capacity }
        set { eviction.capacity = newValue }
    }

    // MARK: What the pipeline needs

    /// Returns the response stored under a key, fresh or not; `nil` where there is none, or none that is sound.
    ///
    /// - Parameter url: ``CacheEntry/url`` of the request. An invalidation by another URL leaves the response as it is.
    ///   `nil` where the stored response may have another.
    package func find(_ key: RequestKey, request: [UInt8], url: String? = nil) -> StoredResponse? {
        heedNeighbors()
        switch memory.find(key, request: request) {
        case .hit(let stored, let isFirst):
            if isFirst { writer.visit(key) }
            return stored
        case .miss(let changes): return findBelow(key, request, url, since: changes)
        }
    }

    /// Returns the response stored under a key if it is in memory, and waits for nothing. `nil` also where it is time
    /// to look for the changes of other processes.
    package func findAtHand(_ key: RequestKey, request: [UInt8]) -> StoredResponse? {
        guard !neighbors.isDue, case .hit(let stored, let isFirst) = memory.find(key, request: request) else {
            return nil
        }
        if isFirst { writer.visit(key) }
        return stored
    }

    /// Returns the stored response if it is in memory or waits to be written. Reads no file, and counts as no use.
    func peek(_ key: RequestKey, request: [UInt8]) -> StoredResponse? {
        if let stored = memory.peek(key, request: request) { return stored }
        switch writer.pending(key, url: nil).change?.action {
        case .store(let entry), .confirm(let entry, _): return entry.request == request ? entry.stored : nil
        case .delete, nil: return nil
        }
    }

    /// Finds a response below the memory tier. A change that waits to be written comes before what is written.
    private func findBelow(
        _ key: RequestKey,
        _ request: [UInt8],
        _ url: String?,
        since changes: Int
    ) -> StoredResponse? {
        let pending = writer.pending(key, url: url)
        switch pending.change?.action {
        case .store(let entry): return entry.request == request ? pending.marked(entry.stored) : nil
        case .delete: return nil
        case .confirm, nil: break
        }
        do {
            guard let row = try findOnDisk(key, request: request) else { return nil }
            var stored = pending.written(onto: row)
            guard pending.change == nil else { return stored }
            stored.readHeaders()
            memory.keep(stored, under: key, request: request, url: url, since: changes)
            return stored
        } catch {
            activity.report(.cacheFailed(reason: error.message))
            return nil
        }
    }

    func heedNeighbors() {
        guard let changes = neighbors.news() else { return }
        switch changes {
        case .entries(let names): memory.remove(named: names, by: file.number)
        case .everything: memory.removeAll()
        case .failure(let error):
            // A forked child will never hear what others change.
            if error.code == .forked { memory.removeAll() }
            activity.report(.cacheFailed(reason: error.message))
        }
    }

    /// The disk tier alone.
    package func findOnDisk(_ key: RequestKey, request: [UInt8]) throws(CacheError) -> StoredResponse? {
        let finding = try file.read { (connection) throws(SQLiteError) in
            try CacheTable.find(key, request: request, sealing: file.sealing, on: connection)
        }
        if case .entry(let stored, let isVisited) = finding {
            if !isVisited { writer.visit(key) }
            return stored
        }
        heed(finding, of: key)
        return nil
    }

    /// Drops a damaged entry, and reports a locked one once.
    ///
    /// - Parameter isPartial: whether the finding is the part that a transfer has left. The whole entry under the key
    ///   then stays.
    func heed(_ finding: CacheTable.Finding, of key: RequestKey, isPartial: Bool = false) {
        switch finding {
        case .nothing, .entry: break
        case .damaged(let reason):
            if isPartial { writer.dropPart(of: key) } else { writer.add(.delete(key)) }
            activity.report(.cacheEntryDropped(reason: "the entry \(key) was dropped: \(reason)"))
        case .locked(let lock):
            let isNew = locks.withLock { $0.insert(lock).inserted }
            if isNew { activity.report(.cacheEntriesLocked(reason: lock.reason)) }
        }
    }

    /// Keeps a new response: at once in memory, soon on disk.
    ///
    /// - Parameter isReplacing: whether another answer was there, and was no longer right.
    package func store(_ entry: CacheEntry, replacing isReplacing: Bool = false) {
        memory.store(entry.stored, under: entry.key, request: entry.request, url: entry.url)
        // What is too large here may not be at another size. Not written before the row, whose size on disk it takes.
        defer { writer.record(CacheAccess(entry.key, entry.stored, at: now(), isReplacing ? .replaced : .stored)) }
        // Otherwise an older answer on disk would come back.
        guard !eviction.isTooLarge(entry.stored.body.count), writer.add(.store(entry)) else {
            return _ = writer.add(.delete(entry.key))
        }
        activity.report(.stored)
    }

    /// Keeps what a 304 changed of a stored response, as long as that was not replaced, erased or marked stale
    /// meanwhile, by this process or another.
    package func confirm(_ entry: CacheEntry, replacing old: StoredResponse) {
        guard memory.confirm(entry.stored, replacing: old, under: entry.key, request: entry.request, url: entry.url),
            // What is in memory alone has no row to look at.
            !eviction.isTooLarge(old.bodySize)
        else { return }
        writer.add(.confirm(entry, replacing: old))
    }

    package func forget(_ key: RequestKey) {
        // The memory tier last: a lookup beside this may still bring in what it has just read from disk.
        writer.add(.delete(key, everywhere: true))
        memory.remove(key)
    }

    /// Counts an answer from the cache, and records it.
    package func count(_ source: Response.Source, of stored: StoredResponse, under key: RequestKey) {
        let now = now()
        writer.count(CacheAccess(key, stored, at: now, .hit), in: CacheCounts.hour(of: now)) { counts in
            switch source {
            case .stale: counts.staleHits += 1
            case .revalidated: counts.revalidations += 1
            default: counts.hits += 1
            }
            counts.bytesServed = counts.bytesServed.addingSaturating(Int64(stored.bodySize))
            guard source != .revalidated else { return }
            counts.millisecondsSaved = counts.millisecondsSaved.addingSaturating(stored.duration)
        }
    }

    package func countMiss() { writer.count(in: CacheCounts.hour(of: now())) { $0.misses += 1 } }

    /// Returns when everything stored before is on disk, or has been reported as failed.
    ///
    /// Little, where the disk is quick and no other process writes, is written on the thread of the calling task, never
    /// on an actor's; all else on a thread of its own.
    public func flush() async { await writer.flush() }
}
