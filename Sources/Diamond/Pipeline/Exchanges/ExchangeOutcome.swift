/// The outcome of an exchange, for the callers that waited for it.
struct ExchangeOutcome: Sendable {
    // Indirect, because it is returned through every step.
    indirect enum Ending: Sendable {
        case response(Response)
        case failure(ConnectionError)
        /// The server has confirmed a stored response whose body cannot be read.
        case unreadable(CacheError)
        /// Another exchange has stored a response that can be served, before the request was sent.
        ///
        /// - Parameter isCounted: whether a miss was counted.
        case superseded(isCounted: Bool)
        /// The response is for the first caller alone.
        case dismissed
    }

    let ending: Ending
    /// The start of the exchange's time, by the exchange clock; `nil` if it has not started.
    let startedAt: Int64?
    /// The milliseconds from the start of the exchange until the caller joined; negative if the caller joined before.
    let lateness: Int64

    init(_ ending: Ending, startedAt: Int64? = nil, lateness: Int64 = 0) {
        self.ending = ending
        self.startedAt = startedAt
        self.lateness = lateness
    }

    /// Returns the outcome for a caller that has joined at a time.
    func joined(at time: Int64) -> ExchangeOutcome {
        ExchangeOutcome(ending, startedAt: startedAt, lateness: startedAt.map { time - $0 } ?? 0)
    }

    /// The start of the caller's own time.
    var begin: Int64? { startedAt.map { $0 + max(0, lateness) } }

    init(_ error: ConnectionError) { self.init(.failure(error)) }
}
