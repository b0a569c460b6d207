#if Tools
import Diamond
import Foundation

/// A job in a table.
struct JobRow {
    static let header = ["ID", "STATE", "REASON", "TRIES", "AGE", "NEXT", "METHOD", "KEY", "URL"]
    static let alignments: [Table.Alignment] = [.right, .left, .left, .right, .right, .right, .left, .left, .left]

    static var table: Table { Table(header: header, alignments: alignments) }

    let cells: [String]

    init(_ job: ReplayJob, now: Date) {
        cells = [
            String(job.id), job.state.description, job.reason.description, "\(job.attempts)/\(job.attemptLimit)",
            Quantity.age(now, since: job.enqueuedAt), Self.next(job, now), job.method, Self.short(job.orderingKey),
            job.url,
        ]
    }

    /// Returns the time when a job is sent, as far as it is known.
    static func next(_ job: ReplayJob, _ now: Date) -> String {
        switch job.state {
        case .ready where job.isHead: "now"
        case .waiting where job.isHead: "in \(Quantity.age(job.runAt, since: now))"
        case .ready, .waiting: "behind"
        default: "-"
        }
    }

    /// As much of a key as a table has room for.
    static func short(_ key: String?) -> String {
        guard let key else { return "-" }
        return key.count > 20 ? key.prefix(19) + "…" : key
    }
}

extension Quantity {
    /// `12m` between two times, `0s` where the first is not the later one.
    static func age(_ date: Date, since other: Date) -> String { age(date.milliseconds - other.milliseconds) }
}
#endif
