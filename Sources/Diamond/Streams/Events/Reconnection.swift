import HTTPTypes

/// Whether a stream of events that has ended is connected to again, and when. A value; the reader obeys it.
struct Reconnection: Sendable {
    /// The time to wait until the server names another (browsers wait about as long).
    static let defaultTime = Duration.seconds(3)
    /// The shortest time to wait, whatever the server and the policy say. Without it, a stream that closes as soon as
    /// it is opened would be requested without end.
    static let leastTime = Duration.milliseconds(50)

    /// Whether a second request does no harm, and is wanted.
    private let isAllowed: Bool
    private let policy: RetryPolicy
    /// The time that the server wants.
    var time = defaultTime
    /// Whether the stream was open once. A failure before that is the caller's.
    private(set) var hasOpened = false
    /// The number of failures since the stream was last open.
    private(set) var failures = 0

    init(_ request: Request, _ policy: RetryPolicy) {
        self.policy = policy
        isAllowed =
            policy.attempts > 1
            && RetryableRequest(request.method, headers: request.headers).isRepeatable(by: policy)
    }

    /// The policy for the attempts of one connection. The first follows the request's policy. After that each makes one
    /// attempt, and this type waits between them.
    var attempts: RetryPolicy {
        var policy = policy
        if hasOpened { policy.attempts = 1 }
        return policy
    }

    mutating func open() { (hasOpened, failures) = (true, 0) }

    /// The time to wait: the server's, and never zero.
    private var pause: Duration { max(time, policy.baseDelay, Self.leastTime) }

    /// The time to wait after the end of a stream.
    var delayAfterEnd: Duration? { isAllowed ? pause : nil }

    /// After a failure: as after an end, and a delay on top that grows with each in a row and is drawn, so that clients
    /// who were cut off together do not come back together.
    ///
    /// - Parameters:
    ///   - draw: from 0 up to 1.
    ///   - now: milliseconds since 1970.
    /// - Returns: `nil` where the failure is the caller's.
    mutating func delay(after error: ConnectionError, draw: Double, now: Int64) -> Duration? {
        guard isAllowed, hasOpened, isPassing(error) else { return nil }
        defer { failures += 1 }
        var own = policy
        own.baseDelay = pause
        let asked = error.response.flatMap { RetryAfter.duration($0.headers, now: now) } ?? .zero
        return max(asked, pause + Backoff(own).delay(failures, draw: draw))
    }

    private func isPassing(_ error: ConnectionError) -> Bool {
        switch error.code {
        case .timedOut, .cannotConnect, .connectionLost, .circuitOpen: true
        // A handshake that broke, and no certificate that is the same the next time.
        case .tlsFailed: (error.cause as? TransportError)?.code == .tlsFailed
        case .badStatus: error.response.map { policy.statuses.contains($0.status.code) } ?? false
        default: false
        }
    }
}
