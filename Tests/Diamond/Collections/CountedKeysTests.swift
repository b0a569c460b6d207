import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("Counted keys") struct CountedKeysTests {
    @Test func `hold each key's additions minus its removals`() {
        var random = SplitMix(state: Effort.seed)
        var (tally, known) = (CountedKeys<Int>(), [Int: Int]())
        for _ in 0..<Effort.rounds(5_000, soaking: 500_000) {
            // More keys than are stored with a count of 0.
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
