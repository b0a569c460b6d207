import Foundation

/// The attempts of one request that have ended, and the counts that the next decision depends on.
///
/// Empty, and without an allocation, until an attempt was retried or could not be: a first attempt that succeeds has no
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

    /// Whether the next attempt needs a new connection to the server. It does after a 421, whose connection stays open.
    /// It also does directly after an attempt whose connection had ended, because other idle connections may have
    /// ended, too.
    var needsNewConnection: Bool { wasMisdirected || attempts.last?.reason?.code == .connectionClosed }

    /// Whether the server may have processed one of the attempts although no response confirms it.
    var serverMayHaveActed: Bool { attempts.contains(where: \.serverMayHaveActed) }

    /// Records an attempt, and the decision after it.
    ///
    /// - Parameter serverMayHaveActed: whether the server may have processed it; `nil` to derive that from the outcome.
    mutating func record(
        _ decision: RetryDecision, after outcome: Attempt.Outcome, serverMayHaveActed: Bool? = nil, startedAt: Date
    ) {
        var attempt = Attempt(number: attempts.count + 1, startedAt: startedAt, outcome: outcome)
        if let serverMayHaveActed { attempt.serverMayHaveActed = serverMayHaveActed }
        switch decision {
        case .retry(let delay, let isFree, let reason):
            attempt.delay = delay
            attempt.reason = reason
            count(reason, isFree: isFree)
        case .refreshCredential:
            attempt.delay = .zero
            attempt.reason = .credential
            hasRefreshed = true
        case .giveUp(let reason):
            attempt.reason = reason
        }
        attempts.append(attempt)
    }

    /// Notes that no attempt follows the last one, although another was decided.
    mutating func giveUp(_ reason: RetryReason) {
        guard let last = attempts.indices.last else { return }
        attempts[last].delay = nil
        attempts[last].reason = reason
    }

    /// Records an attempt that does not count, because another one that ran in parallel does.
    mutating func recordHedge(_ outcome: Attempt.Outcome, startedAt: Date) {
        attempts.append(
            Attempt(number: attempts.count + 1, startedAt: startedAt, outcome: outcome, reason: .hedged))
    }

    /// Records the attempt that has succeeded, if others were before it.
    mutating func recordSuccess(_ outcome: Attempt.Outcome, startedAt: Date) {
        guard !attempts.isEmpty else { return }
        attempts.append(Attempt(number: attempts.count + 1, startedAt: startedAt, outcome: outcome))
    }

    private mutating func count(_ reason: RetryReason, isFree: Bool) {
        // A restart is a failure neither of the server nor of the network.
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
