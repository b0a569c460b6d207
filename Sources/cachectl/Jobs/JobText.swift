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

    var lines: [String] {
        facts.map { "\($0.name.padding(toLength: 12, withPad: " ", startingAt: 0))\($0.value)" } + written
    }

    /// The properties of the job, with their names.
    var facts: [NamedValue] {
        let rare: KeyValuePairs<String, String?> = [
            "waits for": text(awaited.map(\.description), separator: "; "), "identity": job.identity, "key": key,
            "priority": job.priority == 0 ? nil : String(job.priority),
            "lane": job.lane == Lane.default.name ? nil : job.lane, "unique": request?.replay.unique,
            "kind": job.kind, "call": job.storedCall, "tags": text(job.tags),
            "invalidates": text(request?.invalidates.sorted() ?? []),
            "metadata": job.metadata.isEmpty ? nil : Output.text(of: job.metadata),
        ]
        let times: KeyValuePairs<String, Date?> = [
            "added": job.enqueuedAt, "changed": job.changedAt, "not before": job.runAt, "expires": job.expiresAt,
            "sent": job.sentAt, "unknown": job.unknownSince,
        ]
        let answers: KeyValuePairs<String, String?> = [
            "attempts": "\(job.attempts) of \(job.attemptLimit)", "answer": job.status.map(String.init),
            "sent as": job.idempotencyKey,
        ]
        let known = times.map { ($0.key, $0.value.map(Quantity.instant)) }
        let all = rare.map { ($0.key, $0.value) } + known + answers.map { ($0.key, $0.value) }
        return NamedValue.all(["job": "\(job.id)", "state": state, "request": "\(job.method) \(job.url)"])
            + all.compactMap { name, value in value.map { NamedValue(name: name, value: $0) } }
    }

    private func text(_ parts: [String], separator: String = ", ") -> String? {
        parts.isEmpty ? nil : parts.joined(separator: separator)
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
        Table(
            ["NUMBER": .right, "STARTED": .left, "TOOK": .right, "CODE": .left, "MESSAGE": .left],
            rows: failures.map { FailureRow($0).cells })
    }
}

/// A failed attempt as a row of a table or of a page.
struct FailureRow {
    let number: String
    let started: String
    let took: String
    let code: String
    let message: String

    init(_ failure: ReplayFailure) {
        number = String(failure.number)
        started = Quantity.instant(failure.startedAt)
        took = Quantity.time(.seconds(failure.endedAt.timeIntervalSince(failure.startedAt)))
        code = failure.code.withoutControls
        message = failure.message.withoutControls
    }

    var cells: [String] { [number, started, took, code, message] }
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
