#if Tools
import Diamond
import Foundation

/// A job with all its facts: the form of every `--json`, and of a line of `queue export`.
struct JobForm: Encodable {
    var id: Int64
    var state: String
    var reason: String
    var method: String
    var url: String
    var host: String
    var identity: String?
    var orderingKey: String?
    /// Absent where there is no ordering key.
    var order: String?
    var isHead: Bool
    var priority: Int
    var lane: String
    var kind: String?
    var tags: [String]
    var metadata: [String: JSONValue]
    var enqueuedAt: String
    var changedAt: String
    var runAt: String
    var expiresAt: String?
    var attempts: Int
    var attemptLimit: Int
    var sentAt: String?
    var unknownSince: String?
    var idempotencyKey: String?
    var status: Int?

    init(_ job: ReplayJob) {
        (id, state, reason) = (job.id, job.state.description, job.reason.description)
        (method, url, host) = (job.method, job.url, job.host)
        (identity, orderingKey, isHead) = (job.identity, job.orderingKey, job.isHead)
        order = job.orderingKey.map { _ in job.order.rawValue }
        (priority, lane, kind) = (job.priority, job.lane, job.kind)
        (tags, metadata) = (job.tags, job.metadata)
        (enqueuedAt, changedAt) = (Quantity.instant(job.enqueuedAt), Quantity.instant(job.changedAt))
        (runAt, expiresAt) = (Quantity.instant(job.runAt), job.expiresAt.map(Quantity.instant))
        (attempts, attemptLimit, status) = (job.attempts, job.attemptLimit, job.status)
        (sentAt, unknownSince) = (job.sentAt.map(Quantity.instant), job.unknownSince.map(Quantity.instant))
        idempotencyKey = job.idempotencyKey
    }
}

/// How many jobs are in each state.
struct CountsForm: Encodable {
    private var counts: [ReplayState: Int]

    init(_ counts: [ReplayState: Int]) { self.counts = counts }

    func encode(to encoder: any Encoder) throws {
        let named = ReplayState.allCases.map { ($0.description, counts[$0] ?? 0) }
        try Dictionary(uniqueKeysWithValues: named).encode(to: encoder)
    }

    /// `2 ready, 1 done`, without those of which there are none.
    var text: String {
        let parts = ReplayState.allCases.compactMap { state in
            counts[state].flatMap { $0 > 0 ? "\($0) \(state)" : nil }
        }
        return parts.isEmpty ? "no jobs" : parts.joined(separator: ", ")
    }
}

/// What is held by name.
struct HoldForm: Encodable {
    /// `engine`, `queue`, `key`, `identity` or `lane`.
    var kind: String
    /// Absent of the queue and the engines.
    var name: String?
    var reason: String?
    var since: String?

    init(_ hold: ReplayHold, reason: String = "", since: Date? = nil) {
        kind = hold.kind
        name = hold.isWhole ? nil : hold.name
        self.reason = reason.isEmpty ? nil : reason
        self.since = since.map(Quantity.instant)
    }

    /// `the ordering key 'cart-7'`.
    var title: String {
        let noun = ["key": "ordering key", "engine": "store's engines"][kind] ?? kind
        return name.map { "the \(noun) '\($0)'" } ?? "the \(noun)"
    }

    /// The command that ends it.
    private var release: String {
        guard let name else { return "cachectl queue release --\(kind)" }
        let isPlain = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) }
        return "cachectl queue release --\(kind) \(isPlain ? name : name.shellWord)"
    }

    /// The same line, and what ends it.
    var note: String { "\(line): '\(release)' ends it" }

    /// `held: the lane 'images' since 2026-08-01T12:00:00Z (the server asked for it)`.
    var line: String {
        "held: \(title)\(since.map { " since \($0)" } ?? "")\(reason.map { " (\($0))" } ?? "")"
    }
}

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

    /// When it is sent, as far as it is known.
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
