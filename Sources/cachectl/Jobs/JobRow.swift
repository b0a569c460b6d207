#if Tools
import Diamond
import Foundation

/// A job as a row of a table.
enum JobRow {
    static func table(of jobs: [ReplayJob]) -> Table {
        let now = Date()
        return Table(
            [
                "ID": .right, "STATE": .left, "REASON": .left, "TRIES": .right, "AGE": .right, "NEXT": .right,
                "METHOD": .left, "KEY": .left, "URL": .left,
            ], rows: jobs.map { cells(of: $0, now: now) })
    }

    private static func cells(of job: ReplayJob, now: Date) -> [String] {
        [
            String(job.id), job.state.description, reason(job), "\(job.attempts)/\(job.attemptLimit)",
            Quantity.age(now, since: job.enqueuedAt), next(job, now: now), job.method, shortened(job.orderingKey),
            job.url,
        ]
    }

    /// Returns the reason for a job's state, with the jobs that it waits for.
    static func reason(_ job: ReplayJob) -> String {
        let awaited = job.awaitedJobs.map(String.init).joined(separator: ", ")
        return awaited.isEmpty ? job.reason.description : "\(job.reason) of \(awaited)"
    }

    /// Returns when a job can be sent: `now`, `in 5m`, `behind` (after other jobs of its ordering key), or `-`.
    static func next(_ job: ReplayJob, now: Date) -> String {
        switch job.state {
        case .ready where job.isHead: "now"
        case .waiting where job.isHead: "in \(Quantity.age(job.runAt, since: now))"
        case .ready, .waiting: "behind"
        default: "-"
        }
    }

    /// Returns an ordering key, or `-`; on a terminal, at most 20 characters.
    static func shortened(_ key: String?) -> String {
        guard let key else { return "-" }
        return Output.width != nil && key.count > 20 ? key.prefix(19) + "…" : key
    }
}

extension Quantity {
    /// Returns the time from `other` to `date`, such as `12m`. Negative times are `0s`.
    static func age(_ date: Date, since other: Date) -> String {
        age(WallTime(date).milliseconds(since: WallTime(other)))
    }
}
#endif
