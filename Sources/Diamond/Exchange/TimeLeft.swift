/// What is left of the time of a request for code of the app that it waits for before it is sent.
struct TimeLeft: Sendable {
    private let limit: (rest: Duration, clock: ExchangeClock)?
    /// Whether something of the request may have been sent before.
    private let isUnderWay: Bool

    /// - Parameter rest: `nil` where nothing limits it.
    init(_ rest: Duration?, by clock: ExchangeClock, isUnderWay: Bool = false) {
        limit = rest.map { ($0, clock) }
        self.isUnderWay = isUnderWay
    }

    private init() { (limit, isUnderWay) = (nil, false) }

    static let forever = TimeLeft()

    /// What the code brings in time: it need not obey its cancellation, and what it brings later is dropped.
    ///
    /// - Throws: `timedOut` where time is up, `cancelled` with the waiting task, and what the code throws.
    func value<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(ConnectionError) -> Value
    ) async throws(ConnectionError) -> Value {
        guard let limit else { return try await body() }
        let (outcome, isLate) = await limit.clock.leave(after: limit.rest) { await Result(body) }
        guard !isLate else { throw ConnectionError(outOfTime: isUnderWay) }
        guard let outcome else { throw .cancelled }
        return try outcome.get()
    }
}

extension ConnectionError {
    /// The time of a request is up, and nothing is on the wire for it.
    ///
    /// - Parameter isUnderWay: whether something of the request may have been sent before.
    init(outOfTime isUnderWay: Bool) {
        let message = "the time of the request was up before it could be sent: allow it more in the retry policy"
        self.init(TransportError(.timedOut, message, requestMayHaveBeenSent: isUnderWay))
    }
}
