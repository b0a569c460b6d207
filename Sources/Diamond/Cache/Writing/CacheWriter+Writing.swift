import DiamondSQLite
import Dispatch

/// Writing the waiting changes in groups, with usage records.
extension CacheWriter {
    /// Writes the waiting changes, and evicts. It is called on the queue.
    func writeWaiting() { if drain() ?? evictSlice() { scheduleEviction() } }

    /// Writes the waiting changes into the file that has the store's name now.
    ///
    /// - Returns: whether more has to be evicted; `nil` if nothing was written, and the usage was not checked.
    func drain() -> Bool? {
        do throws(CacheError) { try file.reopenIfReplaced() } catch {
            failWaitingChanges(error)
            return nil
        }
        var isMore: Bool?
        while let group = nextGroup() {
            let looks = eviction.spend(group.reduce(0) { $0 + $1.diskBytes })
            let pages = write(group, looks: looks)
            state.withLock { $0.finish(group) }
            isMore = looks ? evictSlice(pages) : false
        }
        reconcileNewInvalidations()
        if state.withLock({ $0.hasManyVisits }) { write(drainUsageRecords()) }
        return isMore
    }

    // Asynchronously, so that waiting work runs between two slices.
    func scheduleEviction() {
        queue.async { if self.evictSlice() { self.scheduleEviction() } }
    }

    func evictIfNeeded() -> Bool { eviction.needsCheck ? evictSlice() : false }

    /// - Parameter pages: the pages of the file, if a write has just returned them.
    /// - Returns: whether more has to be evicted.
    func evictSlice(_ pages: CachePages? = nil) -> Bool {
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

    func nextGroup() -> [CacheChange]? {
        state.withLock { state in
            let group = state.nextGroup()
            state.isScheduled = !group.isEmpty
            // Under the lock: otherwise it would cancel the timer of a change added now.
            if group.isEmpty { debouncer.clear() }
            return group.isEmpty ? nil : group
        }
    }

    // One change that cannot be written (a body too large for the disk) must not make the others of its group fail.
    /// - Returns: the pages of the file after the write, if they are asked for and known.
    private func write(_ group: [CacheChange], looks: Bool) -> CachePages? {
        // If this fails, so would each change.
        do throws(CacheError) { try reconcile() } catch { return giveUp(group, because: error) }
        let facts = drainUsageRecords()
        do throws(CacheError) {
            return try write(facts, with: group, looks: looks)
        } catch {
            // After the whole group: the usage records may be the reason for the failure.
            defer { putBack(facts) }
            if group.count > 1, error.mayConcernOneChange {
                return group.map { write([$0], looks: looks) }.last.flatMap(\.self)
            }
            return giveUp(group, because: error)
        }
    }

    // MARK: Usage records

    func drainUsageRecords() -> UsageRecords {
        var facts = state.withLock { $0.drainUsageRecords() }
        recorder.move(to: &facts)
        return facts
    }

    private func putBack(_ facts: UsageRecords) {
        recorder.putBack(facts.accesses)
        state.withLock { $0.putBack(facts) }
    }

    /// Writes usage records alone. It waits only briefly for another process that writes, so that lookups are not delayed.
    func write(_ facts: UsageRecords) {
        guard !facts.isEmpty || state.withLock({ $0.mustReconcile }) else { return }
        do throws(CacheError) {
            try reconcile()
            _ = try write(facts, with: [], looks: false, busyTimeout: CacheFile.briefTimeout)
        } catch  where error.code == .busy {
            // They are written with the next change.
            putBack(facts)
        } catch {
            // Dropped, or they would fail again and again.
            activity.report(.cacheFailed(reason: error.message))
        }
    }

    private func write(_ facts: UsageRecords, with group: [CacheChange], looks: Bool, busyTimeout: Duration? = nil)
        throws(CacheError) -> CachePages?
    {
        let (capacity, isUncompressed) = (eviction.capacity, file.isInClear)
        let facts = self.facts(facts, with: group)
        let generation = file.generation
        var changes: [PreparedChange] = []
        for change in group { changes.append(try file.prepared(change)) }
        let (recording, pages, gone) = try file.write(busyTimeout: busyTimeout) { (connection) throws(SQLiteError) in
            try file.throwIfReplaced(of: generation)
            var gone: [RequestKey] = []
            for change in changes where try file.write(change, on: connection) { gone.append(change.key) }
            let recording = try Self.write(facts, capacity, isUncompressed: isUncompressed, on: connection)
            // This connection has the page counts in memory; a reader would have to read the log.
            return (recording, looks ? try CacheTable.pages(on: connection) : nil, gone)
        }
        for key in gone { onVanishedEntry(key) }
        if let recording { recorder.set(recording) }
        return pages
    }

    /// Returns facts with the number of answers that a group puts on disk. They are counted in the group's own
    /// transaction, and not if that fails.
    private func facts(_ facts: UsageRecords, with group: [CacheChange]) -> UsageRecords {
        let stores = group.count(where: \.isNew)
        guard stores > 0 else { return facts }
        var facts = facts
        _ = facts.counts.count(in: eviction.hour) { $0.stores += Int64(stores) }
        return facts
    }

    /// - Returns: which accesses are recorded from now on; `nil` if it is not known.
    private static func write(
        _ facts: UsageRecords,
        _ capacity: Int64,
        isUncompressed: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> AccessRecording? {
        if !facts.visited.isEmpty { try CacheTable.visit(facts.visited, on: connection) }
        for counts in facts.counts { try CacheTable.add(counts, on: connection) }
        guard facts.wasUsed || !facts.accesses.isEmpty else { return nil }
        return try CacheTable.record(facts.accesses, capacity: capacity, isUncompressed: isUncompressed, on: connection)
    }
}
