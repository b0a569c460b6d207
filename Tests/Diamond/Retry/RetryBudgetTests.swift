import DiamondTestSupport
import Testing

@testable import Diamond

@Suite struct `The budget of repetitions` {
    /// Repetitions that it pays at this time.
    static func spend(_ budget: inout RetryBudget, at now: Int64) -> Int {
        var paid = 0
        while budget.withdraw(at: now) { paid += 1 }
        return paid
    }

    @Test(arguments: [(0, 10), (9, 10), (10, 11), (100, 20), (1000, 110)])
    func `pays ten, and a tenth of the requests`(requests: Int, repetitions: Int) {
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
    func `pays what its policy says for a hundred requests`(policy: RetryBudgetPolicy, repetitions: Int) {
        var budget = RetryBudget(policy)
        for _ in 0..<100 { budget.deposit(at: 1000) }
        #expect(Self.spend(&budget, at: 1000) == repetitions)
    }

    @Test func `is bounded in what its policy says`() {
        var policy = RetryBudgetPolicy(reserve: .max)
        #expect(policy.reserve == 1_000_000)
        (policy.share, policy.reserve, policy.window) = (2, -1, .seconds(-1))
        #expect(policy == RetryBudgetPolicy(share: 1, reserve: 0, window: .zero))
    }

    @Test func `forgets after the window of its policy`() {
        var budget = RetryBudget(RetryBudgetPolicy(window: .seconds(60)))
        #expect(Self.spend(&budget, at: 0) == 10)
        #expect(Self.spend(&budget, at: 59_999) == 0)
        #expect(Self.spend(&budget, at: 60_000) == 10)
    }

    @Test func `takes nothing where there is not enough`() {
        var budget = RetryBudget()
        #expect(Self.spend(&budget, at: 0) == 10)
        let empty = budget
        #expect(budget.withdraw(at: 0) == false)
        #expect(budget.canWithdraw(at: 0) == false)
        #expect(budget == empty)
    }

    @Test func `forgets after ten seconds what came in and what went out`() {
        var budget = RetryBudget()
        for _ in 0..<1000 { budget.deposit(at: 0) }
        #expect(Self.spend(&budget, at: 10_999) == 10)
        #expect(budget.canWithdraw(at: 20_000 - 1) == false)
        #expect(Self.spend(&budget, at: 20_000) == 10)
    }

    @Test func `pays ten in every ten seconds to an origin that fails for good`() {
        var budget = RetryBudget()
        let paid = (0..<600).reduce(0) { sum, tenth in sum + Self.spend(&budget, at: Int64(tenth) * 100) }
        #expect(paid == 60)
    }

    @Test func `does not mind a clock that goes backward or leaps`() {
        var budget = RetryBudget()
        #expect(Self.spend(&budget, at: 50_000) == 10)
        #expect(budget.withdraw(at: 10_000) == false)
        #expect(Self.spend(&budget, at: .max) == 10)
        #expect(budget.withdraw(at: 0) == false)
    }

    @Test(arguments: 0..<20) func `never pays more in ten seconds than a tenth and twenty`(seed: Int) {
        var random = SplitMix(state: UInt64(seed))
        var budget = RetryBudget()
        var now: Int64 = 0
        var requests: [Int64] = []
        var repetitions: [Int64] = []
        for _ in 0..<3000 {
            now += Int64(random.below(40))
            requests.append(now)
            budget.deposit(at: now)
            if random.below(2) == 0, budget.withdraw(at: now) { repetitions.append(now) }
        }
        for start in stride(from: Int64(0), to: now, by: 1000) {
            let stretch = start..<start + 9000
            // What was deposited up to a window before still pays.
            let deposits = requests.count { (start - 10_000..<start + 9000).contains($0) }
            #expect(Double(repetitions.count(where: stretch.contains)) <= 20 + Double(deposits) / 10)
        }
        // A tenth over all, and the reserve of each window.
        #expect(Double(repetitions.count) <= Double(requests.count) / 10 + 10 * Double(now / 10_000 + 2))
        #expect(!repetitions.isEmpty)
    }
}

@Suite struct `A sum over the last stretch` {
    @Test func `keeps what is younger, to a tenth of the stretch`() {
        var sum = SlidingSum(over: .seconds(10))
        sum.add(1, at: 500)
        sum.add(2, at: 1500)
        #expect(sum.sum(at: 9999) == 3)
        #expect(sum.sum(at: 10_000) == 2)
        #expect(sum.sum(at: 11_000) == 0)
    }

    @Test(arguments: 0..<20) func `is what a list of all would say`(seed: Int) {
        var random = SplitMix(state: UInt64(seed) + 100)
        var sum = SlidingSum(over: .seconds(1))
        var all: [(slice: Int64, value: Int)] = []
        var now: Int64 = 0
        for _ in 0..<500 {
            now += Int64(random.below(300))
            let value = random.below(21) - 10
            sum.add(value, at: now)
            all.append((now / 100, value))
            let expected = all.filter { $0.slice > now / 100 - 10 }.reduce(0) { $0 + $1.value }
            #expect(sum.sum(at: now) == expected)
        }
    }
}

@Suite struct `Values of origins` {
    @Test func `begin with the initial one, and stay`() {
        var origins = RecentlyUsed<String, Int>(initial: { 0 })
        #expect(
            origins.withValue(of: "https://a", at: 0) {
                $0 += 1; return $0
            } == 1)
        #expect(
            origins.withValue(of: "https://a", at: 1) {
                $0 += 1; return $0
            } == 2)
        #expect(origins.withValue(of: "https://b", at: 2) { $0 } == 0)
    }

    @Test func `are bounded, and those go that were not used for longest`() {
        var origins = RecentlyUsed<String, Int>(capacity: 100, initial: { 0 })
        for number in 0..<100 { origins.withValue(of: "\(number)", at: Int64(number)) { $0 = 1 } }
        origins.withValue(of: "0", at: 100) { $0 = 2 }
        origins.withValue(of: "new", at: 101) { $0 = 3 }
        #expect(origins.count == 51)
        #expect(origins.withValue(of: "0", at: 102) { $0 } == 2)
        #expect(origins.withValue(of: "99", at: 102) { $0 } == 1)
        #expect(origins.withValue(of: "1", at: 102) { $0 } == 0)
        for number in 0..<10_000 { origins.withValue(of: "many \(number)", at: Int64(number) + 200) { $0 = 1 } }
        #expect(origins.count <= 100)
    }

    @Test func `stay where they are in use, however many come`() {
        var values = RecentlyUsed<Int, Int>(capacity: 10, isInUse: { $0 > 0 }, initial: { 0 })
        for number in 0..<20 { values.withValue(of: number, at: Int64(number)) { $0 = 1 } }
        for number in 20..<100 { values.withValue(of: number, at: Int64(number)) { $0 = 0 } }
        #expect((0..<20).allSatisfy { number in values.withValue(of: number, at: 100) { $0 } == 1 })
        #expect(values.count <= 30)
    }

    @Test func `has again what was paid for a repetition that was not sent`() {
        var budget = RetryBudget(RetryBudgetPolicy(share: 0, reserve: 1))
        #expect(budget.withdraw(at: 0) && !budget.canWithdraw(at: 0))
        budget.refund(at: 1)
        #expect(budget.withdraw(at: 1) && !budget.canWithdraw(at: 1))
    }
}
