import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("A heap") struct HeapTests {
    @Test func `has the greatest selected item first, after any changes`() {
        var random = SplitMix(state: Effort.seed)
        var (heap, known): (Heap<Int, Int>, [Int: Int]) = (Heap(), [:])
        for _ in 0..<Effort.rounds(20_000, soaking: 1_000_000) {
            let number = random.below(40)
            if random.below(5) < 2 {
                heap.remove(number)
                known[number] = nil
            } else {
                // No two are equal.
                let key = random.below(1000) * 40 + number
                heap.set(key, for: number)
                known[number] = key
            }
            let refused = random.below(4) == 0 ? known.keys.filter { _ in random.below(3) == 0 } : []
            let first = known.filter { !refused.contains($0.key) }.max { $0.value < $1.value }
            let found = heap.first { !refused.contains($0) }
            #expect(found?.value == first?.key && found?.key == first?.value, "DIAMOND_SEED=\(Effort.seed)")
            #expect(heap.count == known.count && heap[number] == known[number], "DIAMOND_SEED=\(Effort.seed)")
        }
    }

    @Test func `compares few items for each of many changes`() {
        let counter = Counter()
        var random = SplitMix(state: Effort.seed)
        var heap = Heap<Int, Counted>()
        var most = 0
        for round in 0..<60_000 {
            let number = round % 20_000
            let before = counter.count
            if round < 40_000 {
                heap.set(Counted(value: Int(random.next() >> 1), counter: counter), for: number)
            } else {
                heap.remove(number)
            }
            most = max(most, counter.count - before)
        }
        // An item moves through at most the levels of 20,000 items, with two comparisons at each, and one more to stop.
        #expect(most <= 2 * 15 + 1 && heap.isEmpty, "DIAMOND_SEED=\(Effort.seed)")
    }

    @Test func `examines at most two items per refused item, and one more`() {
        var heap = Heap<Int, Int>()
        for number in 0..<20_000 { heap.set(number, for: number) }
        var looks = 0
        let found = heap.first {
            looks += 1
            return $0 < 19_995
        }
        #expect(found?.value == 19_994 && looks <= 2 * 5 + 1)
    }
}

private final class Counter {
    var count = 0
}

/// A key that counts how often it is compared.
private struct Counted: Comparable {
    let value: Int
    let counter: Counter

    static func < (left: Counted, right: Counted) -> Bool {
        left.counter.count += 1
        return left.value < right.value
    }

    static func == (left: Counted, right: Counted) -> Bool { left.value == right.value }
}
