/// A reason to send jobs before the end of their backoff.
enum EarlyRetry: Hashable, Sendable {
    /// The network has returned. Whether the servers can be reached is not known.
    case networkReturned
    /// These origins have answered.
    case originsAnswered(Set<String>)
    /// A caller does not want to wait.
    case requested

    /// The time since a job's failure before which the job is not sent early, in milliseconds. Without it, a network
    /// that changes constantly would use up a job's attempts, or its server's patience.
    private static let pause: Int64 = 60_000

    /// The codes of the last failure with which a job is sent early; `nil` for all.
    var codes: Set<String>? {
        switch self {
        // A broken connection says nothing about this machine's network.
        case .networkReturned: [ConnectionError.Code.cannotConnect.description]
        case .originsAnswered:
            Set([ConnectionError.Code.cannotConnect, .connectionLost, .timedOut].map(\.description))
        case .requested: nil
        }
    }

    /// The origins whose jobs are sent early; `nil` for all.
    var origins: Set<String>? { if case .originsAnswered(let origins) = self { origins } else { nil } }

    /// Returns the latest time of a failure after which a job is sent early.
    func failureLimit(at now: Int64) -> Int64 { self == .requested ? now : now - Self.pause }

    /// The reasons why the jobs wait. A wait that a server asked for, or that the app has set, is not shortened.
    var waits: [ReplayReason] { self == .requested ? [.backoff, .offline] : [.backoff] }
}

extension ReplayRow {
    /// Makes a waiting job ready before its time.
    ///
    /// After the network's return, the attempt is made in place of the last one, and the count of attempts stays the
    /// same: the server may still be down. Otherwise a network that changes often would use up all attempts.
    mutating func retryEarly(_ retry: EarlyRetry, at now: Int64) {
        state = .ready
        reason = retry == .requested ? .retried : .online
        runAt = min(runAt, now)
        if retry == .networkReturned { attempts = max(0, attempts - 1) }
    }
}
