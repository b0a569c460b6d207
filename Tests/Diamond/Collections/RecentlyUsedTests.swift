import Testing

@testable import Diamond

@Suite("Recently used values") struct RecentlyUsedTests {
    @Test func `begin with the initial value, and keep their changes`() {
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

    @Test func `are bounded, and the least recently used are removed`() {
        var origins = RecentlyUsed<String, Int>(capacity: 100, initial: { 0 })
        for number in Int64(0)..<100 { origins.withValue(of: "\(number)", at: EngineTime(rawValue: number)) { $0 = 1 } }
        origins.withValue(of: "0", at: 100) { $0 = 2 }
        origins.withValue(of: "new", at: 101) { $0 = 3 }
        #expect(origins.count == 51)
        #expect(origins.withValue(of: "0", at: 102) { $0 } == 2)
        #expect(origins.withValue(of: "99", at: 102) { $0 } == 1)
        #expect(origins.withValue(of: "1", at: 102) { $0 } == 0)
        for number in Int64(0)..<10_000 {
            origins.withValue(of: "many \(number)", at: EngineTime(rawValue: number + 200)) { $0 = 1 }
        }
        #expect(origins.count <= 100)
    }

    @Test func `recently used values in use are not evicted, however many values follow`() {
        var values = RecentlyUsed<Int, Int>(capacity: 10, isInUse: { $0 > 0 }, initial: { 0 })
        for number in 0..<20 { values.withValue(of: number, at: EngineTime(rawValue: Int64(number))) { $0 = 1 } }
        for number in 20..<100 { values.withValue(of: number, at: EngineTime(rawValue: Int64(number))) { $0 = 0 } }
        #expect((0..<20).allSatisfy { number in values.withValue(of: number, at: 100) { $0 } == 1 })
        #expect(values.count <= 30)
    }

    @Test func `a retry budget is refunded for a retry that was not sent`() {
        var budget = RetryBudget(RetryBudgetPolicy(share: 0, reserve: 1))
        #expect(budget.withdraw(at: 0) && !budget.canWithdraw(at: 0))
        budget.refund(at: 1)
        #expect(budget.withdraw(at: 1) && !budget.canWithdraw(at: 1))
    }
}
