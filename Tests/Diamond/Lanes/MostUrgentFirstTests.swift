import Testing

@testable import Diamond

@Suite("A queue ordered by priority") struct MostUrgentFirstTests {
    @Test func `a queue returns the most urgent item first, and equally urgent items in order of arrival`() {
        var queue = MostUrgentFirst<Int>()
        for (number, priority) in [RequestPriority.low, .high, .normal, .veryHigh, .high, .veryLow].enumerated() {
            queue.append(number, priority: priority)
        }
        #expect(queue.count == 6)
        var left: [Int] = []
        while let number = queue.popFirst() { left.append(number) }
        #expect(left == [3, 1, 4, 2, 0, 5] && queue.count == 0)
    }

    @Test(arguments: RequestPriority.allCases) func `a queue starves no item`(priority: RequestPriority) {
        var queue = MostUrgentFirst<Int>()
        queue.append(0, priority: priority)
        queue.append(1, priority: .veryHigh)
        var rounds = 0
        var last: Int?
        while last != 0, rounds < 10_000 {
            queue.append(1, priority: .veryHigh)
            last = queue.popFirst()
            rounds += 1
        }
        let steps = RequestPriority.veryHigh.rawValue - priority.rawValue
        // One more item was in the queue before.
        #expect(rounds == (steps > 0 ? steps * Urgency.aging + 2 : 1))
    }
}
