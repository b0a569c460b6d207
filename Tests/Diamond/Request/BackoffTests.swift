import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("The delay before a retry") struct BackoffTests {
    /// The exponent, the most milliseconds, and the most when throttled.
    static let table: [(Int, Int64, Int64)] = [
        (0, 50, 1000), (1, 100, 2000), (2, 200, 4000), (3, 400, 8000), (4, 800, 16_000), (5, 1600, 20_000),
        (6, 3200, 20_000), (7, 6400, 20_000), (8, 12_800, 20_000), (9, 20_000, 20_000), (64, 20_000, 20_000),
        (Int.max, 20_000, 20_000), (-1, 50, 1000),
    ]

    @Test(arguments: table) func `the delay doubles up to the cap`(exponent: Int, limit: Int64, throttled: Int64) {
        #expect(Backoff(.default).delay(exponent, draw: 1) == .milliseconds(limit))
        #expect(Backoff(.default, isThrottled: true).delay(exponent, draw: 1) == .milliseconds(throttled))
    }

    @Test(arguments: [(0, 0), (0.25, 25), (0.5, 50), (0.75, 75), (1, 100), (-1, 0), (2, 100)] as [(Double, Int64)])
    func `the delay is the limit multiplied by the random draw`(draw: Double, milliseconds: Int64) {
        #expect(Backoff(.default).delay(1, draw: draw) == .milliseconds(milliseconds))
    }

    @Test func `the delay is spread over the whole range`() {
        var random = SplitMix(state: 7)
        let backoff = Backoff(.default)
        let delays = (0..<10_000).map { _ in
            backoff.delay(2, draw: Double.random(in: 0..<1, using: &random)).milliseconds
        }
        #expect(delays.allSatisfy { (0...200).contains($0) })
        let quarters = Dictionary(grouping: delays) { min(3, $0 / 50) }.mapValues(\.count)
        #expect((0..<4).allSatisfy { (2200...2800).contains(quarters[$0] ?? 0) }, "\(quarters)")
    }

    @Test func `the delay is zero where the policy has no base`() {
        #expect(Backoff(RetryPolicy(baseDelay: .zero)).delay(Int.max, draw: 1) == .zero)
        var policy = RetryPolicy(baseDelay: .seconds(1))
        policy.maxDelay = .zero
        #expect(Backoff(policy).delay(3, draw: 1) == .zero)
    }
}
