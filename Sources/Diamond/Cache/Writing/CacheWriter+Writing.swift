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
        do throws(CacheError) { try storage.prepare() } catch {
            failWaitingChanges(error)
            return nil
        }
        var isMore: Bool?
        while let group = nextGroup() {
            let checksUsage = storage.spend(group.reduce(0) { $0 + $1.diskBytes })
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

    func evictIfNeeded() -> Bool { storage.needsEviction ? evictSlice() : false }

    /// - Parameter pages: the pages of the file, if a write has just returned them.
    /// - Returns: whether more has to be evicted.
    func evictSlice(_ pages: CachePages? = nil) -> Bool {
        do throws(CacheError) {
            let (count, isMore) = try storage.evictSlice(pages)
            if count > 0 {
                self.count(in: now().hour) { $0.evictions += Int64(count) }
                activity.report(.evicted(count: count))
            }
            return isMore
        } catch {
            report(error)
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
            _ = try write(records, with: [], checksUsage: false)
        } catch  where error.code == .busy {
            // They are written with the next change.
            putBack(records)
        } catch {
            // Dropped, or they would fail again and again.
            report(error)
        }
    }

    private func write(
        _ records: UsageRecords, with group: [CacheChange], checksUsage: Bool
    ) throws(CacheError) -> CachePages? {
        var batch = CacheBatch([])
        // Before the records are sealed: another file has another secret.
        batch.generation = storage.generation
        let coding = storage.coding
        for change in group { batch.steps.append(try coding.step(of: change)) }
        batch.usage = counting(group, in: records)
        batch.checksUsage = checksUsage
        let outcome = try storage.write(batch)
        for key in outcome.vanished { onVanishedEntry(key) }
        if let recording = outcome.recording { recorder.set(recording) }
        return outcome.pages
    }

    /// Returns usage records with the number of responses that a group stores. They are counted in the group's own
    /// transaction, and not if that fails.
    private func counting(_ group: [CacheChange], in records: UsageRecords) -> UsageRecords {
        let stores = group.count(where: \.isNew)
        guard stores > 0 else { return records }
        var records = records
        _ = records.counts.count(in: now().hour) { $0.stores += Int64(stores) }
        return records
    }
}
