import Foundation

/// What of a job changes, with what decides how: a value that rules compute and ``ReplayTable`` reads and writes.
struct ReplayRow: Hashable, Sendable {
    // What stays.
    let id: Int64
    let method: String
    let identity: String?
    let orderingKey: String?
    let isStrict: Bool
    let lane: String
    let isIdempotent: Bool
    let keyLifetime: Int64?
    var expiresAt: Int64?
    let attemptLimit: Int
    var uniqueKey: Data?
    /// Of its request (``digest(of:)``).
    var digest: Int64 = 0

    // What changes; times in milliseconds.
    var state: ReplayState
    var reason: ReplayReason
    var isHead: Bool
    var isHeld: Bool
    var runAt: Int64
    var attempts: Int
    /// Counts claims and rescues.
    var token: Int64
    /// Who runs it.
    var owner: Int64?
    /// When what goes on began: of several attempts, the first that may have been processed.
    var sentAt: Int64?
    /// The first attempt that may have been processed unseen.
    var unknownAt: Int64?
    var status: Int?
    /// Whether one before it was redriven may have been processed: whoever has redriven it answers for that, but what is changed
    /// is still no request that nobody has seen.
    var mayHaveActed = false
    /// Whether a program could not read its request before. Looked up where it matters.
    var wasUndecodable = false

    /// What numbers can be counted on with, whatever a damaged row says.
    static let sensible: ClosedRange<Int64> = -(1 << 53)...1 << 53

    /// Who has an older one has lost the job.
    mutating func renewToken() { token = min(token + 1, Self.sensible.upperBound) }

    /// Whether a server may know the request: then it is not changed, which would be taken for a repetition.
    var mayBeKnown: Bool { unknownAt != nil || mayHaveActed }

    /// Whether a second time could do harm, and no key keeps it from that.
    var mustNotRepeat: Bool { !isIdempotent && keyLifetime == nil }

    /// Whether it was found to be damaged.
    var isSetAside: Bool { state == .needsReview && reason == .damaged }

    /// Whether somebody has given it up.
    var isGivenUp: Bool { state == .done && reason == .discarded }

    /// Whether it stands in the line of its ordering key.
    var isInLine: Bool { orderingKey != nil && (!state.isEnd || (isStrict && state != .done)) }

    /// Whether it must not be sent again because nobody knows whether it was processed, and a second time could do harm.
    func reviewReason(at now: Int64) -> ReplayReason? {
        guard let unknownAt, !isIdempotent else { return nil }
        return Self.reviewReason(of: unknownAt, keyLifetime: keyLifetime, at: now)
    }

    /// The same of a request that is not idempotent.
    static func reviewReason(of unknownAt: Int64, keyLifetime: Int64?, at now: Int64) -> ReplayReason? {
        guard let keyLifetime else { return .outcomeUnknown }
        return now - unknownAt > keyLifetime ? .keyExpired : nil
    }
}
