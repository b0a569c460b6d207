import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("A FIFO queue") struct FIFOQueueTests {
    @Test func `returns its elements in the order of arrival`() {
        var random = SplitMix(state: Effort.seed)
        var queue = FIFOQueue<Int>()
        var (added, removed) = (0, 0)
        for _ in 0..<Effort.rounds(5_000, soaking: 500_000) {
            if random.below(2) == 0 {
                queue.append(added)
                added += 1
            } else {
                let expected = removed < added ? removed : nil
                #expect(queue.first == expected, "DIAMOND_SEED=\(Effort.seed)")
                #expect(queue.popFirst() == expected, "DIAMOND_SEED=\(Effort.seed)")
                if expected != nil { removed += 1 }
            }
            #expect(queue.count == added - removed && queue.isEmpty == (added == removed))
        }
    }

    @Test func `does not retain removed elements`() {
        final class Token {}
        var queue = FIFOQueue<Token>()
        weak var left: Token?
        do {
            let token = Token()
            left = token
            queue.append(token)
            queue.append(Token())
        }
        _ = queue.popFirst()
        #expect(left == nil && queue.count == 1)
    }
}
