import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("A FIFO set") struct FIFOSetTests {
    @Test func `keeps the order of its members, including members added again`() {
        var random = SplitMix(state: Effort.seed)
        var (queue, known) = (FIFOSet<Int>(), [Int]())
        for _ in 0..<Effort.rounds(20_000, soaking: 1_000_000) {
            let element = random.below(100)
            if let index = known.firstIndex(of: element) {
                queue.remove(element)
                known.remove(at: index)
            } else {
                queue.append(element)
                known.append(element)
            }
            #expect(queue.first == known.first && queue.count == known.count, "DIAMOND_SEED=\(Effort.seed)")
            #expect(queue.isEmpty == known.isEmpty)
        }
        for element in known {
            #expect(queue.first == element, "DIAMOND_SEED=\(Effort.seed)")
            queue.remove(element)
        }
        #expect(queue.isEmpty)
    }

    @Test func `removes very many members in any order in linear time`() {
        var random = SplitMix(state: Effort.seed)
        var queue = FIFOSet<Int>()
        let elements = Array(0..<200_000)
        for element in elements { queue.append(element) }
        for element in elements.shuffled(using: &random) { queue.remove(element) }
        #expect(queue.isEmpty && queue.first == nil)
    }
}
