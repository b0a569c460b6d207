/// The outcome of an exchange, for the callers that waited for it.
struct ExchangeOutcome: Sendable {
    enum Ending: Sendable {
        case response(Response)
        case failure(ConnectionError)
        /// The server has confirmed a stored response whose body cannot be read.
        // Indirect, because it is large and rare, and every step returns an ending.
        indirect case unreadable(CacheError)
        /// Another exchange has stored a response that can be served, before the request was sent.
        ///
        /// - Parameter isCounted: whether a miss was counted.
        case superseded(isCounted: Bool)
        /// The response is for the first caller alone.
        case dismissed
    }

    let ending: Ending
    /// The start of the exchange's time, by the exchange clock; `nil` if it has not started.
    let startedAt: EngineTime?
    /// The milliseconds from the start of the exchange until the caller joined; negative if the caller joined before.
    let lateness: Int64
    /// The plan that the request was sent for; `nil` if none was sent.
    let plan: ExchangePlan?

    init(_ ending: Ending, startedAt: EngineTime? = nil, lateness: Int64 = 0, plan: ExchangePlan? = nil) {
        self.ending = ending
        self.startedAt = startedAt
        self.lateness = lateness
        self.plan = plan
    }

    /// Returns the outcome for a caller that has joined at a time.
    ///
    /// - Parameter plan: the caller's own plan.
    consuming func joined(at time: EngineTime, by plan: ExchangePlan) -> ExchangeOutcome {
        let isCollapsed = self.plan != nil && self.plan !== plan
        return ExchangeOutcome(
            isCollapsed ? ending.collapsed : ending, startedAt: startedAt,
            lateness: startedAt.map { time.milliseconds(since: $0) } ?? 0, plan: self.plan)
    }

    /// The start of the caller's own time.
    var timeStart: EngineTime? { startedAt.map { $0 + max(0, lateness) } }

    init(_ error: ConnectionError) { self.init(.failure(error)) }
}

// Consuming, so that a response whose only owner is the ending is changed in place.
extension ExchangeOutcome.Ending {
    /// The ending, whose response has the reason why its request was sent.
    consuming func forwarded(for reason: CacheStatus.ForwardReason?) -> Self {
        guard let reason else { return self }
        switch consume self {
        case .response(var response):
            var status = response.cacheStatus ?? CacheStatus()
            status.forwardReason = reason
            response.cacheStatus = status
            return .response(response)
        case let other: return other
        }
    }

    /// The ending for a caller whose request was not sent, because an equal one was under way.
    var collapsed: Self {
        guard case .response(var response) = self else { return self }
        response.cacheStatus?.isCollapsed = true
        return .response(response)
    }
}
