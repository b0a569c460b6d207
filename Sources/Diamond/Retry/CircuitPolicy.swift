/// The conditions under which a circuit breaker stops sending to an origin, and the time for which it does. The
/// properties are those of Polly's circuit breaker, with defaults for the traffic of a single app.
///
/// Durations are rounded to whole milliseconds and limited to 0 to 100 years.
public struct CircuitPolicy: Hashable, Sendable {
    /// The number of outcomes in the window below which the circuit stays closed; 10.
    public var minimumCalls: Int
    /// The share of the outcomes that have to be failures, from 0 to 1; a half.
    public var failureShare: Double
    /// The window in which outcomes count; 30 seconds.
    public var window: Duration { didSet { window = window.bounded } }
    /// The time for which nothing is sent, before one exchange is sent as a probe; 5 seconds.
    public var openTime: Duration { didSet { openTime = openTime.bounded } }

    /// Creates a policy. Each argument has the default of its property. `minimumCalls` is at least 1.
    public init(
        minimumCalls: Int = 10,
        failureShare: Double = 0.5,
        window: Duration = .seconds(30),
        openTime: Duration = .seconds(5)
    ) {
        self.minimumCalls = max(1, minimumCalls)
        self.failureShare = failureShare
        self.window = window.bounded
        self.openTime = openTime.bounded
    }
}
