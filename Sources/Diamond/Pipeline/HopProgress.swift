/// Decides what a hop does after each exchange and each failure to read what is stored, as a value.
///
/// | end of an exchange | next |
/// |---|---|
/// | response, failure | settle |
/// | timed out for earlier callers, before this caller's own deadline; once | look up again, until that deadline |
/// | dismissed: the response is for another caller alone | look up again, and ask alone |
/// | superseded by a stored response; once | look up again |
/// | confirmed a stored response that cannot be read | look up again, without it |
struct HopProgress: Sendable {
    /// The next step of a hop.
    indirect enum Next {
        case lookUpAgain
        case settle(Result<Response, ConnectionError>)
    }

    /// The time that is left to a caller that joined an exchange late, when the exchange has timed out.
    struct Extension: Sendable {
        /// The caller's own deadline, by the exchange clock.
        let deadline: Int64
        /// The error when that has passed.
        let error: ConnectionError
        /// The start of the caller's time.
        let begin: Int64
    }

    /// Less is no time to ask in.
    private static let leastExtension: Int64 = 100

    /// Whether an exchange is not shared.
    private(set) var isAlone = false
    /// Whether what is stored cannot be read, and counts for nothing.
    private(set) var ignoresStored = false
    /// Whether a miss was counted.
    private(set) var hasMissed = false
    /// Whether an exchange may still be superseded by what was stored meanwhile. Once: what is in memory may be newer than what
    /// a look-up finds.
    private(set) var maySupersede = true
    private var boxed = IndirectOptional<Extension>.none
    /// The start of the request's time; `nil` where it starts with the next exchange.
    private(set) var begin: Int64?

    /// - Parameter begin: the start of the request's time, where a hop before has started it.
    init(begin: Int64?) { self.begin = begin }

    /// The time that is left after an exchange that has timed out for others.
    var late: Extension? { boxed.value }

    /// The start of the request's time, for the next hop.
    ///
    /// - Parameter exchange: the start that the last exchange has counted from; `nil` where nothing limits the whole time.
    func begin(after exchange: Int64?) -> Int64? { begin ?? late?.begin ?? exchange }

    /// Notes that the stored response could not be read, before any part of it was handed out.
    mutating func noteUnreadable(_ error: CacheError) {
        // Where another has taken its place meanwhile, that is found.
        if error.code != .entryGone { ignoresStored = true }
    }

    /// - Parameters:
    ///   - now: the time now, by the exchange clock.
    ///   - isTimed: whether the policy limits the time of an attempt, or the whole.
    ///   - hasDeadline: whether it limits the whole.
    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    mutating func next(after outcome: ExchangeOutcome, now: Int64, isTimed: Bool, hasDeadline: Bool) -> Next {
        switch outcome.ending {
        case .response(let response): return .settle(.success(response))
        case .failure(let error):
            guard error.code == .timedOut, isTimed, late == nil, outcome.lateness >= Self.leastExtension else {
                return .settle(.failure(error))
            }
            boxed = .some(Extension(deadline: now + outcome.lateness, error: error, begin: outcome.begin ?? now))
        case .unreadable(let error):
            noteUnreadable(error)
            begin = begin ?? (hasDeadline ? outcome.begin : nil)
        case .superseded(let isCounted):
            hasMissed = hasMissed || isCounted
            maySupersede = false
            // What was stored is another response.
            ignoresStored = false
            return .lookUpAgain
        case .dismissed: isAlone = true
        }
        hasMissed = true
        return .lookUpAgain
    }
}

extension HopProgress {
    /// Returns the result of an exchange for a hop; `nil` where the hop looks up again.
    @inline(never)
    mutating func result(
        of outcome: ExchangeOutcome,
        _ plan: ExchangePlan,
        _ time: RequestTime
    ) -> Result<Response, ConnectionError>? {
        let isTimed = time.isLimited(plan.context.resolved)
        switch next(
            after: outcome, now: time.clock.uptime(), isTimed: isTimed,
            hasDeadline: time.hasDeadline(plan.context.resolved))
        {
        case .lookUpAgain: return nil
        case .settle(let result): return result
        }
    }
}
