/// The counts of open intervals, as a value.
///
/// It counts by subject (a lane, an origin and tags together), so that beginning an interval costs one lookup at
/// most, and ending it none. The sums of a lane, an origin or a tag are computed on demand.
struct ActivityLedger {
    private struct Account {
        var subject: ActivitySubject
        var counts = ActivityCounts()
    }

    private(set) var total = ActivityCounts()
    private var accounts: [Account] = []
    private var indices: [ActivitySubject: Int] = [:]
    private var free: [Int] = []
    /// The index of the last account. The next count is often of the same subject, which then needs no lookup.
    private var last: Int?

    /// The number of accounts up to which empty ones are not removed, because most subjects recur soon.
    private static let capacity = 64

    /// Counts the begin of an interval.
    ///
    /// - Returns: the index of the account, for ``end(_:account:)``.
    mutating func begin(_ kind: ActivityInterval.Kind, _ subject: ActivitySubject) -> Int {
        let account = account(of: subject)
        last = account
        total.add(1, to: kind)
        accounts[account].counts.add(1, to: kind)
        return account
    }

    private mutating func account(of subject: ActivitySubject) -> Int {
        if let last, accounts[last].subject == subject { return last }
        return indices[subject] ?? open(subject)
    }

    /// Counts the end of an interval. Call it once for each begin.
    mutating func end(_ kind: ActivityInterval.Kind, account: Int) {
        total.add(-1, to: kind)
        accounts[account].counts.add(-1, to: kind)
        if indices.count > Self.capacity, accounts[account].counts.isEmpty { close(account) }
    }

    private mutating func open(_ subject: ActivitySubject) -> Int {
        let index = free.popLast() ?? accounts.count
        if index == accounts.count {
            accounts.append(Account(subject: subject))
        } else {
            accounts[index] = Account(subject: subject)
        }
        indices[subject] = index
        return index
    }

    private mutating func close(_ index: Int) {
        if last == index { last = nil }
        indices[accounts[index].subject] = nil
        // Frees the strings of the subject.
        accounts[index] = Account(subject: ActivitySubject(lane: .default, origin: "", tags: []))
        free.append(index)
    }

    /// The number of accounts.
    var count: Int { indices.count }

    var snapshot: ActivitySnapshot {
        var lanes: [Lane: ActivityCounts] = [:]
        var origins: [String: ActivityCounts] = [:]
        var tags: [String: ActivityCounts] = [:]
        for account in accounts where !account.counts.isEmpty {
            lanes[account.subject.lane, default: ActivityCounts()] += account.counts
            origins[account.subject.origin, default: ActivityCounts()] += account.counts
            for tag in account.subject.tags { tags[tag, default: ActivityCounts()] += account.counts }
        }
        return ActivitySnapshot(counts: total, lanes: lanes, origins: origins, tags: tags)
    }
}
