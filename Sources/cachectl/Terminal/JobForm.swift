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
#endif
