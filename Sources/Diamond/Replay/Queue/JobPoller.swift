import DiamondSQLite
import Foundation

/// A poller for changes of jobs, made by any process. Each call of ``next()`` returns the changes since the last one.
///
/// A job that has changed twice between two calls is returned once, in its latest state.
package struct JobPoller: Sendable {
    /// A job's last transition.
    private struct Mark: Hashable {
        var state: ReplayState
        var reason: ReplayReason
        var token: Int64
        var time: QueueTime

        init(_ job: ReplayJob) {
            state = job.state
            reason = job.reason
            token = job.token
            time = job.transitionTime
        }
    }

    /// The time before the last poll that is read again, in milliseconds. A transition has the time at which its
    /// transaction began, but is visible only after the transaction has ended.
    private static let overlap: Int64 = 10_000
    /// The time before a poller's start that belongs to it, in milliseconds, for a transaction that was under way then.
    private static let margin: Int64 = 1_000

    private let queue: ReplayQueue
    private var marks: [ReplayJob.ID: Mark] = [:]
    /// The time of the last poll.
    private var lastPoll: QueueTime
    /// The time from which the first read returns changes; `nil` afterwards.
    private var start: QueueTime?

    /// Creates a poller, which returns changes from now on.
    ///
    /// - Throws: ``ReplayError`` if the file cannot be read.
    package init(_ queue: ReplayQueue) throws(ReplayError) {
        self.queue = queue
        lastPoll = try queue.moment().time
        for job in try recent() { marks[job.id] = Mark(job) }
    }

    /// Creates a poller, which returns changes from an earlier time on. A change up to a second before that may be
    /// returned, too.
    ///
    /// - Throws: ``ReplayError`` if the file cannot be read.
    init(_ queue: ReplayQueue, since uptime: Uptime) throws(ReplayError) {
        self.queue = queue
        lastPoll = try queue.moment().time - max(0, queue.clock.uptime().milliseconds(since: uptime))
        start = lastPoll - Self.margin
    }

    /// Returns the jobs that have changed since the last call, the oldest change first.
    package mutating func next() throws(ReplayError) -> [ReplayJob] {
        let jobs = try recent()
        let changed = jobs.filter { job in
            marks[job.id] != Mark(job) && start.map { job.transitionTime >= $0 } ?? true
        }
        start = nil
        // Older jobs are not read again.
        marks = Dictionary(uniqueKeysWithValues: jobs.map { ($0.id, Mark($0)) })
        return changed
    }

    private mutating func recent() throws(ReplayError) -> [ReplayJob] {
        let moment = try queue.moment()
        // After the clock was set back, jobs change at times before the last poll.
        let time = min(lastPoll, moment.time) - Self.overlap
        lastPoll = moment.time
        return try queue.storage.changed(since: time)
    }
}
