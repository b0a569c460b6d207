/// What waits to be written, and what of it is not on disk yet.
struct PendingChanges {
    private static let groupSize = 64
    /// Bytes that one transaction writes, but for one larger body: the log grows by as much.
    private static let groupCost = 4 << 20
    /// URLs whose entries one transaction marks.
    private static let markedURLs = 64
    /// Marks of use that wait for a change to go with; beyond, they are a write of their own.
    private static let mostVisits = 4096
    /// Keys that are remembered one by one when their changes could not be written, and URLs whose entries could not be
    /// marked.
    static let mostFailed = 4096

    var waiting: [CacheChange] = []
    /// What is not on disk yet, by key: the number of the change, and the change.
    var latest: [RequestKey: (number: Int, change: CacheChange)] = [:]
    var added = 0
    var written = 0
    var cost = 0
    var isScheduled = false
    /// Entries that were used, by the prefixes of their keys: written with the next change.
    var visited: Set<Int64> = []
    /// Of what goes with changes, and what could not be written; hits are counted apart.
    var counts: [CacheCounts] = []
    /// What is stale, and not marked so on disk yet.
    private(set) var invalidations = PendingInvalidations()
    /// Whether other processes have yet to hear that something was made stale or erased of which the disk has nothing: it may
    /// lie in their memories.
    private(set) var hasToTell = false
    private var failures = Failures()
}

/// Keys whose last change could not be written, as far as the disk has something under them: that is older, hidden from
/// every lookup, and erased before anything else is written.
private struct Failures {
    var keys: Set<RequestKey> = []
    /// Whether there were too many to be remembered: then anything on disk may be older than what was answered, and all of
    /// it has to go.
    var areTooMany = false

    var areAny: Bool { areTooMany || !keys.isEmpty }
}

extension PendingChanges {
    /// Whether what goes along with changes has become a write of its own.
    var hasMuchToTell: Bool { visited.count >= Self.mostVisits }

    /// When a change is to be written.
    enum Due {
        case now, soon
        /// Somebody has been asked to write, and takes it along.
        case already
    }

    /// What a lookup has to believe before the disk.
    ///
    /// - Parameter url: ``CacheEntry/url``; where it is not known, whatever was made stale may be meant.
    func answer(under key: RequestKey, url: String?) -> PendingAnswer {
        guard let (number, change) = latest[key] else {
            let erased = isOutdated(key) ? CacheChange.delete(key) : nil
            return PendingAnswer(change: erased, wasStale: false, isStale: invalidations.include(url, behind: 0))
        }
        return PendingAnswer(
            change: change, wasStale: invalidations.include(url, before: number),
            isStale: invalidations.include(url, behind: number))
    }

    /// What is to be written of a change: a confirmation of what waits itself is stored with it.
    ///
    /// - Returns: `nil` where it confirms what the last change of its key has replaced or erased, or what was made stale
    ///   since.
    func effective(_ change: CacheChange) -> CacheChange? {
        guard case .confirm(let entry, let old) = change.action else { return change }
        let last = answer(under: change.key, url: entry.url)
        switch last.change?.action {
        case .store(let stored):
            let waiting = last.marked(stored.stored)
            guard waiting.isUnchanged(since: old) else { return nil }
            var whole = entry
            whole.stored = entry.stored.whole(by: waiting)
            whole.tags.formUnion(stored.tags)
            return .store(whole, isNew: false)
        case .confirm(let waiting, _): return last.marked(waiting.stored).isUnchanged(since: old) ? change : nil
        case .delete: return nil
        case nil: return change
        }
    }

    mutating func add(_ change: CacheChange) -> Due {
        added += 1
        cost += change.cost
        waiting.append(change)
        latest[change.key] = (added, change)
        guard !isScheduled else { return .already }
        // What was erased is not to be found by other processes, and a full group has nobody to wait for.
        let isUrgent = change.isErasure || waiting.count >= Self.groupSize || cost >= Self.groupCost
        isScheduled = isUrgent
        return isUrgent ? .now : .soon
    }

    /// What goes along with the next transaction.
    mutating func takeFacts() -> CacheFacts {
        defer { (visited, counts) = ([], []) }
        return CacheFacts(visited: visited, counts: counts)
    }

    /// Takes back what was not written, for the next transaction.
    mutating func putBack(_ facts: CacheFacts) {
        visited.formUnion(facts.visited)
        let newer = counts
        counts = facts.counts
        for newer in newer { counts.add(newer) }
    }

    /// - Returns: whether nobody has been asked to write yet.
    mutating func schedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }

    /// Takes out what is written next, in one transaction; nothing that comes behind an invalidation that waits for it.
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

    /// The oldest changes are on disk, or have failed.
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

// MARK: What is stale

extension PendingChanges {
    /// All that is stored of a URL by the changes so far is stale.
    ///
    /// - Returns: whether nobody has been asked to write yet.
    mutating func invalidate(_ url: String) -> Bool {
        invalidations.add(url, behind: added)
        return schedule()
    }

    /// URLs whose entries can be marked next, the changes before being written.
    var dueInvalidations: [String] { invalidations.due(behind: written, atMost: Self.markedURLs) }

    /// All of them that were not tried yet.
    var untriedInvalidations: [String] { invalidations.untried(behind: written) }

    /// Whether some of them were not tried yet.
    var hasNewInvalidations: Bool { invalidations.haveNew(behind: written) }

    /// Takes up those that can be marked next.
    mutating func beginDueInvalidations() -> [String] {
        invalidations.begin(dueInvalidations)
        return dueInvalidations
    }

    /// Takes up those that were not tried yet, to give them up.
    mutating func beginUntriedInvalidations() -> [String] {
        invalidations.begin(untriedInvalidations)
        return untriedInvalidations
    }

    /// The entries of the first of them are marked.
    mutating func finishInvalidations(_ count: Int) { invalidations.finish(count) }

    /// The entries of the first that were not tried yet could not be marked. Lookups go on to take them for stale, as far
    /// as there are any.
    ///
    /// - Parameter stored: the URLs that the disk has something of, or may have.
    mutating func failInvalidations(_ count: Int, keeping stored: Set<String>) {
        if !untriedInvalidations.prefix(count).allSatisfy(stored.contains) { hasToTell = true }
        let failed = invalidations.fail(count, keeping: stored)
        guard failed > Self.mostFailed else { return }
        failures = Failures(areTooMany: true)
        invalidations.finish(failed)
    }

    /// Something was erased for every process, and that could not be written.
    mutating func tellLater() { hasToTell = true }

    /// Other processes have heard that anything may have changed.
    mutating func finishTelling() { hasToTell = false }
}

// MARK: What could not be written

extension PendingChanges {
    /// Whether something on disk has to be erased or marked before anything is written.
    var hasToSettle: Bool { failures.areAny || hasToTell || !invalidations.isEmpty }

    /// Whether some of that waits for no change.
    var canSettle: Bool { failures.areAny || hasToTell || !dueInvalidations.isEmpty }

    /// Whether what the disk has under a key may be older than a change that could not be written.
    func isOutdated(_ key: RequestKey) -> Bool { failures.areTooMany || failures.keys.contains(key) }

    /// Whether nothing on disk is to be believed.
    var isAllOutdated: Bool { failures.areTooMany }

    /// What has to be erased before anything is written.
    var outdated: [CacheSelection] {
        failures.areTooMany ? [.all] : CacheSelection.groups(of: Array(failures.keys))
    }

    /// The last changes of some keys could not be written, and the disk has something older under them.
    mutating func fail(_ keys: [RequestKey]) {
        guard !failures.areTooMany else { return }
        failures.keys.formUnion(keys)
        if failures.keys.count > Self.mostFailed { failures = Failures(areTooMany: true) }
    }

    /// What was outdated is erased. It stays hidden until then: a lookup beside the erasing must not find it.
    mutating func forgetFailures() { failures = Failures() }

    /// What the disk has under a key is right.
    mutating func forgetFailure(of key: RequestKey) { failures.keys.remove(key) }
}
