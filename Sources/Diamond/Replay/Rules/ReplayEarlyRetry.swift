/// A reason to send jobs before the end of their backoff.
public enum ReplayEarlyRetry: Hashable, Sendable {
    /// The network may be reachable again: the jobs that wait for it are sent.
    case online
    /// The network has returned: the jobs that could not connect are sent. The servers may still be unreachable.
    case networkReturned
    /// These origins have answered.
    case originsAnswered(Set<String>)
    /// A caller does not want to wait.
    case requested

    /// The minimum time between a job's failure and an early retry, in milliseconds. Without it, a network that changes
    /// often would use up a job's attempts, or overload its server.
    private static let pause: Int64 = 60_000

    /// The codes of last failures after which jobs are sent early, as `ConnectionError` writes them; `nil` for all.
    var codes: Set<String>? {
        switch self {
        // A broken connection says nothing about this machine's network.
        case .networkReturned: ["cannotConnect"]
        case .originsAnswered: ["cannotConnect", "connectionLost", "timedOut"]
        case .online, .requested: nil
        }
    }

    /// A selection of waiting jobs.
    public enum Search: Hashable, Sendable {
        /// The jobs of an origin whose last attempt failed with a code.
        case failed(code: String, origin: String)
        /// The jobs whose last attempt failed with a code.
        case failedAnywhere(code: String)
        /// All jobs that wait after a failure.
        case backoff
        /// All jobs that wait for the network.
        case offline
        /// All jobs that have failed, and were held and released while they waited.
        case released
    }

    /// The selections whose jobs are sent early.
    public var searches: [Search] {
        let codes = (codes ?? []).sorted()
        return switch self {
        case .networkReturned: codes.map { .failedAnywhere(code: $0) }
        case .originsAnswered(let origins):
            origins.flatMap { origin in codes.map { .failed(code: $0, origin: origin) } }
        case .online: [.offline]
        case .requested: [.backoff, .offline, .released]
        }
    }

    /// Returns the latest time of a last failure with which a job is sent early.
    public func failureLimit(at now: QueueTime) -> QueueTime {
        self == .requested || self == .online ? now : now - Self.pause
    }

    /// The reasons why the jobs wait. A wait that a server asked for, or that the app has set, is not shortened.
    public var waits: [ReplayReason] {
        switch self {
        case .online: [.offline]
        case .requested: [.backoff, .offline, .released]
        case .networkReturned, .originsAnswered: [.backoff]
        }
    }
}

extension ReplayRow {
    /// Makes a waiting job ready before its time.
    ///
    /// After the network's return, the attempt replaces the last one, and the count of attempts stays the same.
    /// Otherwise a network that changes often would use up all attempts.
    public mutating func retryEarly(_ retry: ReplayEarlyRetry, at now: QueueTime) {
        state = .ready
        reason = retry == .requested ? .retried : .online
        runAt = min(runAt, now)
        if retry == .networkReturned { attempts = max(0, attempts - 1) }
    }
}
