/// What waits to be written, and what of it is not on disk yet.
struct PendingChanges {
    private static let groupSize = 64
    /// Bytes that one transaction writes, but for one larger body: the log grows by as much.
    private static let groupCost = 4 << 20
    /// Marks of use that wait for a change to go with; beyond, they are a write of their own.
    private static let mostVisits = 4096
    /// Keys that are remembered one by one when their changes could not be written.
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
    private var failures = Failures()
}

/// Keys whose last change could not be written, as far as the disk has something under them: that is older, hidden from
/// every look-up, and erased before anything else is written.
private struct Failures {
    var keys: Set<RequestKey> = []
    /// Whether there were too many to be remembered: then anything on disk may be older than what was answered, and all of
    /// it has to go.
    var areTooMany = false
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

    /// What is to be written of a change: a confirmation of what waits itself is stored with it.
    ///
    /// - Returns: `nil` where it confirms what the last change of its key has replaced or erased.
    func effective(_ change: CacheChange) -> CacheChange? {
        guard case .confirm(let entry, let old) = change.action else { return change }
        switch latest[change.key]?.change.action {
        case .store(let waiting):
            guard waiting.stored.isUnchanged(since: old) else { return nil }
            var whole = entry
            whole.stored = entry.stored.whole(by: waiting.stored)
            return .store(whole)
        case .confirm(let waiting, _): return waiting.stored.isUnchanged(since: old) ? change : nil
        case .delete: return nil
        case nil: return isOutdated(change.key) ? nil : change
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

    /// Takes out what is written next, in one transaction.
    mutating func nextGroup() -> [CacheChange] {
        var cost = 0
        let end = waiting.prefix(Self.groupSize).firstIndex { change in
            cost += change.cost
            return cost > Self.groupCost && cost > change.cost
        }
        if end == nil, waiting.count <= Self.groupSize {
            defer { waiting = [] }
            return waiting
        }
        let group = Array(waiting.prefix(end ?? Self.groupSize))
        waiting.removeFirst(group.count)
        return group
    }

    /// The oldest changes are on disk, or have failed.
    mutating func finish(_ group: [CacheChange]) {
        written += group.count
        for change in group {
            cost -= change.cost
            if let number = latest[change.key]?.number, number <= written { latest[change.key] = nil }
        }
    }
}

// MARK: What could not be written

extension PendingChanges {
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

    /// What was outdated is erased. It stays hidden until then: a look-up beside the erasing must not find it.
    mutating func forgetFailures() { failures = Failures() }

    /// What the disk has under a key is right.
    mutating func forgetFailure(of key: RequestKey) { failures.keys.remove(key) }
}
