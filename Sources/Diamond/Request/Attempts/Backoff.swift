import Foundation

/// The delay before a request is sent again: exponential, with full jitter.
///
/// The delay is `draw · min(cap, base · 2^exponent)`, with a draw from 0 up to 1 (Brooker, "Exponential Backoff And
/// Jitter", AWS Architecture Blog 2015): clients that failed together do not come back together.
package struct Backoff: Hashable, Sendable {
    /// Milliseconds.
    private let base: Double
    private let cap: Double

    package init(base: Duration, cap: Duration) {
        self.base = Double(base.milliseconds)
        self.cap = Double(cap.milliseconds)
    }

    /// - Parameter isThrottled: whether the server wants fewer requests, and the longer base counts.
    init(_ policy: RetryPolicy, isThrottled: Bool = false) {
        self.init(base: isThrottled ? policy.throttledDelay : policy.baseDelay, cap: policy.maxDelay)
    }

    /// Returns the delay before a repetition.
    ///
    /// - Parameters:
    ///   - exponent: 0 for the first repetition.
    ///   - draw: a random number from 0 up to 1.
    package func delay(_ exponent: Int, draw: Double) -> Duration {
        .milliseconds(min(max(draw, 0), 1) * highest(exponent))
    }

    private func highest(_ exponent: Int) -> Double { min(cap, base * pow(2, Double(min(max(exponent, 0), 64)))) }
}
