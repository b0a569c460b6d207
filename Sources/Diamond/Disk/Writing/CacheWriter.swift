import DiamondSQLite
import Dispatch
import Foundation
import Synchronization

/// Puts changes on disk behind the callers, up to 64 in one transaction, and evicts what is too much.
///
/// Changes keep their order. The death of the process loses at most those not yet written: stores wait a moment for
/// others to come (``WriterAlarm``).
final class CacheWriter: Sendable {
    /// Bytes that may wait. When the disk is slower than the network, what comes beyond is not stored.
    private static let backlog = 64 << 20

    private let file: CacheFile
    private let eviction: Eviction
    private let activity: Activity
    private let state = Guarded(PendingChanges())
    private let recorder = AccessRecorder()
    private let queue = DispatchQueue(label: "diamond.cache.writer", qos: .utility)
    private let alarm: WriterAlarm
    /// A forked child has none of the queue's threads: what it waits for there never comes.
    private let process = getpid()
    private let hasToldOfFork = Atomic(false)

    /// Told of what was confirmed and is no longer there, or not as it was.
    private let whenGone: @Sendable (RequestKey) -> Void

    init(
        file: CacheFile,
        eviction: Eviction,
        activity: Activity,
        gathering: Duration,
        whenGone: @escaping @Sendable (RequestKey) -> Void
    ) {
        self.whenGone = whenGone
        alarm = WriterAlarm(after: gathering)
        self.file = file
        self.eviction = eviction
        self.activity = activity
    }

    /// - Returns: `false` when too much waits already, a confirmation is of what waits to be replaced, or this is a forked
    ///   child.
    @discardableResult
    func add(_ change: CacheChange) -> Bool {
        guard !reportFork() else { return false }
        let hour = eviction.hour
        let (due, hasEnded) = state.withLock { state -> (PendingChanges.Due?, Bool) in
            guard let effective = state.effective(change),
                effective.cost == 0 || state.cost + effective.cost <= Self.backlog
            else { return (nil, false) }
            let due = state.add(effective)
            // Under the same lock, so that it goes along in the change's own transaction.
            return (due, change.isStore && state.counts.count(in: hour) { $0.stores += 1 })
        }
        if hasEnded { scheduleFacts() }
        switch due {
        case .now: scheduleDrain()
        case .soon: alarm.set(for: self, on: queue)
        case .already: break
        case nil: return false
        }
        return true
    }

    /// Remembers that an entry was used.
    func visit(_ key: RequestKey) {
        let mustSchedule = state.withLock { state in
            state.visited.insert(key.prefix)
            return state.hasMuchToTell && state.schedule()
        }
        if mustSchedule { scheduleDrain() }
    }

    /// Records an access; written with the next change, or where much waits.
    func record(_ access: CacheAccess) { if recorder.record(access) { scheduleFacts() } }

    /// Counts something in an hour; written with the next change.
    func count(in hour: Int64, _ body: (inout CacheCounts) -> Void) {
        if state.withLock({ $0.counts.count(in: hour, body) }) { scheduleFacts() }
    }

    /// The same, and records the access that it was. Every hit comes here.
    func count(_ access: CacheAccess, in hour: Int64, _ body: (inout CacheCounts) -> Void) {
        if recorder.count(access, in: hour, body) { scheduleFacts() }
    }

    /// The last change of a key that is not on disk yet: what a look-up has to believe before the disk.
    func pending(_ key: RequestKey) -> CacheChange? {
        state.withLock { $0.latest[key]?.change ?? ($0.isOutdated(key) ? .delete(key) : nil) }
    }

    /// Returns when everything added before is on disk, or has failed, and what was too much is evicted.
    func flush() async {
        guard !reportFork() else { return }
        await withCheckedContinuation { continuation in
            queue.async {
                var isMore = self.drain() ?? self.evictIfNeeded()
                while isMore { isMore = self.evictSlice() }
                self.write(self.takeFacts())
                continuation.resume()
            }
        }
    }

    /// Runs something beside no write of this process, on the file that has the store's name now; where that cannot be
    /// opened, nothing is run.
    func alone<Result: Sendable>(_ body: @escaping @Sendable () throws(CacheError) -> Result) async throws(CacheError)
        -> Result
    {
        try refuseFork()
        let result: Swift.Result<Result, CacheError> = await withCheckedContinuation { continuation in
            queue.async {
                if self.drain() == true { self.scheduleEviction() }
                self.write(self.takeFacts())
                let result = Swift.Result { () throws(CacheError) in
                    try self.file.reopenIfReplaced()
                    return try body()
                }
                continuation.resume(returning: result)
            }
        }
        return try result.get()
    }

    /// What the disk has under a key was written beside the changes, and is right.
    func clearFailure(of key: RequestKey) { state.withLock { $0.forgetFailure(of: key) } }

    private func refuseFork() throws(CacheError) {
        guard getpid() != process else { return }
        throw CacheError(SQLiteError(.forked, "opened before a fork", path: file.store.cachePath))
    }

    /// - Returns: whether this is a forked child: then nothing is written, which is told once.
    private func reportFork() -> Bool {
        do throws(CacheError) {
            try refuseFork()
            return false
        } catch {
            let isNew = !hasToldOfFork.exchange(true, ordering: .relaxed)
            if isNew { activity.report(.cacheFailed(reason: error.message)) }
            return true
        }
    }

    // Of an hour that has ended, no change may come to take them along.
    private func scheduleFacts() {
        // Where nobody will write them, they are not kept.
        guard !reportFork() else { return _ = takeFacts() }
        queue.async { self.write(self.takeFacts()) }
    }

    private func scheduleDrain() { queue.async { self.writeWaiting() } }

    /// Writes what waits, and evicts. On the queue.
    func writeWaiting() { if drain() ?? evictSlice() { scheduleEviction() } }

    /// Writes what waits, into the file that has the store's name now.
    ///
    /// - Returns: whether more has to be evicted; `nil` where nothing was written, and nobody has looked.
    private func drain() -> Bool? {
        do throws(CacheError) { try file.reopenIfReplaced() } catch {
            loseWaiting(error)
            return nil
        }
        var isMore: Bool?
        while let group = nextGroup() {
            let looks = eviction.spend(group.reduce(0) { $0 + $1.diskBytes })
            let pages = write(group, looks: looks)
            state.withLock { $0.finish(group) }
            isMore = looks ? evictSlice(pages) : false
        }
        if state.withLock({ $0.hasMuchToTell }) { write(takeFacts()) }
        return isMore
    }

    // Between two slices, whoever waits has its turn.
    func scheduleEviction() {
        queue.async { if self.evictSlice() { self.scheduleEviction() } }
    }

    private func evictIfNeeded() -> Bool { eviction.mustLook ? evictSlice() : false }

    /// - Parameter pages: of the file, where a write has just told them.
    /// - Returns: whether more has to go.
    private func evictSlice(_ pages: CachePages? = nil) -> Bool {
        do throws(CacheError) {
            let (count, isMore) = try eviction.slice(pages)
            if count > 0 {
                self.count(in: eviction.hour) { $0.evictions += Int64(count) }
                activity.report(.evicted(count: count))
            }
            return isMore
        } catch {
            activity.report(.cacheFailed(reason: error.message))
            return false
        }
    }

    private func nextGroup() -> [CacheChange]? {
        state.withLock { state in
            let group = state.nextGroup()
            state.isScheduled = !group.isEmpty
            // Under the lock, or it would take back what is set for a change that comes now.
            if group.isEmpty { alarm.clear() }
            return group.isEmpty ? nil : group
        }
    }

    // One change that cannot be written (a body too large for the disk) must not take the others along.
    /// - Returns: the pages of the file afterwards, where they are asked for and known.
    private func write(_ group: [CacheChange], looks: Bool) -> CachePages? {
        // Before anything is written: that may be a newer answer under one of the keys. Where it fails, so would each.
        do throws(CacheError) { try eraseOutdated() } catch { return giveUp(group, error) }
        let facts = takeFacts()
        do throws(CacheError) {
            return try write(facts, with: group, looks: looks)
        } catch {
            // Behind all of the group: it may be they that cannot be written.
            defer { putBack(facts) }
            if group.count > 1, error.mayBeOfOneChange {
                return group.map { write([$0], looks: looks) }.last.flatMap(\.self)
            }
            return giveUp(group, error)
        }
    }

    /// What waits has no file: that which is open has another name now, or none. Whatever the next one has under the keys may
    /// be older.
    private func loseWaiting(_ error: CacheError) {
        activity.report(.cacheFailed(reason: error.message))
        while let group = nextGroup() {
            state.withLock { state in
                state.fail(group.map(\.key))
                state.finish(group)
            }
        }
    }

    private func giveUp(_ group: [CacheChange], _ error: CacheError) -> CachePages? {
        activity.report(.cacheFailed(reason: error.message))
        let outdated = outdated(group.map(\.key))
        state.withLock { $0.fail(outdated) }
        return nil
    }

    /// Those of some keys that the disk has something under; where that cannot be read, all of them.
    private func outdated(_ keys: [RequestKey]) -> [RequestKey] {
        // There is nothing to remember then.
        guard !state.withLock({ $0.isAllOutdated }) else { return [] }
        let known = try? file.read { (connection) throws(SQLiteError) in
            var known: [RequestKey] = []
            for key in keys where try CacheTable.has(key, on: connection) { known.append(key) }
            return known
        }
        return known ?? keys
    }

    private func eraseOutdated() throws(CacheError) {
        let outdated = state.withLock { $0.outdated }
        guard !outdated.isEmpty else { return }
        // Erased in a file that has lost its name, they would be forgotten, and found in the one that has it.
        try file.reopenIfReplaced()
        for selection in outdated { try file.erase(selection, selection.names(by: file.number)) }
        state.withLock { $0.forgetFailures() }
    }

    /// - Returns: whether what was to be confirmed is gone.
    private func write(_ change: CacheChange, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        switch change.action {
        case .store(let entry): try file.store(entry, on: connection)
        case .confirm(let entry, let old): return try !file.confirm(entry, replacing: old, on: connection)
        case .delete(let everywhere): try CacheTable.delete(change.key, everywhere: everywhere, on: connection)
        }
        return false
    }

    // MARK: What goes along

    private func takeFacts() -> CacheFacts {
        let (counts, accesses) = recorder.take()
        var facts = state.withLock { $0.takeFacts() }
        facts.accesses = accesses
        for counts in counts { facts.counts.add(counts) }
        return facts
    }

    private func putBack(_ facts: CacheFacts) {
        recorder.putBack(facts.accesses)
        state.withLock { $0.putBack(facts) }
    }

    // Not put back where that fails: they would be tried again and again.
    private func write(_ facts: CacheFacts) {
        guard !facts.isEmpty || state.withLock({ !$0.outdated.isEmpty }) else { return }
        do throws(CacheError) {
            try eraseOutdated()
            _ = try write(facts, with: [], looks: false)
        } catch {
            activity.report(.cacheFailed(reason: error.message))
        }
    }

    private func write(_ facts: CacheFacts, with group: [CacheChange], looks: Bool) throws(CacheError) -> CachePages? {
        let capacity = eviction.capacity
        let (sampling, pages, gone) = try file.write { (connection) throws(SQLiteError) in
            var gone: [RequestKey] = []
            for change in group where try write(change, on: connection) { gone.append(change.key) }
            let sampling = try Self.write(facts, capacity, on: connection)
            // A reader would have to look up in the log what this connection knows.
            return (sampling, looks ? try CacheTable.pages(on: connection) : nil, gone)
        }
        for key in gone { whenGone(key) }
        if let sampling { recorder.sample(sampling) }
        return pages
    }

    /// - Returns: what is to be recorded from now on; `nil` where that is not known.
    private static func write(
        _ facts: CacheFacts,
        _ capacity: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Sampling? {
        if !facts.visited.isEmpty { try CacheTable.visit(facts.visited, on: connection) }
        for counts in facts.counts { try CacheTable.add(counts, on: connection) }
        guard !facts.accesses.isEmpty else { return nil }
        return try CacheTable.record(facts.accesses, capacity: capacity, on: connection)
    }
}
