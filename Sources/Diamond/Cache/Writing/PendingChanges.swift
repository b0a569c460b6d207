/// The changes and invalidations that are not on disk yet, and the state of writing them.
struct PendingChanges {
    private static let groupSize = 64
    /// The most bytes that one transaction writes, except for one larger body: the log grows by as much.
    private static let groupCost = 4 << 20
    /// The most URLs whose entries one transaction marks.
    private static let markedURLs = 64
    /// The most visited keys that wait to be written with the next change. Beyond that, they are written on their own.
    private static let maximumVisits = 4096
    /// The most failed keys, and the most failed URLs, that are remembered one by one.
    static let maximumFailures = 4096

    var waiting: [CacheChange] = []
    /// The changes that are not on disk yet, by key, each with its number.
    var latest: [RequestKey: (number: Int, change: CacheChange)] = [:]
    var added = 0
    var written = 0
    var cost = 0
    var isScheduled = false
    /// The entries that were used, by the prefixes of their keys. They are written with the next change.
    var visited: Set<Int64> = []
    /// The counts of each hour that are written with changes, including those that could not be written before. Hits
    /// are counted elsewhere.
    var counts: [CacheCounts] = []
    /// The URLs whose entries are stale and not marked so on disk yet.
    private(set) var invalidations = PendingInvalidations()
    /// Whether other processes must be notified that anything may have changed. Their memories may have entries that
    /// were invalidated or erased, and are not on disk.
    private(set) var mustNotifyProcesses = false
    private var failures = Failures()
}

/// The keys whose last change could not be written, and that have an entry on disk. That entry is outdated: lookups do
/// not find it, and it is erased before anything else is written.
private struct Failures {
    var keys: Set<RequestKey> = []
    /// Whether there were too many to remember. Every entry on disk may then be outdated, and all are erased.
    var areTooMany = false

    var areAny: Bool { areTooMany || !keys.isEmpty }
}

extension PendingChanges {
    /// Whether so many keys were visited that they are written without waiting for a change.
    var hasManyVisits: Bool { visited.count >= Self.maximumVisits }

    /// The time at which a change has to be written.
    enum WriteSchedule {
        case now, soon
        /// A write is already scheduled, and includes the change.
        case already
    }

    /// Returns the pending changes of an entry, which override the entry on disk.
    ///
    /// - Parameter url: ``CacheEntry/url``; `nil` if it is not known: the invalidation of any URL then counts.
    func pendingEntry(for key: RequestKey, url: String?) -> PendingEntry {
        guard let (number, change) = latest[key] else {
            let erased = isOutdated(key) ? CacheChange.delete(key) : nil
            return PendingEntry(change: erased, wasStale: false, isStale: invalidations.include(url, behind: 0))
        }
        return PendingEntry(
            change: change, wasStale: invalidations.include(url, before: number),
            isStale: invalidations.include(url, behind: number))
    }

    /// Returns the change to write for a change. The revalidation of a response that still waits becomes a store of the
    /// revalidated response.
    ///
    /// - Returns: `nil` if the change revalidates a response that was replaced, erased or invalidated since.
    func effective(_ change: CacheChange) -> CacheChange? {
        guard case .confirm(let entry, let old) = change.action else { return change }
        let last = pendingEntry(for: change.key, url: entry.url)
        switch last.change?.action {
        case .store(let stored):
            let waiting = last.marked(stored.stored)
            guard waiting.isUnchanged(since: old) else { return nil }
            var whole = entry
            whole.stored = entry.stored.completed(by: waiting)
            whole.tags.formUnion(stored.tags)
            whole.knownChange = stored.knownChange
            return .store(whole, isNew: false)
        case .confirm(let waiting, _): return last.marked(waiting.stored).isUnchanged(since: old) ? change : nil
        case .delete: return nil
        case nil: return change
        }
    }

    mutating func add(_ change: CacheChange) -> WriteSchedule {
        added += 1
        cost += change.cost
        waiting.append(change)
        latest[change.key] = (added, change)
        guard !isScheduled else { return .already }
        // Other processes must not find erased entries, and a full group need not wait for more changes.
        let isUrgent = change.isErasure || waiting.count >= Self.groupSize || cost >= Self.groupCost
        isScheduled = isUrgent
        return isUrgent ? .now : .soon
    }

    /// Removes and returns the usage records for the next transaction.
    mutating func drainUsageRecords() -> UsageRecords {
        defer {
            visited = []
            counts = []
        }
        return UsageRecords(visited: visited, counts: counts)
    }

    /// Adds usage records that could not be written to those of the next transaction.
    mutating func putBack(_ records: UsageRecords) {
        visited.formUnion(records.visited)
        let newer = counts
        counts = records.counts
        for newer in newer { counts.add(newer) }
    }

    /// - Returns: whether no write was scheduled before.
    mutating func schedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }

    /// Removes and returns the changes of the next transaction. Changes after an invalidation wait until it is written.
    mutating func nextGroup() -> [CacheChange] {
        var cost = 0
        let size = min(Self.groupSize, invalidations.room(behind: written))
        let end = waiting.prefix(size).firstIndex { change in
            cost += change.cost
            return cost > Self.groupCost && cost > change.cost
        }
        if end == nil, waiting.count <= size {
            defer { waiting = [] }
            return waiting
        }
        let group = Array(waiting.prefix(end ?? size))
        waiting.removeFirst(group.count)
        return group
    }

    /// Removes the oldest changes, which are on disk or have failed.
    mutating func finish(_ group: [CacheChange]) {
        written += group.count
        for change in group {
            cost -= change.cost
            if let index = latest.index(forKey: change.key), latest.values[index].number <= written {
                latest.remove(at: index)
            }
        }
    }
}

// MARK: Invalidations

extension PendingChanges {
    /// Invalidates all entries of a URL, up to the last change added.
    ///
    /// - Returns: whether no write was scheduled before.
    mutating func invalidate(_ url: String) -> Bool {
        invalidations.add(url, behind: added)
        return schedule()
    }

    /// The URLs whose entries can be marked next, because the changes before are written.
    var readyInvalidations: [String] { invalidations.due(behind: written, atMost: Self.markedURLs) }

    /// The URLs whose entries can be marked next and that were not tried yet.
    var untriedInvalidations: [String] { invalidations.untried(behind: written) }

    /// Whether some URLs whose entries can be marked were not tried yet.
    var hasNewInvalidations: Bool { invalidations.haveNew(behind: written) }

    /// Begins the invalidations that can be marked next, and returns their URLs.
    mutating func beginReadyInvalidations() -> [String] {
        invalidations.begin(readyInvalidations)
        return readyInvalidations
    }

    /// Begins the invalidations that were not tried yet, to give them up, and returns their URLs.
    mutating func beginUntriedInvalidations() -> [String] {
        invalidations.begin(untriedInvalidations)
        return untriedInvalidations
    }

    /// Removes the first invalidations, whose entries are marked.
    mutating func finishInvalidations(_ count: Int) { invalidations.finish(count) }

    /// Notes that the entries of the first untried invalidations could not be marked. Lookups still treat these entries
    /// as stale, if there are any.
    ///
    /// - Parameter stored: the URLs that have an entry on disk, or may have one.
    mutating func failInvalidations(_ count: Int, keeping stored: Set<String>) {
        if !untriedInvalidations.prefix(count).allSatisfy(stored.contains) { mustNotifyProcesses = true }
        let failed = invalidations.fail(count, keeping: stored)
        guard failed > Self.maximumFailures else { return }
        failures = Failures(areTooMany: true)
        invalidations.finish(failed)
    }

    /// Notes that an erasure for every process could not be written.
    mutating func notifyProcessesLater() { mustNotifyProcesses = true }

    /// Notes that other processes were notified that anything may have changed.
    mutating func finishNotifying() { mustNotifyProcesses = false }
}

// MARK: Failed changes

extension PendingChanges {
    /// Whether something on disk has to be erased or marked before anything is written.
    var mustReconcile: Bool { failures.areAny || mustNotifyProcesses || !invalidations.isEmpty }

    /// Whether something on disk can be erased or marked now, without waiting for a change.
    var canReconcile: Bool { failures.areAny || mustNotifyProcesses || !readyInvalidations.isEmpty }

    /// Whether the entry on disk under a key may be older than a change that could not be written.
    func isOutdated(_ key: RequestKey) -> Bool { failures.areTooMany || failures.keys.contains(key) }

    /// Whether every entry on disk may be outdated.
    var isAllOutdated: Bool { failures.areTooMany }

    /// The entries that have to be erased before anything is written.
    var outdated: [CacheSelection] {
        failures.areTooMany ? [.all] : CacheSelection.groups(of: Array(failures.keys))
    }

    /// Notes that the last changes of some keys could not be written, and that the disk has outdated entries of them.
    mutating func fail(_ keys: [RequestKey]) {
        guard !failures.areTooMany else { return }
        failures.keys.formUnion(keys)
        if failures.keys.count > Self.maximumFailures { failures = Failures(areTooMany: true) }
    }

    /// Removes all failures after the outdated entries are erased. Until then, lookups must not find these entries.
    mutating func removeFailures() { failures = Failures() }

    /// Removes the failure of a key whose entry on disk is current.
    mutating func removeFailure(of key: RequestKey) { failures.keys.remove(key) }
}
