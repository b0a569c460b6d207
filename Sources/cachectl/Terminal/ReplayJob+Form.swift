#if Tools
import Diamond
import Foundation

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
