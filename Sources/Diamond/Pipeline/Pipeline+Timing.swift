/// The time of a request, which is one for all its hops.
extension Pipeline {
    private var clock: ExchangeClock { wire.repetitions.clock }

    /// What is left of it to a passage.
    ///
    /// - Returns: `nil` where no hop before has begun it, or nothing limits it.
    /// - Throws: `timedOut` where nothing is.
    func rest(of passage: Passage) throws(ConnectionError) -> Duration? {
        guard let begin = passage.begin, let deadline = (passage.retry ?? retry).deadline else { return nil }
        let rest = deadline - .milliseconds(clock.uptime() - begin)
        guard rest > .zero else { throw ConnectionError(outOfTime: true) }
        return rest
    }

    /// What the exchange of a passage goes by.
    func policy(of passage: Passage) throws(ConnectionError) -> RetryPolicy {
        var policy = passage.retry ?? retry
        if let rest = try rest(of: passage) { policy.deadline = rest }
        return policy
    }

    /// When the time began of what follows a passage that is sent now; `nil` where nothing limits it.
    func begin(of passage: Passage) -> Int64? {
        guard (passage.retry ?? retry).deadline != nil else { return nil }
        return passage.begin ?? clock.uptime()
    }

    /// For code of the app that is asked before a passage is sent. Where that has not begun the time, it has all of it.
    func timeLeft(of passage: Passage) throws(ConnectionError) -> TimeLeft {
        let rest = try rest(of: passage)
        return TimeLeft(
            rest ?? (passage.retry ?? retry).deadline, among: wire.repetitions.waits, isUnderWay: rest != nil)
    }

    /// For code of the app that is asked before anything is known of a request.
    func timeLeft(of request: Request) -> TimeLeft {
        // What is stored may be all that it takes.
        TimeLeft((request.retry ?? retry).deadline, among: wire.repetitions.waits, isBeforeWire: false)
    }
}
