#if Tools
import Diamond
import Foundation

/// The number of jobs in each state, as JSON and as text.
struct CountsForm: Encodable {
    private var counts: [ReplayState: Int]

    init(_ counts: [ReplayState: Int]) { self.counts = counts }

    func encode(to encoder: any Encoder) throws {
        let named = ReplayState.allCases.map { ($0.description, counts[$0] ?? 0) }
        try Dictionary(uniqueKeysWithValues: named).encode(to: encoder)
    }

    /// The states that have jobs: `2 ready, 1 done`.
    var text: String {
        let parts = ReplayState.allCases.compactMap { state in
            counts[state].flatMap { $0 > 0 ? "\($0) \(state)" : nil }
        }
        return parts.isEmpty ? "no jobs" : parts.joined(separator: ", ")
    }
}

/// A hold, as JSON and as text.
struct HoldForm: Encodable {
    /// `engine`, `queue`, `key`, `identity` or `lane`.
    var kind: String
    /// The name of the key, identity or lane. Absent for `engine` and `queue`.
    var name: String?
    var reason: String?
    var since: String?

    init(_ hold: ReplayHold) {
        kind = hold.kind
        name = hold.isWhole ? nil : hold.name
    }

    init(_ active: ReplayQueue.ActiveHold) {
        self.init(active.hold)
        reason = active.reason.isEmpty ? nil : active.reason
        since = Quantity.instant(active.since)
    }

    /// `the ordering key 'cart-7'`.
    var title: String {
        let noun = ["key": "ordering key", "engine": "store's engines"][kind] ?? kind
        return name.map { "the \(noun) '\($0)'" } ?? "the \(noun)"
    }

    /// Returns the command that ends the hold.
    private func releaseCommand(_ options: String) -> String {
        let option = kind == "queue" ? "whole" : kind
        return "cachectl queue release --\(option)\(name.map { "=\($0.shellArgument)" } ?? "")\(options)"
    }

    /// Returns ``line`` and the command that ends the hold.
    ///
    /// - Parameter options: The options of the command, each after a space.
    func note(options: String) -> String { "\(line): '\(releaseCommand(options))' ends it" }

    /// `held: the lane 'images' since 2026-08-01T12:00:00Z (the server asked for it)`.
    var line: String {
        "held: \(title)\(since.map { " since \($0)" } ?? "")\(reason.map { " (\($0))" } ?? "")"
    }
}

extension ReplayJob {
    /// The job in the JSON of a command.
    var form: JSONObject {
        [
            "id": id, "state": state.description, "reason": reason.description, "method": method, "url": url,
            "host": host, "identity": identity, "orderingKey": orderingKey,
            // Absent without an ordering key.
            "order": orderingKey.map { _ in order.rawValue },
            "isHead": isHead, "priority": priority, "lane": lane, "kind": kind, "tags": tags, "metadata": metadata,
            "enqueuedAt": Self.time(enqueuedAt), "changedAt": Self.time(changedAt), "runAt": Self.time(runAt),
            "expiresAt": expiresAt.map(Self.time), "attempts": attempts, "attemptLimit": attemptLimit,
            "sentAt": sentAt.map(Self.time), "unknownSince": unknownSince.map(Self.time),
            "idempotencyKey": idempotencyKey, "status": status, "awaitedJobs": awaitedJobs.isEmpty ? nil : awaitedJobs,
        ]
    }

    /// Returns a time with its milliseconds, as it is stored: an import keeps it.
    private static func time(_ date: Date) -> String { InternetTime.text(date) ?? Quantity.instant(date) }
}
#endif
