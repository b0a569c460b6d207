/// How often a request is sent again that failed, when, and for how long.
///
/// What is repeated at all is no matter of taste: what surely was not processed, and what does no harm a second time.
/// See <doc:Retrying> for the table.
///
/// ```swift
/// request.retry = .never
/// request.retry = .interactive
/// request.retry = RetryPolicy(attempts: 5, deadline: .seconds(60))
/// ```
///
/// Durations are kept in whole milliseconds, from none to a hundred years.
public struct RetryPolicy: Hashable, Sendable {
    /// Exchanges in all, the first included; 3 by default (*Site Reliability Engineering*, chapter 21). 1 repeats
    /// nothing. Up to 3 exchanges whose request surely was not processed do not count. From 1 to 1,000.
    public var attempts: Int { didSet { attempts = attempts.clamped } }
    /// The longest delay before the first repetition; 50 ms. It doubles from one to the next, and the delay is drawn
    /// between nothing and it: full jitter, which keeps clients from coming back together.
    public var baseDelay: Duration { didSet { baseDelay = baseDelay.bounded } }
    /// Takes the place of ``baseDelay`` after a 429; a second.
    public var throttledDelay: Duration { didSet { throttledDelay = throttledDelay.bounded } }
    /// What no delay exceeds of its own; 20 seconds.
    public var maxDelay: Duration { didSet { maxDelay = maxDelay.bounded } }
    /// How much longer than the drawn delay a `Retry-After` may make the wait; 5 seconds. A server that wants more gets
    /// no repetition: its answer is the answer.
    public var retryAfterLimit: Duration { didSet { retryAfterLimit = retryAfterLimit.bounded } }
    /// The longest time of one attempt, from its begin, ``Interceptor/adapt(_:attempt:)`` included, to the end of its
    /// body, or of its head where it is streamed or downloaded; `nil`, the default, sets none. What stands still on the
    /// wire, ``Request/timeout`` ends in any case. One that takes longer may be repeated, but where it is being adapted
    /// still the request ends with `timedOut`.
    public var attemptTimeout: Duration? { didSet { attemptTimeout = attemptTimeout?.bounded } }
    /// The longest time of all attempts, each as above, and of what is between them, a wait for a place on the wire
    /// included, over all hops where redirects are followed; `nil`, the default, sets none. No attempt begins whose delay
    /// ends after it. It begins with the first attempt: what waits for its place before that, in a lane that is paused for
    /// instance, may wait as long as it takes. Code of the app that the request waits for before it is sent is not waited
    /// for any longer either, also where it does not obey its cancellation.
    public var deadline: Duration? { didSet { deadline = deadline?.bounded } }
    /// How long after the begin of the first attempt another may begin; 30 seconds. Unlike ``deadline`` it begins anew where
    /// a redirect leads, and cuts nothing short: it keeps a caller who has waited long for the first attempt from waiting as
    /// long again. `nil` sets none.
    public var window: Duration? { didSet { window = window?.bounded } }
    /// How long an attempt may take before another begins beside it: the first that brings an answer counts, and the
    /// other is canceled (Dean and Barroso, *The Tail at Scale*, 2013). `nil`, the default, for none.
    ///
    /// Once for an exchange, for a safe method (RFC 9110 section 9.2.1) without a body, where a place on the wire is free
    /// at once and the budget for repetitions pays for it. At the 95th percentile of the times that answers take, a
    /// twentieth more is sent.
    public var hedgeDelay: Duration? { didSet { hedgeDelay = hedgeDelay?.bounded } }
    /// The statuses after which a request is sent again: 408, 425, 429, 500, 502, 503 and 504. Others than 400 to 599
    /// are left out, and 400, 401, 421 and 422 have rules of their own.
    public var statuses: Set<Int> { didSet { statuses = statuses.filter(Self.allowedStatuses.contains) } }
    /// Whether the app answers for it that a POST or PATCH acts once however often it arrives; `false`. A request with
    /// an `Idempotency-Key` need not say so.
    public var retriesUnsafeMethods: Bool

    /// Each as its property says.
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
    /// For what somebody waits for: 10 seconds an attempt, 30 in all.
    public static let interactive = RetryPolicy(attemptTimeout: .seconds(10), deadline: .seconds(30))

    /// Those of ``statuses`` when nothing is said.
    public static let defaultStatuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// The longest time that is left to an attempt; `nil` where nothing limits it.
    ///
    /// - Parameters:
    ///   - elapsed: since the first attempt began.
    ///   - spent: what it has taken of its time already.
    func attemptLimit(elapsed: @autoclosure () -> Duration, after spent: Duration = .zero) -> Duration? {
        let own = attemptTimeout.map { max(.zero, $0 - spent) }
        guard let deadline else { return own }
        let rest = max(.zero, deadline - elapsed())
        return min(own ?? rest, rest)
    }

    /// Since the first attempt began: from then on no other begins; `nil` where nothing says so.
    var lastBegin: Duration? { [deadline, window].compactMap(\.self).min() }

    static let allowedStatuses = 400..<600
    static let allowedAttempts = 1...1000
}

extension Int {
    fileprivate var clamped: Int { Swift.min(Swift.max(self, 1), RetryPolicy.allowedAttempts.upperBound) }
}
