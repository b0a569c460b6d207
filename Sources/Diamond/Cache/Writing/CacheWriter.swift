import DiamondSQLite
import Dispatch
import Foundation
import Synchronization

/// A writer that puts changes on disk in the background, up to 64 in one transaction, and evicts entries beyond the
/// bound.
///
/// Changes keep their order. If the process dies, at most the changes not yet written are lost: stores wait a moment
/// for others to come (``WriteDebouncer``).
final class CacheWriter: Sendable {
    /// The most bytes that may wait. If the disk is slower than the network, changes beyond that are not stored.
    private static let backlog = 64 << 20
    /// The most waiting bytes that a task's own thread writes.
    private static let maximumQuickFlush = 64 << 10

    let storage: any DirectCacheStorage
    let activity: Activity
    let now: @Sendable () -> WallTime
    let state = Guarded(PendingChanges())
    let recorder = AccessRecorder()
    let queue = DispatchQueue(label: "diamond.cache.writer", qos: .utility)
    let debouncer: WriteDebouncer
    /// The process that opened the cache. A forked child has none of the queue's threads, and would wait for them
    /// forever.
    private let process = getpid()
    private let hasReportedFork = Atomic(false)
    /// See ``Cache/isInspecting``.
    let isInspecting = Atomic(false)
    private let quickFlushes = Guarded(QuickWrites())

    /// A closure called with the key of a revalidated entry that no longer exists, or has changed.
    let onVanishedEntry: @Sendable (RequestKey) -> Void

    init(
        storage: any DirectCacheStorage,
        activity: Activity,
        now: @escaping @Sendable () -> WallTime,
        writeDelay: Duration,
        onVanishedEntry: @escaping @Sendable (RequestKey) -> Void
    ) {
        self.onVanishedEntry = onVanishedEntry
        debouncer = WriteDebouncer(after: writeDelay)
        self.storage = storage
        self.activity = activity
        self.now = now
    }

    /// Adds a change.
    ///
    /// - Returns: `false` if too much waits already, if the change confirms a response that was replaced, erased or
    ///   made stale since, or if this is a forked child.
    @discardableResult
    func add(_ change: CacheChange) -> Bool {
        guard !reportFork() else { return false }
        let schedule = state.withLock { state -> PendingChanges.WriteSchedule? in
            guard let effective = state.effective(change),
                effective.cost == 0 || state.cost + effective.cost <= Self.backlog
            else { return nil }
            return state.add(effective)
        }
        switch schedule {
        case .now: scheduleDrain()
        case .soon: debouncer.set(for: self, on: queue)
        case .already: break
        case nil: return false
        }
        return true
    }

    /// Invalidates all entries of a URL stored so far. Lookups treat them as stale immediately. On disk they are marked
    /// after the changes so far.
    func invalidate(_ url: String) {
        guard !reportFork() else { return }
        // Without delay, like an erasure: other processes have to revalidate.
        if state.withLock({ $0.invalidate(url) }) { scheduleDrain() }
    }

    /// Records that an entry was used.
    func visit(_ key: RequestKey) {
        guard !isInspecting.load(ordering: .relaxed) else { return }
        let mustSchedule = state.withLock { state in
            state.visited.insert(key.prefix)
            return state.hasManyVisits && state.schedule()
        }
        if mustSchedule { scheduleDrain() }
    }

    /// Records an access. It is written with the next change, or when many accesses wait.
    func record(_ access: CacheAccess) { if recorder.record(access) { scheduleRecords() } }

    /// Counts something in an hour. The count is written with the next change.
    func count(in hour: Int64, _ body: (inout CacheCounts) -> Void) {
        if state.withLock({ $0.counts.count(in: hour, body) }) { scheduleRecords() }
    }

    /// Counts an access in an hour, and records it. Every hit calls this.
    func count(_ access: CacheAccess, in hour: Int64, _ body: (inout CacheCounts) -> Void) {
        if recorder.count(access, in: hour, body) { scheduleRecords() }
    }

    /// Returns the pending changes of an entry, which override the entry on disk.
    ///
    /// - Parameter url: ``CacheEntry/url``; `nil` if it is not known.
    func pending(_ key: RequestKey, url: String?) -> PendingEntry {
        state.withLock { $0.pendingEntry(for: key, url: url) }
    }

    /// Returns after everything added before is on disk or has failed, and entries beyond the bound are evicted.
    ///
    /// The task's own thread writes if little waits, the disk is quick and no other process writes. It is never the
    /// thread of an actor. Waking another thread, and being woken by it, takes a quarter of the time of the write
    /// itself.
    @concurrent
    func flush() async {
        guard !reportFork() else { return }
        if mayHoldThread, queue.sync(execute: { flushHere() }) { return }
        await withCheckedContinuation { continuation in
            queue.async {
                self.timed {
                    var isMore = self.drain() ?? self.evictIfNeeded()
                    while isMore { isMore = self.evictSlice() }
                    self.write(self.drainUsageRecords())
                }
                continuation.resume()
            }
        }
    }

    /// - Returns: `false` if another process writes, or more than one slice has to be evicted. The queue's own thread
    ///   then does the rest.
    private func flushHere() -> Bool {
        guard storage.canWriteImmediately else { return false }
        return timed {
            guard !(drain() ?? evictIfNeeded()) else { return false }
            write(drainUsageRecords())
            return true
        }
    }

    /// Whether the task's thread may wait for the disk: little waits, and the disk was quick recently.
    private var mayHoldThread: Bool {
        storage.isLocal && quickFlushes.withLock { $0.mayHoldThread }
            && state.withLock { $0.cost <= Self.maximumQuickFlush }
    }

    private func timed<Result>(_ flush: () -> Result) -> Result {
        let start = DispatchTime.now().uptimeNanoseconds
        defer { quickFlushes.withLock { $0.recordWrite(since: start) } }
        return flush()
    }

    /// Runs a body while no other write of this process runs, on the store as it is now. If it cannot be opened, the
    /// body is not run.
    func alone<Result: Sendable>(_ body: @escaping @Sendable () throws(CacheError) -> Result) async throws(CacheError)
        -> Result
    {
        try throwIfForked()
        let result: Swift.Result<Result, CacheError> = await withCheckedContinuation { continuation in
            queue.async {
                if self.drain() == true { self.scheduleEviction() }
                self.write(self.drainUsageRecords())
                let result = Swift.Result { () throws(CacheError) in
                    try self.storage.prepare()
                    return try body()
                }
                continuation.resume(returning: result)
            }
        }
        return try result.get()
    }

    /// Runs a body soon, and reports its failure.
    func soon(_ body: @escaping @Sendable () throws(CacheError) -> Void) {
        queue.async { do throws(CacheError) { try body() } catch { self.report(error) } }
    }

    /// Reports a failure of the storage. The circuit has reported that a server is out of reach.
    func report(_ error: CacheError) {
        if error.code != .unreachable { activity.report(.cacheFailed(reason: error.message)) }
    }

    /// Removes the failure of a key whose entry on disk was written since, without a ``CacheChange``.
    func removeFailure(of key: RequestKey) { state.withLock { $0.removeFailure(of: key) } }

    private func throwIfForked() throws(CacheError) {
        guard getpid() != process else { return }
        throw CacheError(SQLiteError(.forked, "opened before a fork", path: storage.coding.place))
    }

    /// - Returns: whether this is a forked child. Nothing is written then, which is reported once.
    private func reportFork() -> Bool {
        do throws(CacheError) {
            try throwIfForked()
            return false
        } catch {
            let isNew = !hasReportedFork.exchange(true, ordering: .relaxed)
            if isNew { activity.report(.cacheFailed(reason: error.message)) }
            return true
        }
    }

    // In a write of their own: after the hour's end, no change may follow soon.
    private func scheduleRecords() {
        // A forked child cannot write them.
        guard !reportFork() else { return _ = drainUsageRecords() }
        queue.async { self.write(self.drainUsageRecords()) }
    }

    private func scheduleDrain() { queue.async { self.writeWaiting() } }
}
