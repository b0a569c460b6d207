import Crypto
import DiamondSQLite
import Foundation
import Synchronization

/// Stored responses: a memory tier over SQLite or another ``CacheStorage``, keyed on the normalized request.
///
/// Both tiers are bounded in bytes. Unused entries are evicted by SIEVE; the disk tier evicts expired entries first. A
/// lookup takes a microsecond in memory, or about ten microseconds on disk, in the calling thread. It never waits for a
/// write. An entry that cannot be read counts as a miss and is reported to the ``Activity``: a lookup does not throw.
///
/// Several processes can share one store. Each finds the entries that the others have written, and notices within a
/// tenth of a second which entries they have replaced or removed.
public final class Cache: Sendable {
    let storage: any DirectCacheStorage
    /// The storage, if it is a file.
    let sqlite: SQLiteCacheStorage?
    let memory: MemoryTier
    /// The entries that lookups have loaded from a server; `nil` if the storage is a file.
    let loaded: LoadedEntries?
    let invalidations = InvalidationLog()
    let writer: CacheWriter
    let crossProcessChanges: CrossProcessChanges
    /// The changes on disk, by any process, when memory has them: the names of the entries; `nil` if any may have
    /// changed.
    let changesOnDisk = Broadcast<ChangedNames?>()
    private let pressure: MemoryPressure
    let activity: Activity
    let now: @Sendable () -> WallTime
    /// The reasons that have been reported, each once.
    private let reportedReasons = Guarded<Set<UnreadableReason>>([])
    /// The rules that make this store's keys.
    package let rules: KeyRules

    /// The default capacity of the memory tier in bytes: 32 MiB.
    package static let defaultMemoryCapacity = 32 << 20
    /// The default capacity of the disk tier in bytes: 256 MiB.
    package static let defaultDiskCapacity: Int64 = 256 << 20

    /// Opens the cache of a store.
    ///
    /// - Parameters:
    ///   - seal: the seal of the files; `nil` stores them in clear.
    ///   - compresses: whether bodies of text are compressed, in builds with the trait `Compression`.
    ///   - create: whether a missing directory or file is created, and a damaged file replaced.
    /// - Throws: ``CacheError``, whose message names the remedy.
    package convenience init(
        _ store: Store,
        seal: (any CacheSeal)? = nil,
        compresses: Bool = false,
        activity: Activity = Activity(),
        memoryCapacity: Int = defaultMemoryCapacity,
        diskCapacity: Int64 = defaultDiskCapacity,
        create: Bool = true,
        timing: CacheTiming = CacheTiming()
    ) throws(CacheError) {
        let file = try CacheFile(store, seal: seal, compresses: compresses, recreates: create, activity: activity)
        if create { Reserve(of: store).make(for: diskCapacity) }
        let eviction = Eviction(file: file, capacity: diskCapacity, now: timing.now)
        try self.init(
            over: SQLiteCacheStorage(file: file, eviction: eviction), activity: activity,
            memoryCapacity: memoryCapacity, timing: timing)
        if create { completeSignOut() }
    }

    /// Opens a cache on a server, behind a circuit.
    ///
    /// - Parameter draw: returns a random number from 0 up to 1, for the circuit.
    package convenience init(
        onServer storage: any CacheStorage,
        seal: (any CacheSeal)?,
        compresses: Bool = false,
        activity: Activity = Activity(),
        memoryCapacity: Int = defaultMemoryCapacity,
        draw: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
        timing: CacheTiming = CacheTiming()
    ) throws(CacheError) {
        let remote = RemoteCacheStorage(
            storage, seal: seal, compresses: compresses, activity: activity, clock: timing.clock,
            circuit: StorageCircuit(draw: draw))
        try self.init(over: remote, activity: activity, memoryCapacity: memoryCapacity, timing: timing)
    }

    /// Opens a cache over a storage.
    init(
        over storage: any DirectCacheStorage,
        activity: Activity,
        memoryCapacity: Int,
        timing: CacheTiming
    ) throws(CacheError) {
        let memory = MemoryTier(capacity: memoryCapacity)
        let loadedEntries = storage is SQLiteCacheStorage ? nil : LoadedEntries()
        rules = KeyRules(secret: SymmetricKey(data: storage.secret))
        writer = CacheWriter(
            storage: storage, activity: activity, now: timing.now, writeDelay: timing.writeDelay
        ) { key in
            loadedEntries?.remove(key)
            memory.remove(key)
        }
        crossProcessChanges = try CrossProcessChanges(
            storage: storage, invalidations: invalidations, uptime: timing.uptime)
        pressure = MemoryPressure(memory)
        self.storage = storage
        sqlite = storage as? SQLiteCacheStorage
        loaded = loadedEntries
        self.memory = memory
        self.activity = activity
        now = timing.now
    }

    deinit { sqlite?.file.abandon() }

    /// The name of the server; `nil` if the storage is a file.
    package var server: String? { sqlite == nil ? storage.name : nil }

    /// Whether the storage keeps parts of bodies and of downloads. Only a file does.
    var keepsParts: Bool { sqlite != nil }

    /// The file of the store.
    ///
    /// - Throws: `other` if the store is on a server, which does not keep what is asked for.
    package var file: CacheFile {
        get throws(CacheError) {
            guard let sqlite else { throw CacheError(.other, "\(storage.name): only a store in a file keeps this") }
            return sqlite.file
        }
    }

    /// The maximum bytes in memory. It may be changed at any time; lowering it evicts immediately.
    public var memoryCapacity: Int {
        get { memory.capacity }
        set { memory.capacity = newValue }
    }

    /// The maximum bytes on disk, including the write-ahead log: 16 MiB, but at most half of the capacity, are left for
    /// the log. Another sixteenth, at most 12 MiB, is reserved in `cache.reserve`, so that entries can be erased when
    /// the disk is full. The capacity may be changed at any time; lowering it evicts with the next write, or with
    /// ``flush()``.
    public var diskCapacity: Int64 {
        get { storage.capacity }
        set { storage.capacity = newValue }
    }

    /// Whether lookups change nothing: they do not count as uses, and damaged entries are not dropped. It is `false`
    /// unless a person inspects the store.
    package var isInspecting: Bool {
        get { writer.isInspecting.load(ordering: .relaxed) }
        set { writer.isInspecting.store(newValue, ordering: .relaxed) }
    }

    // MARK: Lookups and storing

    /// Returns the response stored under a key, fresh or not; `nil` if there is no sound one.
    ///
    /// - Parameter url: ``CacheEntry/url`` of the request; pending invalidations of other URLs do not affect the
    ///   result. `nil` if the stored response may have another URL.
    package func find(_ key: RequestKey, request: [UInt8], url: String? = nil) -> StoredResponse? {
        applyOtherProcessesChanges()
        switch memory.find(key, request: request) {
        case .hit(let stored, let isFirst):
            if isFirst { writer.visit(key) }
            return stored
        case .miss(let changes): return findBelow(key, request: request, url: url, since: changes)
        }
    }

    /// Returns the response stored under a key if it is in memory, without waiting. `nil` also if other processes have
    /// made changes that memory does not have yet.
    package func findInMemory(_ key: RequestKey, request: [UInt8]) -> StoredResponse? {
        guard case .hit(let stored, let isFirst) = memory.find(key, request: request), crossProcessChanges.areKnown()
        else { return nil }
        if isFirst { writer.visit(key) }
        return stored
    }

    /// Returns the stored response if it is in memory or waits to be written. It reads no file, and does not count as a
    /// use.
    func peek(_ key: RequestKey, request: [UInt8]) -> StoredResponse? {
        if let stored = memory.peek(key, request: request) { return stored }
        switch writer.pending(key, url: nil).change?.action {
        case .store(let entry), .confirm(let entry, _): return entry.request == request ? entry.stored : nil
        case .delete, nil: return nil
        }
    }

    /// Finds a response that is not in memory. A change that waits to be written overrides the entry on disk.
    private func findBelow(
        _ key: RequestKey,
        request: [UInt8],
        url: String?,
        since changes: Int
    ) -> StoredResponse? {
        let pending = writer.pending(key, url: url)
        switch pending.change?.action {
        case .store(let entry): return entry.request == request ? pending.marked(entry.stored) : nil
        case .delete: return nil
        case .confirm, nil: break
        }
        if let loaded { return loaded.find(key, request: request).map { pending.written(onto: $0) } }
        do {
            guard let row = try findOnDisk(key, request: request) else { return nil }
            var stored = pending.written(onto: row)
            guard pending.change == nil else { return stored }
            stored.readHeaders()
            memory.storeIfUnchanged(stored, under: key, request: request, url: url, since: changes)
            return stored
        } catch {
            activity.report(.cacheFailed(reason: error.message))
            return nil
        }
    }

    /// Removes from memory the entries that other processes have changed.
    ///
    /// - Parameter isDue: whether it is time to read the changes; `nil` if at most ten times a second.
    func applyOtherProcessesChanges(isDue: Bool? = nil) {
        guard let changes = crossProcessChanges.poll(isDue: isDue) else { return }
        loaded?.removeAll()
        switch changes {
        case .entries(let names):
            memory.remove(named: names, by: storage.coding.urlHash)
            changesOnDisk.send(names)
        case .everything:
            memory.removeAll()
            changesOnDisk.send(nil)
        case .failure(let error):
            // A forked child never learns of the changes of other processes.
            if error.code == .forked { memory.removeAll() }
            activity.report(.cacheFailed(reason: error.message))
        }
    }

    /// Returns the sound response that the storage has under a key. The calling thread waits, if it is on a server.
    package func findOnDisk(_ key: RequestKey, request: [UInt8]) throws(CacheError) -> StoredResponse? {
        let finding = try finding(of: key, request: request)
        if case .entry(let stored, let isVisited) = finding {
            if !isVisited { writer.visit(key) }
            return stored
        }
        handle(finding, of: key)
        return nil
    }

    func finding(of key: RequestKey, request: [UInt8]) throws(CacheError) -> CacheTable.LookupResult {
        guard let file = sqlite?.file else {
            let record = try storage.records(under: key, bodyLimit: .max).first { $0.key == key }
            return record.map { storage.coding.opened($0, for: request) } ?? .nothing
        }
        return try file.read { (connection) throws(SQLiteError) in
            try CacheTable.find(key, request: request, sealing: file.sealing, on: connection)
        }
    }

    /// Drops a damaged entry, unless the store is inspected, and reports a locked one once.
    ///
    /// - Parameter isPartial: whether the result is about the partial entry of the key. The whole entry then stays.
    func handle(_ finding: CacheTable.LookupResult, of key: RequestKey, isPartial: Bool = false) {
        switch finding {
        case .nothing, .entry: break
        case .damaged where isInspecting: break
        case .damaged(let reason):
            if isPartial { dropPart(of: key) } else { writer.add(.delete(key)) }
            activity.report(.cacheEntryDropped(reason: "the entry \(key) was dropped: \(reason)"))
        case .locked(let lock):
            let isNew = reportedReasons.withLock { $0.insert(lock).inserted }
            if isNew { activity.report(.cacheEntriesLocked(reason: lock.message)) }
        }
    }

    /// Stores a new response: immediately in memory, soon on disk.
    ///
    /// - Parameter isReplacing: whether it replaces an outdated response.
    package func store(_ entry: CacheEntry, replacing isReplacing: Bool = false) {
        loaded?.remove(entry.key)
        memory.store(entry.stored, under: entry.key, request: entry.request, url: entry.url)
        // Recorded even if the body is too large: it may fit at another capacity. Last, because the record takes the
        // size on disk from the row.
        defer {
            let kind: CacheAccess.Kind = isReplacing ? .replaced : .stored
            writer.record(CacheAccess(kind, of: entry.stored, under: entry.key, at: now()))
        }
        // A response that is not written must not leave an older one on disk for later lookups.
        guard !storage.isTooLarge(entry.stored.body.count), writer.add(.store(entry)) else {
            return _ = writer.add(.delete(entry.key))
        }
        activity.report(.stored)
    }

    /// Stores the changes of a 304 to a stored response, unless this or another process has replaced, erased or
    /// invalidated that response in the meantime.
    package func confirm(_ entry: CacheEntry, replacing old: StoredResponse) {
        guard memory.confirm(entry.stored, replacing: old, under: entry.key, request: entry.request, url: entry.url),
            // A response that is only in memory has no row.
            !storage.isTooLarge(old.bodySize)
        else { return }
        loaded?.remove(entry.key)
        writer.add(.confirm(entry, replacing: old))
    }

    package func forget(_ key: RequestKey) {
        // The memory tier last: a concurrent lookup may still store in memory what it has just read from disk.
        writer.add(.delete(key, everywhere: true))
        loaded?.remove(key)
        memory.remove(key)
    }

    /// Counts and records a response from the cache.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of the body that are served; `nil` for all of them.
    ///   - now: the current time; `nil` to read the clock.
    package func count(
        _ source: Response.Source,
        of stored: StoredResponse,
        bytes: Int? = nil,
        under key: RequestKey,
        at now: WallTime? = nil
    ) {
        let now = now ?? self.now()
        writer.count(CacheAccess(.hit, of: stored, under: key, at: now), in: now.hour) { counts in
            switch source {
            case .stale: counts.staleHits += 1
            case .revalidated: counts.revalidations += 1
            default: counts.hits += 1
            }
            counts.bytesServed = counts.bytesServed.addingSaturating(Int64(bytes ?? stored.bodySize))
            guard source != .revalidated else { return }
            counts.millisecondsSaved = counts.millisecondsSaved.addingSaturating(stored.duration)
        }
    }

    package func countMiss() { writer.count(in: now().hour) { $0.misses += 1 } }

    /// Returns after everything stored before is on disk, or has been reported as failed.
    ///
    /// If there is little to write, the disk is quick and no other process writes, the thread of the calling task
    /// writes. It is never the thread of an actor. Otherwise the writer's own thread writes.
    public func flush() async { await writer.flush() }
}
