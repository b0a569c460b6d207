import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("The retry budget") struct RetryBudgetTests {
    /// Uses up the budget, and returns the number of retries that it has allowed.
    static func spend(_ budget: inout RetryBudget, at now: EngineTime) -> Int {
        var paid = 0
        while budget.withdraw(at: now) { paid += 1 }
        return paid
    }

    @Test(arguments: [(0, 10), (9, 10), (10, 11), (100, 20), (1000, 110)])
    func `allows ten retries, and a tenth of the requests`(requests: Int, repetitions: Int) {
        var budget = RetryBudget()
        for _ in 0..<requests { budget.deposit(at: 1000) }
        #expect(Self.spend(&budget, at: 1000) == repetitions)
    }

    @Test(
        arguments: [
            (RetryBudgetPolicy(share: 0, reserve: 3), 3), (RetryBudgetPolicy(share: 0.25, reserve: 0), 25),
            (RetryBudgetPolicy(share: 1, reserve: 5), 105), (RetryBudgetPolicy(share: 0, reserve: 0), 0),
            (RetryBudgetPolicy(share: -1, reserve: -1), 0), (RetryBudgetPolicy(share: .nan, reserve: 1), 1),
            (RetryBudgetPolicy(share: .infinity, reserve: 0), 100),
        ] as [(RetryBudgetPolicy, Int)])
    func `allows the share of its policy for a hundred requests`(
        policy: RetryBudgetPolicy, repetitions: Int
    ) {
        var budget = RetryBudget(policy)
        for _ in 0..<100 { budget.deposit(at: 1000) }
        #expect(Self.spend(&budget, at: 1000) == repetitions)
    }

    @Test func `limits the values of its policy`() {
        var policy = RetryBudgetPolicy(reserve: .max)
        #expect(policy.reserve == 1_000_000)
        (policy.share, policy.reserve, policy.window) = (2, -1, .seconds(-1))
        #expect(policy == RetryBudgetPolicy(share: 1, reserve: 0, window: .zero))
    }

    @Test func `forgets requests after the window of its policy`() {
        var budget = RetryBudget(RetryBudgetPolicy(window: .seconds(60)))
        #expect(Self.spend(&budget, at: 0) == 10)
        #expect(Self.spend(&budget, at: 59_999) == 0)
        #expect(Self.spend(&budget, at: 60_000) == 10)
    }

    @Test func `is not changed by a retry that it refuses`() {
        var budget = RetryBudget()
        #expect(Self.spend(&budget, at: 0) == 10)
        let empty = budget
        #expect(budget.withdraw(at: 0) == false)
        #expect(budget.canWithdraw(at: 0) == false)
        #expect(budget == empty)
    }

    @Test func `forgets deposits and retries after ten seconds`() {
        var budget = RetryBudget()
        for _ in 0..<1000 { budget.deposit(at: 0) }
        #expect(Self.spend(&budget, at: 10_999) == 10)
        #expect(budget.canWithdraw(at: 20_000 - 1) == false)
        #expect(Self.spend(&budget, at: 20_000) == 10)
    }

    @Test func `allows ten retries in every ten seconds for an origin that always fails`() {
        var budget = RetryBudget()
        let paid = (0..<600).reduce(0) { sum, tenth in
            sum + Self.spend(&budget, at: EngineTime(rawValue: Int64(tenth) * 100))
        }
        #expect(paid == 60)
    }

    @Test func `tolerates a clock that goes backward or leaps`() {
        var budget = RetryBudget()
        #expect(Self.spend(&budget, at: 50_000) == 10)
        #expect(budget.withdraw(at: 10_000) == false)
        #expect(Self.spend(&budget, at: .max) == 10)
        #expect(budget.withdraw(at: 0) == false)
    }

    @Test(arguments: 0..<20) func `allows at most a tenth plus 20 retries in ten seconds`(seed: Int) {
        var random = SplitMix(state: UInt64(seed))
        var budget = RetryBudget()
        var now: EngineTime = 0
        var requests: [EngineTime] = []
        var repetitions: [EngineTime] = []
        for _ in 0..<3000 {
            now += Int64(random.below(40))
            requests.append(now)
            budget.deposit(at: now)
            if random.below(2) == 0, budget.withdraw(at: now) { repetitions.append(now) }
        }
        for start in stride(from: Int64(0), to: now.rawValue, by: 1000).map(EngineTime.init(rawValue:)) {
            let stretch = start..<start + 9000
            // Deposits of the previous window also allow retries.
            let deposits = requests.count { (start - 10_000..<start + 9000).contains($0) }
            #expect(Double(repetitions.count(where: stretch.contains)) <= 20 + Double(deposits) / 10)
        }
        // A tenth of all requests, and the reserve of each window.
        #expect(Double(repetitions.count) <= Double(requests.count) / 10 + 10 * Double(now.rawValue / 10_000 + 2))
        #expect(!repetitions.isEmpty)
    }
}
