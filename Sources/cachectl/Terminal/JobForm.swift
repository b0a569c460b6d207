#if Tools
import Diamond
import Foundation

/// A job with all its properties, for `--json` and for `queue export`.
struct JobForm: Encodable {
    var id: Int64
    var state: String
    var reason: String
    var method: String
    var url: String
    var host: String
    var identity: String?
    var orderingKey: String?
    /// The order within the ordering key. Absent without one.
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
    /// The jobs that create the objects whose ids the job waits for. Absent if it waits for none.
    var awaitedJobs: [Int64]?

    init(_ job: ReplayJob) {
        id = job.id
        state = job.state.description
        reason = job.reason.description
        method = job.method
        url = job.url
        host = job.host
        identity = job.identity
        orderingKey = job.orderingKey
        order = job.orderingKey.map { _ in job.order.rawValue }
        isHead = job.isHead
        priority = job.priority
        lane = job.lane
        kind = job.kind
        tags = job.tags
        metadata = job.metadata
        enqueuedAt = Self.time(job.enqueuedAt)
        changedAt = Self.time(job.changedAt)
        runAt = Self.time(job.runAt)
        expiresAt = job.expiresAt.map(Self.time)
        attempts = job.attempts
        attemptLimit = job.attemptLimit
        sentAt = job.sentAt.map(Self.time)
        unknownSince = job.unknownSince.map(Self.time)
        idempotencyKey = job.idempotencyKey
        status = job.status
        awaitedJobs = job.awaitedJobs.isEmpty ? nil : job.awaitedJobs
    }

    /// Returns a time with its milliseconds, as it is stored: an import keeps it.
    private static func time(_ date: Date) -> String { InternetTime.text(date) ?? Quantity.instant(date) }
}
#endif
