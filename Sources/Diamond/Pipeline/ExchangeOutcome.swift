/// The end of an exchange, for the callers that waited for it.
struct ExchangeOutcome: Sendable {
    enum Ending: Sendable {
        case response(Response)
        case failure(ConnectionError)
        /// The server has confirmed a stored response whose body cannot be read.
        case unreadable(CacheError)
        /// Another exchange has stored a response that can be served, before this one was sent.
        ///
        /// - Parameter isCounted: whether a miss was counted.
        case superseded(isCounted: Bool)
        /// The response is for the first caller alone.
        case dismissed
    }

    let ending: Ending
    /// The start of the request's time, by the exchange clock.
    let begin: Int64?

    init(_ ending: Ending, begin: Int64? = nil) {
        self.ending = ending
        self.begin = begin
    }

    init(_ error: ConnectionError) { self.init(.failure(error)) }
}
