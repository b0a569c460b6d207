/// How many requests to one origin may be sent again still.
///
/// A bucket of tokens in the shape of Finagle's: each request puts its share of a token in, each repetition takes one out,
/// either is forgotten after the window. Where it is empty nobody waits: the failure is the caller's at once.
///
/// Times are milliseconds of a clock that only goes forward.
struct RetryBudget: Hashable, Sendable {
    /// In thousandths of a token, so that sums are exact.
    private static let repetition = 1000

    private let share: Int
    private let reserve: Int
    private var balance: SlidingSum

    init(_ policy: RetryBudgetPolicy = RetryBudgetPolicy()) {
        share = Int((policy.share * Double(Self.repetition)).rounded())
        reserve = policy.reserve * Self.repetition
        balance = SlidingSum(milliseconds: policy.window.milliseconds)
    }

    /// For every request on its first attempt.
    mutating func deposit(at now: Int64) { balance.add(share, at: now) }

    /// Whether a repetition may be paid.
    mutating func canWithdraw(at now: Int64) -> Bool {
        balance.sum(at: now) + reserve >= Self.repetition
    }

    /// Pays a repetition.
    ///
    /// - Returns: whether there was enough; nothing is taken where there was not.
    mutating func withdraw(at now: Int64) -> Bool {
        guard canWithdraw(at: now) else { return false }
        balance.add(-Self.repetition, at: now)
        return true
    }

    /// Gives back what was paid for a repetition that nobody has sent.
    mutating func refund(at now: Int64) { balance.add(Self.repetition, at: now) }
}
