import Foundation

/// What a transaction does to jobs: told when it is on disk, and counted in it.
struct ReplayLedger: Sendable {
    /// By the queue's time; milliseconds since 1970.
    let now: Int64
    /// By how much the wall clock is ahead of that.
    let lead: Int64
    /// Milliseconds since the machine was started, by a clock that nobody sets.
    let uptime: Int64
    private(set) var transitions: [ReplayTransition] = []

    init(now: Int64, lead: Int64 = 0, uptime: Int64) { (self.now, self.lead, self.uptime) = (now, lead, uptime) }

    mutating func note(_ verb: ReplayTransition.Verb, _ row: ReplayRow, from: ReplayState?) {
        note(verb, row.id, from: from, to: row.state, row.reason)
    }

    mutating func note(
        _ verb: ReplayTransition.Verb,
        _ id: Int64,
        from: ReplayState?,
        to: ReplayState?,
        _ reason: ReplayReason
    ) {
        let at = Date(milliseconds: now + lead)
        transitions.append(ReplayTransition(jobID: id, verb: verb, from: from, to: to, reason: reason, at: at))
    }

    /// What has become of jobs, since there were `count` transitions, that nobody will send unasked.
    func ends(since count: Int) -> [ReplayState] {
        transitions[count...].compactMap(\.to).filter { $0 == .dead || $0 == .needsReview }
    }

    var hour: Int64 { now / 3_600_000 }

    /// How often each verb was used.
    var counts: [ReplayTransition.Verb: Int64] {
        transitions.reduce(into: [:]) { counts, transition in counts[transition.verb, default: 0] += 1 }
    }
}
