import DiamondSQLite
import Foundation

/// Follows what becomes of jobs, whoever does it: asked again and again, it tells what has changed since.
///
/// A job that has changed twice between two questions is told once, as it is then.
package struct ReplayFollower {
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
    /// When it looked last, by the queue's time.
    private var lastLook: Int64

    /// - Parameter queue: what has become of its jobs before is not told.
    package init(_ queue: ReplayQueue) throws(ReplayError) {
        self.queue = queue
        lastLook = try queue.moment().time
        for job in try recent() { marks[job.id] = Mark(job) }
    }

    /// Jobs that have changed since the last time, the oldest change first.
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
