import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("The queue of one lane") struct LaneQueueTests {
    private static let count = 20_000

    private var numbers = SlotMap<Void>()
    private var queue = LaneQueue()
    private var looks = 0

    private mutating func add(
        _ arrival: Int,
        _ origin: String,
        _ priority: RequestPriority = .normal
    ) -> LaneQueue.Entry {
        let urgency = Urgency(priority, begun: 0, arrival: arrival)
        let entry = LaneQueue.Entry(number: numbers.add(()), urgency: urgency)
        queue.append(entry, to: origin, priority: priority)
        return entry
    }

    private mutating func next(isFull: (String) -> Bool) -> LaneQueue.Entry? {
        queue.first { origin in
            looks += 1
            return !isFull(origin)
        }
    }

    @Test mutating func `a lane's queue examines one entry for each request that begins, at any number of origins`() {
        let entries = (0..<Self.count).map { add($0, "\($0)") }
        var isInOrder = true
        for (origin, entry) in entries.enumerated() {
            isInOrder = isInOrder && next { _ in false } == entry
            queue.remove(entry, from: "\(origin)", priority: .normal)
        }
        #expect(isInOrder && looks == Self.count && queue.isIdle)
    }

    @Test mutating func `a lane's queue examines at most two more entries for each full origin`() {
        let entries = (0..<Self.count).map { add($0, "\($0)") }
        let full = Set((0..<60).map { "\($0)" })
        #expect(next(isFull: full.contains) == entries[60])
        #expect(looks <= 2 * full.count + 1)
        // The same holds if the requests for full origins are more urgent.
        for number in 0..<10 { _ = add(Self.count + number, "\(number)", .veryHigh) }
        looks = 0
        #expect(next(isFull: full.contains) == entries[60])
        #expect(looks <= 2 * full.count + 1)
    }

    @Test mutating func `a lane's queue examines at most three entries if one origin is full`() {
        let entries = (0..<Self.count).map { add($0, "\($0)") }
        queue.begin("0")
        #expect(queue.firstElsewhere() == entries[1])
        #expect(next { $0 == "0" } == entries[1])
        #expect(looks <= 3)
        queue.begin("1")
        #expect(queue.firstElsewhere() == entries[0])
        queue.end("0")
        queue.end("1")
        #expect(queue.firstElsewhere() == nil)
    }
}
