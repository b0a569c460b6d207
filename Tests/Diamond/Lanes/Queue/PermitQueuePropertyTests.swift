import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("The permit queue compared with a plain one") struct PermitQueuePropertyTests {
    @Test func `the permit queue admits the same requests as a plain queue, and reserves for the same ones`() {
        var pair = Pair(seed: Effort.seed)
        var (differs, hasReserved) = (false, false)
        for step in 0..<Effort.rounds(12_000, soaking: 300_000) where !differs {
            let difference = pair.step(step)
            hasReserved = hasReserved || pair.plain.favored != nil
            differs = difference != nil
            #expect(difference == nil, "step \(step), DIAMOND_SEED=\(Effort.seed)")
        }
        #expect(hasReserved, "No room was ever reserved: DIAMOND_SEED=\(Effort.seed)")
    }
}

/// Both queues, which receive the same events.
private struct Pair {
    private static let lanes: [Lane] = [.default, "images", "api", "files"]

    private(set) var plain = PlainPermitQueue(width: 6, originWidth: 2, limits: [:])
    private var queue = PermitQueue<Int>(width: 6, originWidth: 2, limits: [:])
    private var numbers: [Int: SlotNumber] = [:]
    private var come = 0
    private var random: SplitMix

    init(seed: UInt64) { random = SplitMix(state: seed) }

    /// - Returns: a description of the difference after an event.
    mutating func step(_ step: Int) -> String? {
        if step % 1_000 == 0 { changeLimits() }
        tellPlain()
        let begins = happen()
        let (admitted, expected) = (queue.admit().map(\.waiter.payload), plain.admit())
        for number in expected { numbers[number] = nil }
        let favored = numbers.first { queue.isFavored($0.value) }?.key
        return begins == nil && admitted == expected && favored == plain.favored && queue.running == plain.flying.count
            && queue.waiting == numbers.count
            ? nil
            : "\(begins ?? "") \(admitted), not \(expected); reserved for \(favored ?? 0), not \(plain.favored ?? 0)"
    }

    /// - Returns: a description of the difference if only one queue has room for an exchange; otherwise `nil`.
    private mutating func happen() -> String? {
        switch random.below(numbers.count > 60 ? 200 : 300) {
        case 0..<90: end()
        case 90..<105: remove()
        case 105..<130: change()
        case 130: queue.originWidth = 1 + random.below(3)
        case 131: queue.width = random.below(8)
        case 132: queue.limits["images"] = LaneLimits(width: 1 + random.below(3))
        case 133: queue.paused = pauses()
        case 134: queue.held = pauses()
        case 135: queue.ignoresPauses.toggle()
        // Pauses have to end, because requests age only while others begin.
        case 136..<145: (queue.paused, queue.held, queue.ignoresPauses) = (LanePauses(), LanePauses(), false)
        case 145..<150: queue.width = 6
        case 150..<160: return begin()
        default: add()
        }
        tellPlain()
        return nil
    }

    private mutating func tellPlain() {
        (plain.width, plain.originWidth, plain.limits) = (queue.width, queue.originWidth, queue.limits)
        plain.pauses = queue.ignoresPauses ? LanePauses() : queue.paused.union(queue.held)
    }

    private mutating func changeLimits() {
        queue.limits = [:]
        for lane in Self.lanes.dropFirst() where random.below(3) > 0 {
            queue.limits[lane] = LaneLimits(width: random.below(4) == 0 ? nil : 1 + random.below(2))
        }
    }

    private mutating func pauses() -> LanePauses {
        LanePauses(lanes: Set(Self.lanes.filter { _ in random.below(4) == 0 }), includesAllLanes: random.below(4) == 0)
    }

    private mutating func place() -> PermitScope {
        PermitScope(lane: Self.lanes[random.below(Self.lanes.count)], origin: "\(random.below(5))")
    }

    private mutating func priority() -> RequestPriority {
        RequestPriority.allCases.randomElement(using: &random) ?? .normal
    }

    private mutating func begin() -> String? {
        let place = place()
        let (begins, expected) = (queue.beginIfRoom(place), plain.begins(place))
        return begins == expected ? nil : "\(place) begins: \(begins)."
    }

    private mutating func add() {
        let (place, priority) = (place(), priority())
        come += 1
        numbers[come] = queue.add(come, in: place, priority: priority)
        plain.add(come, place, priority)
    }

    /// Ends a random request. Requests in lanes with a width end rarely, so that many requests wait for these lanes.
    private mutating func end() {
        guard let index = plain.flying.indices.randomElement(using: &random) else { return }
        let place = plain.flying[index]
        if queue.limits[place.lane]?.width != nil, random.below(8) > 0 { return }
        queue.end(place)
        plain.end(index)
    }

    private mutating func remove() {
        guard let number = plain.waiting.randomElement(using: &random), let other = numbers.removeValue(forKey: number)
        else { return }
        queue.remove(other)
        plain.remove(number)
    }

    private mutating func change() {
        guard let number = plain.waiting.randomElement(using: &random), let other = numbers[number] else { return }
        let priority = priority()
        queue.change(other, to: priority)
        plain.change(number, to: priority)
    }
}
