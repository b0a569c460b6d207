import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("The permit queue") struct PermitQueueTests {
    private func place(_ origin: String, _ lane: Lane = .default) -> PermitScope {
        PermitScope(lane: lane, origin: origin)
    }

    private func queue(width: Int = 64, originWidth: Int = 6, _ limits: [Lane: LaneLimits] = [:]) -> PermitQueue<Void> {
        PermitQueue(width: width, originWidth: originWidth, limits: limits)
    }

    @Test func `admits requests within the limits of engine, origin and lane`() {
        var queue = queue(width: 5, originWidth: 2, ["images": LaneLimits(width: 1)])
        let numbers = [
            queue.add(place("a"), .normal), queue.add(place("a"), .normal), queue.add(place("a"), .normal),
            queue.add(place("b", "images"), .normal), queue.add(place("c", "images"), .normal),
            queue.add(place("d"), .normal), queue.add(place("e"), .normal), queue.add(place("f"), .normal),
        ]
        #expect(queue.admitted() == [numbers[0], numbers[1], numbers[3], numbers[5], numbers[6]])
        queue.end(place("b", "images"))
        #expect(queue.admitted() == [numbers[4]])
        queue.end(place("a"))
        #expect(queue.admitted() == [numbers[2]])
        queue.end(place("a"))
        #expect(queue.admitted() == [numbers[7]])
        #expect(queue.running == 5 && queue.waiting == 0)
    }

    @Test func `admits the most urgent request first, and equal ones in order of arrival`() {
        var queue = queue(width: 0)
        let numbers = [RequestPriority.low, .high, .normal, .veryHigh, .high, .veryLow].enumerated().map {
            index, priority in
            queue.add(place("\(index % 2)"), priority)
        }
        queue.width = 6
        #expect(queue.admitted() == [3, 1, 4, 2, 0, 5].map { numbers[$0] })
    }

    @Test func `starves no request`() {
        var queue = queue(width: 1)
        let patient = queue.add(place("a"), .veryLow)
        var rounds = 0
        var admitted: [SlotNumber] = []
        _ = queue.add(place("a"), .veryHigh)
        while admitted != [patient], rounds < 10_000 {
            _ = queue.add(place("a"), .veryHigh)
            admitted = queue.admitted()
            queue.end(place("a"))
            rounds += 1
        }
        // A request rises by one priority after 64 others. After four priorities, it precedes later arrivals. One more
        // request was in the queue before.
        #expect(rounds == 4 * Urgency.aging + 2)
    }

    @Test(arguments: [false, true])
    func `starves no request whose lane and origin are never free at the same time`(isAtOnce: Bool) {
        var queue = queue(originWidth: 1, ["images": LaneLimits(width: 1)])
        let others = [place("a"), place("b", "images")]
        var flying = others
        for other in others { _ = queue.beginIfRoom(other) }
        let patient = queue.add(place("a", "images"), .veryLow)
        var rounds = 0
        var hasBegun = false
        while !hasBegun, rounds < 10_000 {
            rounds += 1
            // The lane and the origin are never free at the same time: when a request ends, another request for the
            // same origin and lane is queued, or begins at once.
            guard !flying.isEmpty else { break }
            let ended = flying.removeFirst()
            let other = others.first { $0 == ended } ?? ended
            let number = isAtOnce ? nil : queue.add(other, .veryHigh)
            queue.end(ended)
            let admitted = queue.admitted()
            hasBegun = admitted.contains(patient)
            if let number, admitted.contains(number) { flying.append(other) }
            if isAtOnce, queue.beginIfRoom(other) { flying.append(other) }
        }
        #expect(hasBegun && rounds < 6 * Urgency.aging)
    }

    @Test func `starves no request behind a long request of its lane and origin`() {
        var queue = queue(originWidth: 2, ["images": LaneLimits(width: 2)])
        let others = [place("b", "images"), place("a")]
        // The first request does not end. When one of the two others ends, an equal request is queued.
        for place in [place("a", "images")] + others { _ = queue.beginIfRoom(place) }
        let patient = queue.add(place("a", "images"), .veryLow)
        var rounds = 0
        var hasBegun = false
        var flying = others
        while !hasBegun, rounds < 10_000, !flying.isEmpty {
            rounds += 1
            let other = flying.removeFirst()
            let number = queue.add(other, .veryHigh)
            queue.end(other)
            let admitted = queue.admitted()
            hasBegun = admitted.contains(patient)
            if admitted.contains(number) { flying.append(other) }
        }
        #expect(hasBegun && rounds < 6 * Urgency.aging)
    }

    /// Requests that wait for a full lane do not reserve a permit of their origin, however long they wait.
    @Test func `leaves an origin's last permit to other lanes, despite a full lane's backlog`() {
        var queue = queue(["images": LaneLimits(width: 5)])
        for _ in 0..<500 { _ = queue.add(place("a", "images"), .normal) }
        #expect(queue.admitted().count == 5)
        var refused: [Int] = []
        var passed: [Int] = []
        for begun in 5..<500 {
            if queue.beginIfRoom(place("a")) {
                // Another request has to wait until this request ends.
                let other = queue.add(place("a"), .normal)
                queue.end(place("a"))
                if queue.admitted() == [other] { queue.end(place("a")) } else { passed.append(begun) }
                queue.remove(other)
            } else {
                refused.append(begun)
            }
            queue.end(place("a", "images"))
            #expect(queue.admitted().count == 1)
        }
        #expect(refused.isEmpty && passed.isEmpty, "after \(refused.first ?? 0) and \(passed.first ?? 0) images")
    }

    @Test func `admits requests of a lane while one of its requests waits for a full origin`() {
        var queue = queue(originWidth: 1, ["images": LaneLimits(width: 1)])
        _ = queue.beginIfRoom(place("a"))
        let patient = queue.add(place("a", "images"), .veryHigh)
        for _ in 0..<4 * Urgency.aging {
            let other = queue.add(place("b", "images"), .normal)
            #expect(queue.admitted() == [other])
            queue.end(place("b", "images"))
        }
        queue.end(place("a"))
        #expect(queue.admitted() == [patient])
    }

    @Test func `reserves nothing for a removed request`() {
        var queue = queue(originWidth: 1, ["images": LaneLimits(width: 1)])
        _ = queue.beginIfRoom(place("b", "images"))
        let patient = queue.add(place("a", "images"), .veryHigh)
        for _ in 0..<Urgency.aging {
            _ = queue.beginIfRoom(place("c"))
            queue.end(place("c"))
        }
        #expect(queue.admitted() == [])
        let isPassed = queue.beginIfRoom(place("a"))
        #expect(queue.isFavored(patient) && !isPassed)
        queue.remove(patient)
        let begins = queue.beginIfRoom(place("a"))
        #expect(!queue.isFavored(patient) && begins)
    }

    @Test func `keeps paused requests waiting, and no others`() {
        var queue = queue()
        queue.paused.lanes = ["images"]
        let (image, other) = (queue.add(place("a", "images"), .veryHigh), queue.add(place("a"), .normal))
        #expect(queue.admitted() == [other])
        queue.paused.includesAllLanes = true
        let third = queue.add(place("b"), .normal)
        #expect(queue.admitted() == [])
        queue.paused.includesAllLanes = false
        queue.paused.lanes = []
        #expect(queue.admitted() == [image, third])
    }

    @Test func `removes requests, and moves those that become more urgent`() {
        var queue = queue(width: 0)
        let numbers = (0..<4).map { _ in queue.add(place("a"), .normal) }
        let removals = [queue.remove(numbers[1]) != nil, queue.remove(numbers[1]) != nil]
        #expect(removals == [true, false])
        queue.change(numbers[3], to: .high)
        queue.width = 4
        #expect(queue.admitted() == [numbers[3], numbers[0], numbers[2]])
    }

    @Test func `ignores the earlier places of a request whose priority has changed twice`() {
        var queue = queue(width: 0)
        let numbers = (0..<3).map { _ in queue.add(place("a"), .normal) }
        queue.change(numbers[1], to: .high)
        queue.change(numbers[1], to: .normal)
        queue.remove(numbers[1])
        queue.change(numbers[2], to: .high)
        queue.change(numbers[2], to: .normal)
        queue.width = 4
        #expect(queue.admitted() == [numbers[0], numbers[2]])
        #expect(queue.running == 2 && queue.waiting == 0)
    }

    @Test func `never exceeds its width, and is empty when all requests have ended`() {
        var random = SplitMix(state: Effort.seed)
        var queue = queue(width: 7, originWidth: 3, ["images": LaneLimits(width: 2)])
        var (waiting, flying): (Set<SlotNumber>, [PermitScope]) = ([], [])
        var places: [SlotNumber: PermitScope] = [:]
        for _ in 0..<Effort.rounds(20_000, soaking: 5_000_000) {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let place = place(
                    "\(Int.random(in: 0..<4, using: &random))", Bool.random(using: &random) ? "images" : .default)
                let priority = RequestPriority.allCases.randomElement(using: &random) ?? .normal
                let number = queue.add(place, priority)
                (places[number], _) = (place, waiting.insert(number))
            case 4:
                if let number = waiting.randomElement(using: &random) { queue.remove(number); waiting.remove(number) }
            case 5:
                let priority = RequestPriority.allCases.randomElement(using: &random) ?? .high
                if let number = waiting.randomElement(using: &random) { queue.change(number, to: priority) }
            default:
                guard let index = flying.indices.randomElement(using: &random) else { continue }
                queue.end(flying.remove(at: index))
            }
            for number in queue.admitted() {
                waiting.remove(number)
                if let place = places.removeValue(forKey: number) { flying.append(place) }
            }
            let most = Dictionary(grouping: flying, by: \.origin).values.map(\.count).max() ?? 0
            #expect(flying.count <= 7 && most <= 3 && flying.count { $0.lane == "images" } <= 2)
            #expect(queue.running == flying.count && queue.waiting == waiting.count, "DIAMOND_SEED=\(Effort.seed)")
        }
        for number in waiting { queue.remove(number) }
        for place in flying { queue.end(place) }
        #expect(queue.running == 0 && queue.waiting == 0 && queue.admitted() == [])
    }
}

extension PermitQueue<Void> {
    fileprivate mutating func add(_ place: PermitScope, _ priority: RequestPriority) -> SlotNumber {
        add((), in: place, priority: priority)
    }

    fileprivate mutating func admitted() -> [SlotNumber] { admit().map(\.number) }
}
