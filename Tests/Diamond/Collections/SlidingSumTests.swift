import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("A sliding sum") struct SlidingSumTests {
    @Test func `drops old values with a precision of a tenth of its window`() {
        var sum = SlidingSum(milliseconds: 10_000)
        sum.add(1, at: 500)
        sum.add(2, at: 1500)
        #expect(sum.sum(at: 9999) == 3)
        #expect(sum.sum(at: 10_000) == 2)
        #expect(sum.sum(at: 11_000) == 0)
    }

    @Test(arguments: 0..<20) func `equals the sum of a list of all values`(seed: Int) {
        var random = SplitMix(state: UInt64(seed) + 100)
        var sum = SlidingSum(milliseconds: 1000)
        var all: [(slice: Int64, value: Int)] = []
        var now: Int64 = 0
        for _ in 0..<500 {
            now += Int64(random.below(300))
            let value = random.below(21) - 10
            sum.add(value, at: EngineTime(rawValue: now))
            all.append((now / 100, value))
            let expected = all.filter { $0.slice > now / 100 - 10 }.reduce(0) { $0 + $1.value }
            #expect(sum.sum(at: EngineTime(rawValue: now)) == expected)
        }
    }
}
