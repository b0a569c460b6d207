import Foundation

/// The attempts of one request that have ended, and what of them counts for the next decision.
///
/// Empty, and without an allocation, as long as nothing was sent again: an answer to the first attempt carries no
/// history.
struct RetryHistory: Hashable, Sendable {
    private(set) var attempts: [Attempt] = []
    /// The number of attempts that count for ``RetryPolicy/attempts``.
    var counted = 0
    /// The number of attempts that do not count, because the request was certainly not processed.
    var free = 0
    /// The exponent of the next delay. It grows with each delay, and starts again at zero after the server has named
    /// the time (gRPC A6).
    var exponent = 0
    /// Whether a 421 was answered with another attempt.
    var wasMisdirected = false
    /// Whether the credential was refreshed.
    var hasRefreshed = false
    /// Whether a connection that ended early was answered with another attempt.
    var hasLostConnection = false

    /// Whether a kept connection would not do for the next attempt: from a 421 on, whose connection is kept as well, and
    /// at once after one that had ended, because others that were kept as long may have ended, too.
    var needsNewConnection: Bool { wasMisdirected || attempts.last?.reason?.code == .connectionClosed }

    /// Whether one of them may have been processed without anybody knowing.
    var mayHaveArrived: Bool { attempts.contains(where: \.mayHaveArrived) }

    /// Keeps an attempt and what was decided after it.
    ///
    /// - Parameter mayHaveArrived: `nil` for what the outcome says itself.
    mutating func record(
        _ decision: RetryDecision, after outcome: Attempt.Outcome, mayHaveArrived: Bool? = nil, startedAt: Date
    ) {
        var attempt = Attempt(number: attempts.count + 1, startedAt: startedAt, outcome: outcome)
        if let mayHaveArrived { attempt.mayHaveArrived = mayHaveArrived }
        switch decision {
        case .retry(let delay, let isFree, let reason):
            (attempt.delay, attempt.reason) = (delay, reason)
            count(reason, isFree)
        case .refreshCredential:
            (attempt.delay, attempt.reason) = (.zero, .credential)
            hasRefreshed = true
        case .giveUp(let reason):
            attempt.reason = reason
        }
        attempts.append(attempt)
    }

    /// Notes that nothing follows the last attempt, although another was due.
    mutating func giveUp(_ reason: RetryReason) {
        guard let last = attempts.indices.last else { return }
        (attempts[last].delay, attempts[last].reason) = (nil, reason)
    }

    /// Records an attempt that does not count, because another that ran in parallel does.
    mutating func recordHedge(_ outcome: Attempt.Outcome, startedAt: Date) {
        attempts.append(
            Attempt(number: attempts.count + 1, startedAt: startedAt, outcome: outcome, reason: .hedged))
    }

    /// Keeps the attempt that brought what was asked for, where others were before it.
    mutating func recordSuccess(_ outcome: Attempt.Outcome, startedAt: Date) {
        guard !attempts.isEmpty else { return }
        attempts.append(Attempt(number: attempts.count + 1, startedAt: startedAt, outcome: outcome))
    }

    private mutating func count(_ reason: RetryReason, _ isFree: Bool) {
        // Neither the server's failure nor the network's.
        guard reason.code != .restarted else { return }
        if isFree { free += 1 } else { counted += 1 }
        switch reason.code {
        case .misdirected: wasMisdirected = true
        case .connectionClosed: hasLostConnection = true
        case .retryAfter: exponent = 0
        default: exponent += 1
        }
    }
}
