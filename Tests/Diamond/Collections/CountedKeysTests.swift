import DiamondTestSupport
import Testing

@testable import Diamond

@Suite struct `A tally` {
    @Test func `counts what was added and not taken back, for each key`() {
        var random = SplitMix(state: Effort.seed)
        var (tally, known) = (CountedKeys<Int>(), [Int: Int]())
        for _ in 0..<Effort.rounds(5_000, soaking: 500_000) {
            // More keys than are kept at 0.
            let key = random.below(200)
            if random.below(2) == 0 {
                tally.add(key)
                known[key, default: 0] += 1
            } else if let count = known[key], count > 0 {
                tally.subtract(key)
                known[key] = count - 1
            }
            #expect(tally[key] == known[key] ?? 0, "DIAMOND_SEED=\(Effort.seed)")
        }
    }
}
