/// A value that decides the next step of a hop after each exchange, and after each failure to read a stored response.
///
/// | end of an exchange | next |
/// |---|---|
/// | response, failure | finish |
/// | timed out for earlier callers, before this caller's own deadline; once | look up again, until that deadline |
/// | dismissed: the response is for another caller alone | look up again, without sharing the exchange |
/// | superseded by a stored response; once | look up again |
/// | unreadable: confirmed a stored response that cannot be read | look up again, without it |
struct HopProgress: Sendable {
    /// The next step of a hop.
    enum Next {
        case lookUpAgain
        case finish(Result<Response, ConnectionError>)
    }

    /// The time that is left to a caller that joined an exchange late, when the exchange has timed out.
    struct Extension: Sendable {
        /// The caller's own deadline, by the exchange clock.
        let deadline: EngineTime
        /// The error after the deadline.
        let error: ConnectionError
        /// The start of the caller's time.
        let timeStart: EngineTime
    }

    /// The shortest extension in milliseconds; in less time no server responds.
    private static let shortestExtension: Int64 = 100

    /// Whether the next exchange must not be shared.
    private(set) var isAlone = false
    /// Whether the stored response is ignored, because it cannot be read.
    private(set) var ignoresStored = false
    /// Whether a miss was counted.
    private(set) var hasMissed = false
    /// Whether a response that was stored meanwhile may still supersede an exchange. It may do so once, so that
    /// the look-up is not repeated without end: the response in memory may be newer than the one that a look-up finds.
    private(set) var maySupersede = true
    /// Whether a gateway may collect a response, to complete what is stored.
    private(set) var mayCollect = true
    /// The extension after an exchange that has timed out for earlier callers; `nil` before.
    private(set) var deadlineExtension: Extension?
    /// The start of the request's time; `nil` if it starts with the next exchange.
    private(set) var timeStart: EngineTime?

    /// - Parameter timeStart: the start of the request's time, if an earlier hop has started it.
    init(timeStart: EngineTime?) { self.timeStart = timeStart }

    /// The start of the request's time, for the next hop.
    ///
    /// - Parameter exchange: the start of the time of the last exchange; `nil` if the whole time is not limited.
    func timeStart(after exchange: EngineTime?) -> EngineTime? { timeStart ?? deadlineExtension?.timeStart ?? exchange }

    /// Notes that the stored response could not be read, before any part of it was served.
    mutating func noteUnreadable(_ error: CacheError) {
        // If another response has replaced it meanwhile, the look-up finds that one.
        if error.code != .entryGone { ignoresStored = true }
    }

    /// Notes the result of an exchange that has collected its body.
    ///
    /// - Returns: whether the body was too large, because the server has another representation. The request is sent
    ///   again, and the body goes into the sink.
    mutating func noteCollected(_ result: Result<Response, ConnectionError>) -> Bool {
        mayCollect = false
        guard case .failure(let error) = result else { return false }
        return error.code == .bodyTooLarge
    }

    /// Returns the next step after an exchange.
    ///
    /// - Parameters:
    ///   - now: the time now, by the exchange clock.
    ///   - isTimed: whether the policy limits the time of an attempt, or the whole time.
    ///   - hasDeadline: whether the policy limits the whole time.
    // Evaluated only after a failure: most exchanges bring a response.
    @inline(never)
    mutating func next(
        after outcome: ExchangeOutcome,
        now: @autoclosure () -> EngineTime,
        isTimed: @autoclosure () -> Bool,
        hasDeadline: @autoclosure () -> Bool
    ) -> Next {
        switch outcome.ending {
        case .response(let response): return .finish(.success(response))
        case .failure(let error):
            guard error.code == .timedOut, isTimed(), deadlineExtension == nil,
                outcome.lateness >= Self.shortestExtension
            else {
                return .finish(.failure(error))
            }
            let now = now()
            deadlineExtension = Extension(
                deadline: now + outcome.lateness, error: error, timeStart: outcome.timeStart ?? now)
        case .unreadable(let error):
            noteUnreadable(error)
            timeStart = timeStart ?? (hasDeadline() ? outcome.timeStart : nil)
        case .superseded(let isCounted):
            hasMissed = hasMissed || isCounted
            maySupersede = false
            // The new stored response is another one.
            ignoresStored = false
            return .lookUpAgain
        case .dismissed: isAlone = true
        }
        hasMissed = true
        return .lookUpAgain
    }
}
