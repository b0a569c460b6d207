#if Tools
import Diamond
import Foundation

/// A job as text for people.
struct JobText {
    let job: ReplayJob
    let request: Request?
    let failures: [ReplayFailure]
    /// The jobs that create the objects whose ids the job waits for.
    let awaited: [ReplayJob]

    var form: JSONObject { ["job": job.form, "request": request, "failures": failures.map(\.form)] }

    var lines: [String] { facts.map { "\($0.padding(toLength: 12, withPad: " ", startingAt: 0))\($1)" } + written }

    /// The properties of the job, with their names.
    var facts: [(String, String)] {
        let rare: [(String, String?)] = [
            ("waits for", awaited.isEmpty ? nil : awaited.map(\.description).joined(separator: "; ")),
            ("identity", job.identity), ("key", key), ("priority", job.priority == 0 ? nil : String(job.priority)),
            ("lane", job.lane == Lane.default.name ? nil : job.lane), ("unique", request?.replay.unique),
            ("kind", job.kind), ("call", job.storedCall),
            ("tags", job.tags.isEmpty ? nil : job.tags.joined(separator: ", ")),
            ("invalidates", invalidates),
            ("metadata", job.metadata.isEmpty ? nil : Output.text(of: job.metadata)),
        ]
        let times: [(String, Date?)] = [
            ("added", job.enqueuedAt), ("changed", job.changedAt), ("not before", job.runAt),
            ("expires", job.expiresAt),
            ("sent", job.sentAt), ("unknown", job.unknownSince),
        ]
        let answers: [(String, String?)] = [
            ("attempts", "\(job.attempts) of \(job.attemptLimit)"), ("answer", job.status.map(String.init)),
            ("sent as", job.idempotencyKey),
        ]
        let all = rare + times.map { ($0, $1.map(Quantity.instant)) } + answers
        return [("job", "\(job.id)"), ("state", state), ("request", "\(job.method) \(job.url)")]
            + all.compactMap { name, value in value.map { (name, $0) } }
    }

    private var invalidates: String? {
        request.flatMap { $0.invalidates.isEmpty ? nil : $0.invalidates.sorted().joined(separator: ", ") }
    }

    private var state: String {
        let next = JobRow.next(job, now: Date())
        return "\(job.state) (\(job.reason))\(next == "-" ? "" : ", \(next)")"
    }

    private var key: String? {
        job.orderingKey.map { "\($0), \(job.order.rawValue)\(job.isHead ? ", first job of the key" : "")" }
    }

    private var written: [String] {
        guard let request else { return [] }
        return ["", "REQUEST"] + Output.text(of: request, isPretty: true).split(separator: "\n").map(String.init)
    }

    var attempts: Table {
        let rows = failures.map { failure in
            let time = Duration.seconds(failure.endedAt.timeIntervalSince(failure.startedAt))
            return [
                String(failure.number), Quantity.instant(failure.startedAt), Quantity.time(time), failure.code,
                failure.message,
            ]
        }
        return Table(
            ["NUMBER": .right, "STARTED": .left, "TOOK": .right, "CODE": .left, "MESSAGE": .left], rows: rows)
    }
}

extension ReplayFailure {
    fileprivate var form: JSONObject {
        [
            "number": number, "startedAt": Quantity.instant(startedAt), "endedAt": Quantity.instant(endedAt),
            "code": code, "message": message,
        ]
    }
}
#endif
