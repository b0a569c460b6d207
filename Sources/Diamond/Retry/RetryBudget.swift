/// How many requests to one origin may be sent again: a tenth of all, and 10 beside in 10 seconds.
///
/// Where a server fails for everybody, repetitions multiply its load; the budget holds them to a tenth more (*Site
/// Reliability Engineering*, chapter 21). A bucket of tokens in the shape of Finagle's: each request puts a tenth of a
/// token in, each repetition takes one out, either is forgotten after 10 seconds. Where it is empty nobody waits: the
/// failure is the caller's at once.
///
/// Times are milliseconds of a clock that only goes forward.
struct RetryBudget: Hashable, Sendable {
    /// In tenths of a token, so that sums are exact.
    private enum Tenths {
        static let deposit = 1
        static let repetition = 10
        static let reserve = 100
    }

    private var balance = SlidingSum(over: .seconds(10))

    /// For every request on its first attempt.
    mutating func deposit(at now: Int64) { balance.add(Tenths.deposit, at: now) }

    /// Whether a repetition may be paid.
    mutating func canWithdraw(at now: Int64) -> Bool {
        balance.sum(at: now) + Tenths.reserve >= Tenths.repetition
    }

    /// Pays a repetition.
    ///
    /// - Returns: whether there was enough; nothing is taken where there was not.
    mutating func withdraw(at now: Int64) -> Bool {
        guard canWithdraw(at: now) else { return false }
        balance.add(-Tenths.repetition, at: now)
        return true
    }
}
