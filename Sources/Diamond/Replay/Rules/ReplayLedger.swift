import Foundation

/// The transitions of jobs in one transaction. They are counted in the transaction, and reported when it is on disk.
struct ReplayLedger: Sendable {
    let moment: ReplayMoment
    let uptime: Uptime
    private(set) var transitions: [ReplayTransition] = []
    /// The jobs with other changes that contexts of models have to know.
    private(set) var touched: Set<Int64> = []

    init(at moment: ReplayMoment, uptime: Uptime) {
        self.moment = moment
        self.uptime = uptime
    }

    /// The queue's time.
    var now: QueueTime { moment.time }

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
        let at = moment.wall(of: now).date
        transitions.append(ReplayTransition(jobID: id, verb: verb, from: from, to: to, reason: reason, at: at))
    }

    /// Returns the new state, dead or in review, of each transition into one of them, from index `count` on.
    func ends(since count: Int) -> [ReplayState] {
        transitions[count...].compactMap(\.to).filter { $0 == .dead || $0 == .needsReview }
    }

    /// The number of transitions of each kind.
    var counts: [ReplayTransition.Verb: Int64] {
        transitions.reduce(into: [:]) { counts, transition in counts[transition.verb, default: 0] += 1 }
    }
}
