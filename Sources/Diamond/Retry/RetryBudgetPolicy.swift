/// How many requests to one origin may be sent again, whatever their ``RetryPolicy`` says.
///
/// Where a server fails for everybody, repetitions multiply its load; a budget holds them to a share of it (*Site Reliability
/// Engineering*, chapter 21).
public struct RetryBudgetPolicy: Hashable, Sendable {
    /// How many repetitions each request pays for, from 0 to 1; a tenth.
    public var share: Double { didSet { share = Self.bounded(share) } }
    /// Repetitions beside those, in each window; 10, and a million at most.
    public var reserve: Int { didSet { reserve = Self.bounded(reserve) } }
    /// After which requests and repetitions are forgotten; 10 seconds. Kept in whole milliseconds, a hundred years at most.
    public var window: Duration { didSet { window = window.bounded } }

    /// Each as its property says.
    public init(share: Double = 0.1, reserve: Int = 10, window: Duration = .seconds(10)) {
        self.share = Self.bounded(share)
        self.reserve = Self.bounded(reserve)
        self.window = window.bounded
    }

    /// 0 of what is no number.
    private static func bounded(_ share: Double) -> Double { share > 0 ? min(share, 1) : 0 }

    private static func bounded(_ reserve: Int) -> Int { min(max(0, reserve), 1_000_000) }
}
