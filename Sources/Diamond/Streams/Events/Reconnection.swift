import HTTPTypes

/// Decides whether and when to reconnect after a stream of events has ended. A value; ``EventReader`` acts on it.
struct Reconnection: Sendable {
    /// The time to wait until the server names another (browsers wait about as long).
    static let defaultTime = Duration.seconds(3)
    /// The shortest time to wait, whatever the server and the policy say. Without it, a stream that closes as soon as
    /// it is opened would be requested without end.
    static let leastTime = Duration.milliseconds(50)

    /// Whether the request can be repeated safely, and the policy allows repetitions.
    private let isAllowed: Bool
    private let policy: RetryPolicy
    /// The reconnection time that the server has named, or the default.
    var time = defaultTime
    /// Whether the stream has been open once. A failure before that is thrown to the caller.
    private(set) var hasOpened = false
    /// The number of failures since the stream was last open.
    private(set) var failures = 0

    init(_ request: Request, _ policy: RetryPolicy) {
        self.policy = policy
        isAllowed =
            policy.attempts > 1
            && RetryableRequest(request.method, headers: request.headers).isRepeatable(by: policy)
    }

    /// The policy for the attempts of one connection. The first connection follows the request's policy. Each later one
    /// makes one attempt, and this type sets the waits between them.
    var attempts: RetryPolicy {
        var policy = policy
        if hasOpened { policy.attempts = 1 }
        return policy
    }

    mutating func open() {
        hasOpened = true
        failures = 0
    }

    /// The base delay: the server's reconnection time, never zero.
    private var baseDelay: Duration { max(time, policy.baseDelay, Self.leastTime) }

    /// The delay after the end of a stream; `nil` to end the sequence.
    var delayAfterEnd: Duration? { isAllowed ? baseDelay : nil }

    /// Returns the delay after a failure. To the base delay it adds a random one that grows with each failure in a row,
    /// so that clients that lost their connections together do not reconnect together.
    ///
    /// - Parameters:
    ///   - draw: a random number from 0 up to 1.
    ///   - now: the current time.
    /// - Returns: the delay; `nil` if the error is to be thrown to the caller.
    mutating func delay(after error: ConnectionError, draw: Double, now: WallTime) -> Duration? {
        guard isAllowed, hasOpened, isTransient(error) else { return nil }
        defer { failures += 1 }
        var own = policy
        own.baseDelay = baseDelay
        let requested = error.response.flatMap { RetryAfter.duration($0.headers, now: now) } ?? .zero
        return max(requested, baseDelay + Backoff(own).delay(failures, draw: draw))
    }

    private func isTransient(_ error: ConnectionError) -> Bool {
        switch error.code {
        case .timedOut, .cannotConnect, .connectionLost, .circuitOpen: true
        // A broken handshake may succeed the next time; a rejected certificate will not.
        case .tlsFailed: (error.cause as? TransportError)?.code == .tlsFailed
        case .badStatus: error.response.map { policy.statuses.contains($0.status.code) } ?? false
        default: false
        }
    }
}
