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
            let checksUsage = eviction.spend(group.reduce(0) { $0 + $1.diskBytes })
            let pages = write(group, checksUsage: checksUsage)
            state.withLock { $0.finish(group) }
            isMore = checksUsage ? evictSlice(pages) : false
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

    // A change that cannot be written, such as a body too large for the disk, must not make the rest of its group fail.
    /// - Returns: the pages of the file after the write, if they are asked for and known.
    private func write(_ group: [CacheChange], checksUsage: Bool) -> CachePages? {
        // If this fails, so would each change.
        do throws(CacheError) { try reconcile() } catch { return giveUp(group, because: error) }
        let records = drainUsageRecords()
        do throws(CacheError) {
            return try write(records, with: group, checksUsage: checksUsage)
        } catch {
            // After the whole group: the usage records may be the reason for the failure.
            defer { putBack(records) }
            if group.count > 1, error.mayConcernOneChange {
                return group.map { write([$0], checksUsage: checksUsage) }.last.flatMap(\.self)
            }
            return giveUp(group, because: error)
        }
    }

    // MARK: Usage records

    func drainUsageRecords() -> UsageRecords {
        var records = state.withLock { $0.drainUsageRecords() }
        recorder.move(to: &records)
        return records
    }

    private func putBack(_ records: UsageRecords) {
        recorder.putBack(records.accesses)
        state.withLock { $0.putBack(records) }
    }

    /// Writes usage records alone. It waits only briefly for another process that writes, so that lookups are not
    /// delayed.
    func write(_ records: UsageRecords) {
        guard !records.isEmpty || state.withLock({ $0.mustReconcile }) else { return }
        do throws(CacheError) {
            try reconcile()
            _ = try write(records, with: [], checksUsage: false, busyTimeout: CacheFile.briefTimeout)
        } catch  where error.code == .busy {
            // They are written with the next change.
            putBack(records)
        } catch {
            // Dropped, or they would fail again and again.
            activity.report(.cacheFailed(reason: error.message))
        }
    }

    private func write(
        _ records: UsageRecords, with group: [CacheChange], checksUsage: Bool, busyTimeout: Duration? = nil
    )
        throws(CacheError) -> CachePages?
    {
        let capacity = eviction.capacity
        let isUncompressed = file.isInClear
        let records = counting(group, in: records)
        let generation = file.generation
        var changes: [PreparedChange] = []
        for change in group { changes.append(try file.prepared(change)) }
        let renewals = renewals(of: records.visited)
        let (recording, pages, gone) = try file.write(busyTimeout: busyTimeout) { (connection) throws(SQLiteError) in
            try file.throwIfReplaced(of: generation)
            var gone: [RequestKey] = []
            for change in changes where try file.write(change, on: connection) { gone.append(change.key) }
            for renewal in renewals { try CacheTable.write(renewal, on: connection) }
            let recording = try Self.write(
                records, capacity: capacity, isUncompressed: isUncompressed, on: connection)
            // This connection has the page counts in memory; a reader would have to read the log.
            return (recording, checksUsage ? try CacheTable.pages(on: connection) : nil, gone)
        }
        for key in gone { onVanishedEntry(key) }
        if let recording { recorder.set(recording) }
        return pages
    }

    /// Reads the visited entries whose bodies have SHA-256, before the transaction, because that may take long. After
    /// ``CacheTable/renewalLimit`` bytes, or if it fails, the next visits do it: such an entry counts as unused.
    private func renewals(of visited: Set<Int64>) -> [CacheTable.Renewal] {
        var renewals: [CacheTable.Renewal] = []
        var size: Int64 = 0
        for prefix in visited where size < CacheTable.renewalLimit {
            let renewal = try? file.read { (connection) throws(SQLiteError) in
                try CacheTable.renewal(of: prefix, on: connection)
            }
            guard let renewal else { continue }
            size += renewal.bodySize
            renewals.append(renewal)
        }
        return renewals
    }

    /// Returns usage records with the number of responses that a group stores. They are counted in the group's own
    /// transaction, and not if that fails.
    private func counting(_ group: [CacheChange], in records: UsageRecords) -> UsageRecords {
        let stores = group.count(where: \.isNew)
        guard stores > 0 else { return records }
        var records = records
        _ = records.counts.count(in: eviction.hour) { $0.stores += Int64(stores) }
        return records
    }

    /// - Returns: which accesses are recorded from now on; `nil` if it is not known.
    private static func write(
        _ records: UsageRecords,
        capacity: Int64,
        isUncompressed: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> AccessRecording? {
        if !records.visited.isEmpty { try CacheTable.visit(records.visited, on: connection) }
        for counts in records.counts { try CacheTable.add(counts, on: connection) }
        guard records.wasUsed || !records.accesses.isEmpty else { return nil }
        return try CacheTable.record(
            records.accesses, capacity: capacity, isUncompressed: isUncompressed, on: connection)
    }
}
