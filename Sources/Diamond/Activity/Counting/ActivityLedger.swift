/// The counts of what goes on, as a value.
///
/// Counted by subject (a lane, an origin and tags together), so that a begin costs one lookup and an end none. The sums
/// of a lane, an origin or a tag are computed on demand.
struct ActivityLedger {
    private struct Account {
        var subject: ActivitySubject
        var counts = ActivityCounts()
    }

    private(set) var total = ActivityCounts()
    private var accounts: [Account] = []
    private var places: [ActivitySubject: Int] = [:]
    private var free: [Int] = []
    /// The place of the last count. The next count is often of the same subject, which then needs no lookup.
    private var last: Int?

    /// Accounts that are kept though nothing is on them: most subjects come back soon.
    private static let spare = 64

    /// - Returns: the place of the account, for ``end(_:at:)``.
    mutating func begin(_ kind: ActivityInterval.Kind, _ subject: ActivitySubject) -> Int {
        let place = place(of: subject)
        last = place
        total.add(1, to: kind)
        accounts[place].counts.add(1, to: kind)
        return place
    }

    private mutating func place(of subject: ActivitySubject) -> Int {
        if let last, accounts[last].subject == subject { return last }
        return places[subject] ?? open(subject)
    }

    /// Counts the end of an interval. Call it once for each begin.
    mutating func end(_ kind: ActivityInterval.Kind, at place: Int) {
        total.add(-1, to: kind)
        accounts[place].counts.add(-1, to: kind)
        if places.count > Self.spare, accounts[place].counts.isEmpty { close(place) }
    }

    private mutating func open(_ subject: ActivitySubject) -> Int {
        let place = free.popLast() ?? accounts.count
        if place == accounts.count {
            accounts.append(Account(subject: subject))
        } else {
            accounts[place] = Account(subject: subject)
        }
        places[subject] = place
        return place
    }

    private mutating func close(_ place: Int) {
        if last == place { last = nil }
        places[accounts[place].subject] = nil
        // Its strings are not kept for a subject that may never come back.
        accounts[place] = Account(subject: ActivitySubject(lane: .default, origin: "", tags: []))
        free.append(place)
    }

    /// The number of accounts.
    var count: Int { places.count }

    var snapshot: ActivitySnapshot {
        var (lanes, origins, tags) = ([Lane: ActivityCounts](), [String: ActivityCounts](), [String: ActivityCounts]())
        for account in accounts where !account.counts.isEmpty {
            lanes[account.subject.lane, default: ActivityCounts()] += account.counts
            origins[account.subject.origin, default: ActivityCounts()] += account.counts
            for tag in account.subject.tags { tags[tag, default: ActivityCounts()] += account.counts }
        }
        return ActivitySnapshot(counts: total, lanes: lanes, origins: origins, tags: tags)
    }
}
