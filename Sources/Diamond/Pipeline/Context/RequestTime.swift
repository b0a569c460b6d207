/// The time limits of a request, which all its hops share.
///
/// It is a class because most stages have it.
final class RequestTime: Sendable {
    let clock: ExchangeClock
    /// The policy of requests that have none of their own.
    let retry: RetryPolicy
    let waits: PendingWaits

    init(retry: RetryPolicy, of coordinator: RetryCoordinator) {
        self.retry = retry
        clock = coordinator.clock
        waits = coordinator.waits
    }

    /// Returns the rest of a request's time.
    ///
    /// - Parameter timeStart: the start of the time; `nil` if it has not started.
    /// - Returns: `nil` if the time has not started, or is not limited.
    /// - Throws: `timedOut` if nothing is left.
    func rest(of request: ResolvedRequest, since timeStart: EngineTime?) throws(ConnectionError) -> Duration? {
        guard let timeStart, let deadline = (request.retry ?? retry).deadline else { return nil }
        let rest = deadline - .milliseconds(clock.uptime().milliseconds(since: timeStart))
        guard rest > .zero else { throw ConnectionError(outOfTime: true) }
        return rest
    }

    /// Returns the retry policy of an exchange, with the rest of the request's time as its deadline.
    func policy(of request: ResolvedRequest, since timeStart: EngineTime?) throws(ConnectionError) -> RetryPolicy {
        var policy = request.retry ?? retry
        if let rest = try rest(of: request, since: timeStart) { policy.deadline = rest }
        return policy
    }

    /// Whether a policy limits the time. Without a limit, a timeout means that the server did not respond, to any
    /// caller.
    func isLimited(_ request: ResolvedRequest) -> Bool {
        let policy = request.retry ?? retry
        return policy.deadline != nil || policy.attemptTimeout != nil
    }

    /// Whether a policy limits the whole time.
    func hasDeadline(_ request: ResolvedRequest) -> Bool { (request.retry ?? retry).deadline != nil }

    /// Returns the time for code of the app that is called before a request is sent: all of it, if it has not started.
    func left(of request: ResolvedRequest, since timeStart: EngineTime?) throws(ConnectionError) -> RemainingTime {
        let rest = try rest(of: request, since: timeStart)
        return RemainingTime(
            rest: rest ?? (request.retry ?? retry).deadline, waits: waits, serverMayHaveActed: rest != nil)
    }

    /// Returns the time for code of the app that is called before a request is resolved.
    func left(of request: Request) -> RemainingTime {
        // A stored response may answer the request without the wire.
        RemainingTime(rest: (request.retry ?? retry).deadline, waits: waits, isBeforeWire: false)
    }
}
