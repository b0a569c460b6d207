import DiamondTestSupport
import Testing

@testable import Diamond

@Suite struct `Who waits in one lane` {
    private static let count = 20_000

    private var waiters = SlotMap<FlightWaiter<Void>>()
    private var queue = LaneQueue("images")
    private var looks = 0

    private mutating func add(_ number: Int, _ origin: String, _ priority: FlightPriority = .normal) -> SlotNumber {
        let waiter = FlightWaiter(
            place: FlightPlace(lane: "images", origin: origin), priority: priority, arrival: number, begun: 0, who: ())
        let number = waiters.add(waiter)
        queue.append(number, to: origin, priority, in: waiters)
        return number
    }

    private mutating func remove(_ number: SlotNumber) {
        guard let waiter = waiters.remove(number) else { return }
        queue.remove(number, from: waiter.place.origin, waiter.priority, in: waiters)
    }

    private mutating func next(isFull: (String) -> Bool) -> SlotNumber? {
        queue.firstWithRoom(but: nil) {
            looks += 1
            return isFull($0)
        }?.number
    }

    @Test mutating func `is looked at in one place for each that begins, at however many origins`() {
        let numbers = (0..<Self.count).map { add($0, "\($0)") }
        var isInOrder = true
        for number in numbers {
            isInOrder = isInOrder && next { _ in false } == number
            remove(number)
        }
        #expect(isInOrder && looks == Self.count && queue.isEmpty)
    }

    @Test mutating func `is not looked at again where an origin is full, until one ends there`() {
        let numbers = (0..<Self.count).map { add($0, "\($0)") }
        #expect(next { _ in true } == nil)
        #expect(looks == Self.count)
        // More who come change nothing, however urgent.
        for number in 0..<10 { _ = add(Self.count + number, "\(number)", .veryHigh) }
        #expect(next { _ in true } == nil)
        #expect(looks == Self.count)
        queue.reopen("70")
        #expect(next { $0 != "70" } == numbers[70])
        #expect(looks == Self.count + 1)
        queue.reopenAll()
        #expect(next { $0 == "70" } != numbers[70])
        #expect(looks == Self.count + 2)
    }
}
