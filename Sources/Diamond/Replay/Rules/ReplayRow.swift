public import Foundation

/// The part of a job that decides what becomes of it. A ``ReplayStorage`` reads it, changes it by one of its methods, and
/// writes it. No other code decides about jobs.
public struct ReplayRow: Hashable, Sendable {
    // Set when the job is added or edited.
    /// The job's number.
    public let id: Int64
    /// The request's method.
    public var method: String
    /// The identity on whose behalf the request is sent; `nil` for none.
    public var identity: String?
    /// The key whose jobs are sent in order; `nil` for none.
    public var orderingKey: String?
    /// Whether later jobs of the key wait even if this one is dead or in review.
    public var isStrict: Bool
    /// The name of the request's lane.
    public var lane: String
    /// Whether the request's method is idempotent.
    public var isIdempotent: Bool
    /// The time for which the server remembers the idempotency key, in milliseconds; `nil` if none is sent.
    public var keyLifetime: Int64?
    /// The time after which the job is not sent; `nil` for no limit.
    public var expiresAt: QueueTime?
    /// The number of ``attempts`` after which the job is dead.
    public var attemptLimit: Int
    /// The digest of its unique name; `nil` for none.
    public var uniqueKey: Data?
    /// The digest of the request (``digest(of:)``).
    public var digest: Int64
    /// The local id of the object that the job creates, as it is in its column; empty for none.
    public var creates: String

    // Changed by transitions.
    /// The job's state.
    public var state: ReplayState
    /// The reason for the state.
    public var reason: ReplayReason
    /// Whether the job is the head of its ordering key, or has no key.
    public var isHead: Bool
    /// Whether the job itself is held.
    public var isHeld: Bool
    /// The earliest time at which the job is sent.
    public var runAt: QueueTime
    /// The number of attempts that count.
    public var attempts: Int
    /// The fencing token: the number of claims and rescues.
    public var token: Int64
    /// The owner that runs the job; `nil` for none.
    public var owner: Int64?
    /// The start of the current attempt, or of the first attempt of the same run that may have been processed. After a
    /// pause, it is the start of the current attempt. `nil` before an attempt.
    public var sentAt: QueueTime?
    /// The start of the first attempt that may have been processed with an unknown outcome.
    public var unknownSince: QueueTime?
    /// The status of the last response; `nil` for none.
    public var status: Int?
    /// Whether an attempt before the job was redriven may have been processed. If so, the request may be sent again,
    /// but not edited, because a server may know it.
    public var serverMayHaveActed: Bool
    /// Whether an earlier attempt could not decode the request. It is not stored: ``finish(_:at:wasUndecodable:)`` sets
    /// it for its decision.
    var wasUndecodable = false

    /// Creates a row to be filled with its stored values: a held job that was never sent.
    public init(id: Int64) {
        self.id = id
        method = ""
        isStrict = false
        lane = Lane.default.name
        isIdempotent = false
        attemptLimit = ReplayPolicy.allowedAttempts.lowerBound
        digest = 0
        creates = ""
        state = .held
        reason = .held
        isHead = false
        isHeld = false
        runAt = QueueTime(rawValue: 0)
        attempts = 0
        token = 0
        serverMayHaveActed = false
    }

    /// The range of numbers that can be added without overflow. Numbers of a damaged row are limited to it.
    static let sensible: ClosedRange<Int64> = -(1 << 53)...1 << 53

    /// Gives the job a new token. An owner with an older token has lost the job.
    mutating func renewToken() { token = min(token + 1, Self.sensible.upperBound) }

    /// Whether a server may know the request. If so, the request is not changed: the server would take the change for a
    /// repetition.
    public var mayBeKnown: Bool { unknownSince != nil || serverMayHaveActed }

    /// Whether a second request could do harm, and no idempotency key prevents it.
    var mustNotRepeat: Bool { !isIdempotent && keyLifetime == nil }

    /// Whether the job waits for the ids of objects that other jobs create.
    public var awaitsIDs: Bool { state == .held && (reason == .awaitingID || reason == .creationFailed) }

    /// Whether the row was found damaged before.
    var isMarkedDamaged: Bool { state == .needsReview && reason == .damaged }

    /// Whether the job has expired before it was sent, and no transition has ended it yet.
    package func isExpired(at now: QueueTime) -> Bool {
        guard let expiresAt, expiresAt <= now else { return false }
        return state != .running && !state.isEnd
    }

    /// Whether the job was discarded.
    var isDiscarded: Bool { state == .done && reason == .discarded }

    /// Whether later jobs of its ordering key have to wait for it.
    public var isInLine: Bool { orderingKey != nil && (!state.isEnd || (isStrict && state != .done)) }

    /// Returns the reason for a review, if the request may have been processed and a second one could do harm; `nil` if
    /// it may be sent again.
    public func reviewReason(at now: QueueTime) -> ReplayReason? {
        guard let unknownSince, !isIdempotent else { return nil }
        return Self.reviewReason(of: unknownSince, keyLifetime: keyLifetime, at: now)
    }

    /// Returns the reason for a review of a request that is not idempotent; `nil` if it may be sent again.
    static func reviewReason(of unknownSince: QueueTime, keyLifetime: Int64?, at now: QueueTime) -> ReplayReason? {
        guard let keyLifetime else { return .outcomeUnknown }
        return now.milliseconds(since: unknownSince) > keyLifetime ? .keyExpired : nil
    }
}
