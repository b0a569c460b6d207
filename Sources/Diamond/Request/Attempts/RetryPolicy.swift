/// The rules for sending a failed request again: how often, when, and for how long.
///
/// Whatever the policy, only two kinds of request are repeated: those that were certainly not processed, and those that
/// are safe to repeat. See <doc:Retrying> for the table.
///
/// ```swift
/// request.retry = .never
/// request.retry = .interactive
/// request.retry = RetryPolicy(attempts: 5, deadline: .seconds(60), window: nil)
/// ```
///
/// Durations are rounded to whole milliseconds and limited to 0 to 100 years.
public struct RetryPolicy: Hashable, Sendable {
    /// The number of attempts in all, the first included; 3 by default (*Site Reliability Engineering*, chapter 21). 1
    /// means no retries. Up to 3 attempts that were certainly not processed do not count. From 1 to 1,000.
    public var attempts: Int { didSet { attempts = attempts.clamped } }
    /// The longest delay before the first repetition; 50 ms. It doubles with each repetition. The actual delay is
    /// random between zero and this value (full jitter), so that clients do not retry in step.
    public var baseDelay: Duration { didSet { baseDelay = baseDelay.bounded } }
    /// The replacement for ``baseDelay`` after a 429; 1 second.
    public var throttledDelay = Duration.seconds(1) { didSet { throttledDelay = throttledDelay.bounded } }
    /// The upper limit of the random delay; 20 seconds.
    public var maxDelay = Duration.seconds(20) { didSet { maxDelay = maxDelay.bounded } }
    /// The longest time by which `Retry-After` may exceed the random delay; 5 seconds. If the server asks for more, the
    /// request is not repeated and the caller gets the server's response.
    public var retryAfterLimit = Duration.seconds(5) { didSet { retryAfterLimit = retryAfterLimit.bounded } }
    /// The longest time of one attempt; `nil`, the default, sets none. It begins with
    /// ``Interceptor/adapt(_:attempt:)``, and ends with the body, or with the head if the body is streamed or
    /// downloaded. ``Request/timeout`` applies as well. An attempt that exceeds the limit may be repeated. If it is
    /// still being adapted, the request fails with `timedOut`.
    public var attemptTimeout: Duration? { didSet { attemptTimeout = attemptTimeout?.bounded } }
    /// The longest time for all attempts and the waits between them; `nil`, the default, sets none. It includes waits
    /// for a permit of the lane, and all hops if redirects are followed. No attempt starts if its delay ends after the
    /// deadline. The time starts with the first attempt: an earlier wait, such as in a paused lane, is not limited. The
    /// request does not wait longer for app code that runs before it is sent, even if that code ignores its
    /// cancellation.
    public var deadline: Duration? { didSet { deadline = deadline?.bounded } }
    /// The time after the start of the first attempt in which another may begin; 30 seconds. `nil` sets no limit.
    /// Unlike ``deadline``, it restarts at each redirect and ends no attempt early. A caller whose first attempt took
    /// long does not wait as long again.
    public var window: Duration? { didSet { window = window?.bounded } }
    /// The time after which a second attempt starts in parallel with a running one (hedging); `nil`, the default,
    /// disables it. The first response counts, and the other attempt is canceled (Dean and Barroso, *The Tail at
    /// Scale*, 2013).
    ///
    /// An exchange is hedged once, and only for a safe method (RFC 9110 section 9.2.1) without a body. The lane must
    /// have a free permit at once, and the retry budget must pay for the attempt. A delay at the 95th percentile of
    /// response times sends 5 % more requests.
    public var hedgeDelay: Duration? { didSet { hedgeDelay = hedgeDelay?.bounded } }
    /// The statuses after which a request is sent again: 408, 425, 429, 500, 502, 503 and 504 by default. Statuses
    /// outside 400 to 599 are dropped. 400, 401, 421 and 422 have rules of their own.
    public var statuses: Set<Int> { didSet { statuses = statuses.filter(Self.allowedStatuses.contains) } }
    /// Whether POST and PATCH are repeated like idempotent methods, because the app guarantees that a repeated request
    /// acts once; `false`. A request with an `Idempotency-Key` does not need this.
    public var retriesUnsafeMethods: Bool

    /// Creates a policy. Each argument has the default of its property. ``throttledDelay``, ``maxDelay`` and
    /// ``retryAfterLimit``, which are rarely set, are no arguments.
    public init(
        attempts: Int = 3,
        baseDelay: Duration = .milliseconds(50),
        attemptTimeout: Duration? = nil,
        deadline: Duration? = nil,
        window: Duration? = .seconds(30),
        hedgeDelay: Duration? = nil,
        statuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504],
        retriesUnsafeMethods: Bool = false
    ) {
        self.attempts = attempts.clamped
        self.baseDelay = baseDelay.bounded
        self.attemptTimeout = attemptTimeout?.bounded
        self.deadline = deadline?.bounded
        self.window = window?.bounded
        self.hedgeDelay = hedgeDelay?.bounded
        self.statuses = statuses.filter(Self.allowedStatuses.contains)
        self.retriesUnsafeMethods = retriesUnsafeMethods
    }

    /// The default policy: three attempts, without a limit on a transfer that makes progress.
    public static let `default` = RetryPolicy()
    /// The policy without retries: one attempt.
    public static let never = RetryPolicy(attempts: 1)
    /// The policy for a request that a user waits for: 10 seconds for each attempt, 30 in all.
    public static let interactive = RetryPolicy(attemptTimeout: .seconds(10), deadline: .seconds(30))

    /// Returns the time limit of an attempt; `nil` for no limit.
    ///
    /// - Parameters:
    ///   - elapsed: the time since the start of the first attempt.
    ///   - spent: the time that the attempt has used already.
    func attemptLimit(elapsed: @autoclosure () -> Duration, after spent: Duration = .zero) -> Duration? {
        let own = attemptTimeout.map { max(.zero, $0 - spent) }
        guard let deadline else { return own }
        let rest = max(.zero, deadline - elapsed())
        return min(own ?? rest, rest)
    }

    /// The time after the start of the first attempt from which no other may start; `nil` for no limit.
    var lastStart: Duration? { [deadline, window].compactMap(\.self).min() }

    static let allowedStatuses = 400..<600
    static let allowedAttempts = 1...1000
}

extension Int {
    fileprivate var clamped: Int { Swift.min(Swift.max(self, 1), RetryPolicy.allowedAttempts.upperBound) }
}
