/// The limit for the requests to one origin that may be sent again, whatever their ``RetryPolicy`` says.
///
/// If a server fails for all clients, repetitions multiply its load. A budget limits them to a share of it (*Site
/// Reliability Engineering*, chapter 21).
public struct RetryBudgetPolicy: Hashable, Sendable {
    /// The repetitions that each request allows, from 0 to 1; 0.1.
    public var share: Double { didSet { share = Self.bounded(share) } }
    /// The number of additional repetitions in each window; 10, and a million at most.
    public var reserve: Int { didSet { reserve = Self.bounded(reserve) } }
    /// The time after which requests and repetitions are forgotten; 10 seconds. Rounded to whole milliseconds, 100
    /// years at most.
    public var window: Duration { didSet { window = window.bounded } }

    /// Creates a policy. Each argument has the default of its property.
    public init(share: Double = 0.1, reserve: Int = 10, window: Duration = .seconds(10)) {
        self.share = Self.bounded(share)
        self.reserve = Self.bounded(reserve)
        self.window = window.bounded
    }

    /// Returns 0 for a share that is not a number.
    private static func bounded(_ share: Double) -> Double { share > 0 ? min(share, 1) : 0 }

    private static func bounded(_ reserve: Int) -> Int { min(max(0, reserve), 1_000_000) }
}
