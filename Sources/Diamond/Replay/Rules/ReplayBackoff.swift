import Foundation

/// The wait of a job after a failed attempt: exponential, with random jitter of up to half.
///
/// The wait is `U(0.5, 1) · min(1 h, 2 s · 2ⁿ⁻¹)` after the n-th attempt that counts. The cap is reached at the
/// twelfth, and 20 attempts take some 5 to 9 hours. Half of the wait is fixed, because no caller waits, and a server
/// that is down should get few requests. The backoff of ``RetryPolicy``, for waiting callers, is random as a whole.
enum ReplayBackoff {
    static let base = Duration.seconds(2)
    static let cap = Duration.seconds(3600)
    /// The wait of a job while the network is unreachable, if its return is not reported.
    static let offline = Duration.seconds(60)
    /// The longest wait accepted from a server.
    static let longestPushBack = Duration.seconds(86_400)
    /// The longest wait that the rules set, in milliseconds.
    static let longestWait = delay(pushedBack: longestPushBack, draw: 1)

    /// Returns the wait after an attempt, in milliseconds.
    ///
    /// - Parameters:
    ///   - attempt: the number of attempts that count, from 1 on.
    ///   - draw: a random number from 0 up to 1.
    static func delay(after attempt: Int, draw: Double) -> Int64 {
        let exponent = Double(min(max(attempt, 1), 32) - 1)
        let whole = min(Double(cap.milliseconds), Double(base.milliseconds) * pow(2, exponent))
        return Int64(whole * (0.5 + min(max(draw, 0), 1) / 2))
    }

    /// Returns the wait that the server asks for, and up to a tenth more, in milliseconds, so that clients that were
    /// refused together do not return together.
    static func delay(pushedBack pushBack: Duration, draw: Double) -> Int64 {
        let whole = Double(min(pushBack, longestPushBack).milliseconds)
        return Int64(whole * (1 + min(max(draw, 0), 1) / 10))
    }
}
