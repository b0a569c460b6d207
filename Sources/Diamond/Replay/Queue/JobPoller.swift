import DiamondSQLite
import Foundation

/// A follower of job changes, made by any process. Each call returns the changes since the last one.
///
/// A job that has changed twice between two calls is returned once, in its latest state.
package struct JobPoller {
    /// A job's last transition.
    private struct Mark: Hashable {
        var state: ReplayState
        var reason: ReplayReason
        var token: Int64
        var changedAt: Date

        init(_ job: ReplayJob) {
            (state, reason, token, changedAt) = (job.state, job.reason, job.token, job.changedAt)
        }
    }

    /// A transition bears the time at which its transaction began, and is seen when that has ended: that far back is looked
    /// again.
    private static let overlap: Int64 = 10_000

    private let queue: ReplayQueue
    private var marks: [ReplayJob.ID: Mark] = [:]
    /// The time of the last look, by the queue's time.
    private var lastLook: Int64

    /// - Parameter queue: the queue to follow. Earlier changes of its jobs are not returned.
    package init(_ queue: ReplayQueue) throws(ReplayError) {
        self.queue = queue
        lastLook = try queue.moment().time
        for job in try recent() { marks[job.id] = Mark(job) }
    }

    /// Returns the jobs that have changed since the last call, the oldest change first.
    package mutating func next() throws(ReplayError) -> [ReplayJob] {
        let jobs = try recent()
        let changed = jobs.filter { marks[$0.id] != Mark($0) }
        // Older ones are not looked at again.
        marks = Dictionary(uniqueKeysWithValues: jobs.map { ($0.id, Mark($0)) })
        let lead = try queue.moment().lead
        return changed.map { $0.moved(by: lead) }
    }

    private mutating func recent() throws(ReplayError) -> [ReplayJob] {
        let now = try queue.moment().time
        // A clock that was set back has jobs change before the last look.
        let time = min(lastLook, now) - Self.overlap
        lastLook = now
        return try queue.read { (connection) throws(SQLiteError) in
            try ReplayTable.changed(since: time, on: connection)
        }
    }
}
