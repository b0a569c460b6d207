/// The number of requests to one origin that may still be sent again.
///
/// It is a token bucket like Finagle's. Each request adds its share of a token, and each repetition removes one. Both
/// are forgotten after the window. If the bucket is empty, the caller gets the failure at once.
///
/// Times are milliseconds of a clock that only goes forward.
struct RetryBudget: Hashable, Sendable {
    /// The cost of a repetition in thousandths of a token, so that sums are exact.
    private static let repetition = 1000

    private let share: Int
    private let reserve: Int
    private var balance: SlidingSum

    init(_ policy: RetryBudgetPolicy = RetryBudgetPolicy()) {
        share = Int((policy.share * Double(Self.repetition)).rounded())
        reserve = policy.reserve * Self.repetition
        balance = SlidingSum(milliseconds: policy.window.milliseconds)
    }

    /// Adds the share of a request; called for its first attempt.
    mutating func deposit(at now: EngineTime) { balance.add(share, at: now) }

    /// Whether there is enough for a repetition.
    mutating func canWithdraw(at now: EngineTime) -> Bool {
        balance.sum(at: now) + reserve >= Self.repetition
    }

    /// Withdraws the cost of a repetition.
    ///
    /// - Returns: whether there was enough; otherwise the balance does not change.
    mutating func withdraw(at now: EngineTime) -> Bool {
        guard canWithdraw(at: now) else { return false }
        balance.add(-Self.repetition, at: now)
        return true
    }

    /// Puts the payment for a repetition that was not sent back.
    mutating func refund(at now: EngineTime) { balance.add(Self.repetition, at: now) }
}
