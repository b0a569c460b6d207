#if Tools
import Diamond
import Foundation

/// A job as a row of a table or of a page.
struct JobRow {
    let id: String
    let state: String
    /// The reason for the state, with the jobs that it waits for.
    let reason: String
    let tries: String
    let age: String
    let next: String
    let method: String
    /// The ordering key; empty if there is none.
    let key: String
    let url: String

    init(_ job: ReplayJob, now: Date) {
        id = String(job.id)
        state = job.state.description
        let awaited = job.awaitedJobs.map(String.init).joined(separator: ", ")
        reason = awaited.isEmpty ? job.reason.description : "\(job.reason) of \(awaited)"
        tries = "\(job.attempts)/\(job.attemptLimit)"
        age = Quantity.age(now, since: job.enqueuedAt)
        next = Self.next(job, now: now)
        method = job.method.withoutControls
        key = (job.orderingKey ?? "").withoutControls
        url = job.url.withoutControls
    }

    static func table(of jobs: [ReplayJob]) -> Table {
        let now = Date()
        return Table(
            [
                "ID": .right, "STATE": .left, "REASON": .left, "TRIES": .right, "AGE": .right, "NEXT": .right,
                "METHOD": .left, "KEY": .left, "URL": .left,
            ],
            rows: jobs.map { job in
                let row = JobRow(job, now: now)
                return [
                    row.id, row.state, row.reason, row.tries, row.age, row.next, row.method,
                    shortened(job.orderingKey), row.url,
                ]
            })
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
