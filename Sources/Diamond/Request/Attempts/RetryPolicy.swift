/// The rules for sending a failed request again: how often, when, and for how long.
///
/// Whatever the policy, only two kinds of request are repeated: one that surely was not processed, and one that does no
/// harm a second time. See <doc:Retrying> for the table.
///
/// ```swift
/// request.retry = .never
/// request.retry = .interactive
/// request.retry = RetryPolicy(attempts: 5, deadline: .seconds(60))
/// ```
///
/// Durations are kept in whole milliseconds, from none to a hundred years.
public struct RetryPolicy: Hashable, Sendable {
    /// The number of exchanges in all, the first included; 3 by default (*Site Reliability Engineering*, chapter 21). 1
    /// repeats nothing. Up to 3 exchanges whose request surely was not processed do not count. From 1 to 1,000.
    public var attempts: Int { didSet { attempts = attempts.clamped } }
    /// The longest delay before the first repetition; 50 ms. It doubles with each repetition. The delay is drawn
    /// between zero and it: full jitter, which keeps clients from coming back together.
    public var baseDelay: Duration { didSet { baseDelay = baseDelay.bounded } }
    /// The value that takes the place of ``baseDelay`` after a 429; a second.
    public var throttledDelay: Duration { didSet { throttledDelay = throttledDelay.bounded } }
    /// The longest delay that the policy draws; 20 seconds.
    public var maxDelay: Duration { didSet { maxDelay = maxDelay.bounded } }
    /// The longest time by which a `Retry-After` may exceed the drawn delay; 5 seconds. If the server asks for more,
    /// the request is not repeated, and the server's answer is the answer.
    public var retryAfterLimit: Duration { didSet { retryAfterLimit = retryAfterLimit.bounded } }
    /// The longest time of one attempt; `nil`, the default, sets none. It begins with the attempt,
    /// ``Interceptor/adapt(_:attempt:)`` included. It ends with the body, or with the head if the body is streamed or
    /// downloaded. ``Request/timeout`` ends an exchange without progress on the wire in any case. An attempt that takes
    /// longer may be repeated. If it is still being adapted, the request ends with `timedOut` instead.
    public var attemptTimeout: Duration? { didSet { attemptTimeout = attemptTimeout?.bounded } }
    /// The longest time of all attempts, each as above, and of the waits between them; `nil`, the default, sets none.
    /// It includes waits for a place on the wire, and all hops if redirects are followed. No attempt begins whose delay
    /// ends after it. It begins with the first attempt: a wait for a place before that, such as in a paused lane, may
    /// take as long as it takes. The request does not wait longer for code of the app that runs before it is sent, even
    /// if that code ignores its cancellation.
    public var deadline: Duration? { didSet { deadline = deadline?.bounded } }
    /// The longest time after the start of the first attempt at which another may begin; 30 seconds. `nil` sets none.
    /// Unlike ``deadline`` it starts again at each redirect, and cuts nothing short. A caller who has waited long for
    /// the first attempt does not wait as long again.
    public var window: Duration? { didSet { window = window?.bounded } }
    /// The time after which a second attempt begins in parallel with one that is still under way; `nil`, the default,
    /// for none. The first that brings an answer counts, and the other is canceled (Dean and Barroso, *The Tail at
    /// Scale*, 2013).
    ///
    /// It happens once for an exchange, for a safe method (RFC 9110 section 9.2.1) without a body. A place on the wire
    /// has to be free at once, and the budget for repetitions has to pay for it. At the 95th percentile of the times
    /// that answers take, a twentieth more is sent.
    public var hedgeDelay: Duration? { didSet { hedgeDelay = hedgeDelay?.bounded } }
    /// The statuses after which a request is sent again: 408, 425, 429, 500, 502, 503 and 504 by default. Statuses
    /// outside of 400 to 599 are left out. 400, 401, 421 and 422 have rules of their own.
    public var statuses: Set<Int> { didSet { statuses = statuses.filter(Self.allowedStatuses.contains) } }
    /// Whether the app guarantees that a POST or PATCH acts once, however often it arrives; `false`. A request with an
    /// `Idempotency-Key` need not say so.
    public var retriesUnsafeMethods: Bool

    /// Creates a policy. Each argument has the default of its property.
    public init(
        attempts: Int = 3,
        baseDelay: Duration = .milliseconds(50),
        throttledDelay: Duration = .seconds(1),
        maxDelay: Duration = .seconds(20),
        retryAfterLimit: Duration = .seconds(5),
        attemptTimeout: Duration? = nil,
        deadline: Duration? = nil,
        window: Duration? = .seconds(30),
        hedgeDelay: Duration? = nil,
        statuses: Set<Int> = defaultStatuses,
        retriesUnsafeMethods: Bool = false
    ) {
        self.attempts = attempts.clamped
        self.baseDelay = baseDelay.bounded
        self.throttledDelay = throttledDelay.bounded
        self.maxDelay = maxDelay.bounded
        self.retryAfterLimit = retryAfterLimit.bounded
        self.attemptTimeout = attemptTimeout?.bounded
        self.deadline = deadline?.bounded
        self.window = window?.bounded
        self.hedgeDelay = hedgeDelay?.bounded
        self.statuses = statuses.filter(Self.allowedStatuses.contains)
        self.retriesUnsafeMethods = retriesUnsafeMethods
    }

    /// Three attempts, without a limit on a transfer that goes on.
    public static let `default` = RetryPolicy()
    /// One attempt.
    public static let never = RetryPolicy(attempts: 1)
    /// The policy for a request that a person waits for: 10 seconds for an attempt, 30 in all.
    public static let interactive = RetryPolicy(attemptTimeout: .seconds(10), deadline: .seconds(30))

    /// The default of ``statuses``.
    public static let defaultStatuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// Returns the longest time that is left to an attempt; `nil` if nothing limits it.
    ///
    /// - Parameters:
    ///   - elapsed: the time since the first attempt began.
    ///   - spent: the part of its time that the attempt has taken already.
    func attemptLimit(elapsed: @autoclosure () -> Duration, after spent: Duration = .zero) -> Duration? {
        let own = attemptTimeout.map { max(.zero, $0 - spent) }
        guard let deadline else { return own }
        let rest = max(.zero, deadline - elapsed())
        return min(own ?? rest, rest)
    }

    /// The time after the start of the first attempt from which no other begins; `nil` for no limit.
    var lastBegin: Duration? { [deadline, window].compactMap(\.self).min() }

    static let allowedStatuses = 400..<600
    static let allowedAttempts = 1...1000
}

extension Int {
    fileprivate var clamped: Int { Swift.min(Swift.max(self, 1), RetryPolicy.allowedAttempts.upperBound) }
}
