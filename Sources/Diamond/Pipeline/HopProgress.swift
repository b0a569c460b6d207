/// Decides what a hop does after each exchange and each failure to read what is stored, as a value.
///
/// | end of an exchange | next |
/// |---|---|
/// | response, failure | settle |
/// | timed out for earlier callers, before this caller's own deadline; once | look up again, until that deadline |
/// | dismissed: the response is for another caller alone | look up again, and ask alone |
/// | superseded by a stored response | look up again |
/// | confirmed a stored response that cannot be read | look up again, without it |
struct HopProgress: Sendable {
    /// What a hop does next.
    enum Next {
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
    private var boxed = Boxed<Extension>.none
    /// The start of the request's time; `nil` where it starts with the next exchange.
    private(set) var begin: Int64?

    /// - Parameter begin: the start of the request's time, where a hop before has started it.
    init(begin: Int64?) { self.begin = begin }

    /// The time that is left after an exchange that has timed out for others.
    var late: Extension? { boxed.value }

    /// The start of the request's time, for the next hop.
    ///
    /// - Parameter exchange: the start that the last exchange has counted from.
    func begin(after exchange: Int64?) -> Int64? { begin ?? late?.begin ?? exchange }

    /// What is stored could not be read, and nobody has seen its beginning.
    mutating func noteUnreadable(_ error: CacheError) {
        // Where another has taken its place meanwhile, that is found.
        if error.code != .entryGone { ignoresStored = true }
    }

    /// - Parameters:
    ///   - joinedAt: the time at which the caller began to wait, by the exchange clock.
    ///   - now: the time now, by the same clock.
    ///   - isTimed: whether the policy limits the time.
    mutating func next(after outcome: ExchangeOutcome, joinedAt: Int64, now: Int64, isTimed: Bool) -> Next {
        switch outcome.ending {
        case .response(let response): return .settle(.success(response))
        case .failure(let error):
            let missed = joinedAt - (outcome.begin ?? joinedAt)
            guard error.code == .timedOut, isTimed, late == nil, missed >= Self.leastExtension else {
                return .settle(.failure(error))
            }
            boxed = .some(Extension(deadline: now + missed, error: error, begin: joinedAt))
        case .unreadable(let error):
            noteUnreadable(error)
            begin = begin ?? outcome.begin
        case .superseded(let isCounted):
            hasMissed = hasMissed || isCounted
            return .lookUpAgain
        case .dismissed: isAlone = true
        }
        hasMissed = true
        return .lookUpAgain
    }
}
