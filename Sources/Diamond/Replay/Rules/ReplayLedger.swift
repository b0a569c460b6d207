import Foundation

/// The transitions of jobs in one transaction. They are counted in the transaction, and reported when it is on disk.
struct ReplayLedger: Sendable {
    /// The queue's time, in milliseconds since 1970.
    let now: Int64
    /// The lead of the wall clock over the queue's time, in milliseconds.
    let lead: Int64
    /// The time since the machine was started, in milliseconds, by a clock that cannot be set.
    let uptime: Int64
    private(set) var transitions: [ReplayTransition] = []
    /// The jobs with other changes that contexts of models have to know.
    private(set) var touched: Set<Int64> = []

    init(now: Int64, lead: Int64 = 0, uptime: Int64) {
        self.now = now
        self.lead = lead
        self.uptime = uptime
    }

    mutating func touch(_ id: Int64) { touched.insert(id) }

    mutating func note(_ verb: ReplayTransition.Verb, of row: ReplayRow, from: ReplayState?) {
        note(verb, of: row.id, from: from, to: row.state, reason: row.reason)
    }

    mutating func note(
        _ verb: ReplayTransition.Verb,
        of id: Int64,
        from: ReplayState?,
        to: ReplayState?,
        reason: ReplayReason
    ) {
        let at = Date(milliseconds: now + lead)
        transitions.append(ReplayTransition(jobID: id, verb: verb, from: from, to: to, reason: reason, at: at))
    }

    /// Returns the new state, dead or in review, of each transition into one of them, from index `count` on.
    func ends(since count: Int) -> [ReplayState] {
        transitions[count...].compactMap(\.to).filter { $0 == .dead || $0 == .needsReview }
    }

    /// The current hour since 1970, by the queue's time.
    var hour: Int64 { now / 3_600_000 }

    /// The number of transitions of each kind.
    var counts: [ReplayTransition.Verb: Int64] {
        transitions.reduce(into: [:]) { counts, transition in counts[transition.verb, default: 0] += 1 }
    }
}
