import Foundation

/// The changing part of a job, with the values that decide the changes. The rules compute it, and ``ReplayTable`` reads
/// and writes it.
struct ReplayRow: Hashable, Sendable {
    // Set when the job is added or edited.
    let id: Int64
    let method: String
    let identity: String?
    let orderingKey: String?
    let isStrict: Bool
    let lane: String
    let isIdempotent: Bool
    let keyLifetime: Int64?
    var expiresAt: QueueTime?
    let attemptLimit: Int
    var uniqueKey: Data?
    /// The digest of the request (``digest(of:)``).
    var digest: Int64 = 0
    /// The local id of the object that the job creates, as it is in its column; empty for none.
    var creates = ""

    // Changed by transitions.
    var state: ReplayState
    var reason: ReplayReason
    var isHead: Bool
    var isHeld: Bool
    var runAt: QueueTime
    var attempts: Int
    /// The number of claims and rescues.
    var token: Int64
    /// The owner that runs the job; `nil` for none.
    var owner: Int64?
    /// The start of the current attempt, or of the first attempt of the same run that may have been processed. After a
    /// pause, it is the start of the current attempt. `nil` before an attempt.
    var sentAt: QueueTime?
    /// The start of the first attempt that may have been processed with an unknown outcome.
    var unknownSince: QueueTime?
    var status: Int?
    /// Whether an attempt before the job was redriven may have been processed. If so, the request may be sent again,
    /// but not edited, because a server may know it.
    var serverMayHaveActed = false
    /// Whether an earlier attempt could not decode the request. It is `false` until `ReplayTable.finish` sets it for
    /// the decision about a request that cannot be decoded.
    var wasUndecodable = false

    /// The range of numbers that can be added without overflow. Numbers of a damaged row are limited to it.
    static let sensible: ClosedRange<Int64> = -(1 << 53)...1 << 53

    /// Gives the job a new token. An owner with an older token has lost the job.
    mutating func renewToken() { token = min(token + 1, Self.sensible.upperBound) }

    /// Whether a server may know the request. If so, the request is not changed: the server would take the change for a
    /// repetition.
    var mayBeKnown: Bool { unknownSince != nil || serverMayHaveActed }

    /// Whether a second request could do harm, and no idempotency key prevents it.
    var mustNotRepeat: Bool { !isIdempotent && keyLifetime == nil }

    /// Whether the job waits for the ids of objects that other jobs create.
    var awaitsIDs: Bool { state == .held && (reason == .awaitingID || reason == .creationFailed) }

    /// Whether the row was found damaged before.
    var isMarkedDamaged: Bool { state == .needsReview && reason == .damaged }

    /// Whether the job was discarded.
    var isDiscarded: Bool { state == .done && reason == .discarded }

    /// Whether later jobs of its ordering key have to wait for it.
    var isInLine: Bool { orderingKey != nil && (!state.isEnd || (isStrict && state != .done)) }

    /// Returns the reason for a review, if the request may have been processed and a second one could do harm; `nil` if
    /// it may be sent again.
    func reviewReason(at now: QueueTime) -> ReplayReason? {
        guard let unknownSince, !isIdempotent else { return nil }
        return Self.reviewReason(of: unknownSince, keyLifetime: keyLifetime, at: now)
    }

    /// Returns the reason for a review of a request that is not idempotent; `nil` if it may be sent again.
    static func reviewReason(of unknownSince: QueueTime, keyLifetime: Int64?, at now: QueueTime) -> ReplayReason? {
        guard let keyLifetime else { return .outcomeUnknown }
        return now.milliseconds(since: unknownSince) > keyLifetime ? .keyExpired : nil
    }
}
