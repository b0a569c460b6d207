/// Who waits in one lane, by origin. Who is first is found without a look at every origin.
struct LaneQueue {
    private struct Place {
        var origin: String
        var lines = FlightLines()
        var first: SlotNumber?
    }

    let lane: Lane
    /// Those of `free` are empty.
    private var places: [Place] = []
    private var free: [Int] = []
    private var indices: [String: Int] = [:]
    /// By who is first in each. One that somebody waits in is here, or set aside.
    private var ready = Heap<FlightUrgency>()
    /// Those whose origin was full when they came up: at none has a flight ended since.
    private var aside = Heap<FlightUrgency>()

    init(_ lane: Lane) { self.lane = lane }

    var isEmpty: Bool { indices.isEmpty }

    /// - Parameter waiters: the one under this number among them, and all that were put here before.
    mutating func append<Who>(
        _ number: SlotNumber,
        to origin: String,
        _ priority: FlightPriority,
        in waiters: SlotMap<FlightWaiter<Who>>
    ) {
        let index = indices[origin] ?? open(origin)
        places[index].lines.append(number, priority)
        settle(index, in: waiters)
    }

    private mutating func open(_ origin: String) -> Int {
        let index = free.popLast() ?? places.count
        if index == places.count { places.append(Place(origin: origin)) } else { places[index].origin = origin }
        indices[origin] = index
        return index
    }

    /// - Parameter waiters: all that stay here.
    mutating func remove<Who>(
        _ number: SlotNumber,
        from origin: String,
        _ priority: FlightPriority,
        in waiters: SlotMap<FlightWaiter<Who>>
    ) {
        guard let index = indices[origin] else { return }
        places[index].lines.remove(number, priority)
        settle(index, in: waiters)
    }

    /// Puts a place where who is first there belongs, who may be less urgent than another before, and more.
    private mutating func settle<Who>(_ index: Int, in waiters: SlotMap<FlightWaiter<Who>>) {
        guard let head = places[index].lines.first(in: waiters) else { return close(index) }
        guard head.number != places[index].first else { return }
        places[index].first = head.number
        if aside.contains(index) { aside.set(head.urgency, for: index) } else { ready.set(head.urgency, for: index) }
    }

    private mutating func close(_ index: Int) {
        indices[places[index].origin] = nil
        places[index] = Place(origin: "")
        free.append(index)
        ready.remove(index)
        aside.remove(index)
    }

    /// The first of those whose origin is chosen, full or not; quick where few are not.
    func first(where isChosen: (String) -> Bool) -> FlightHead? {
        let heads = [ready, aside].compactMap { $0.first { isChosen(places[$0].origin) } }.compactMap(head)
        return heads.max()
    }

    private func head(_ entry: Heap<FlightUrgency>.Entry) -> FlightHead? {
        places[entry.number].first.map { FlightHead(urgency: entry.key, number: $0) }
    }

    /// The first of those who find room at their origin. Those that come up and find none are set aside, and need no look
    /// until ``reopen(_:)``.
    ///
    /// - Parameter kept: the origin that nobody may have, full or not.
    mutating func firstWithRoom(but kept: String?, isFull: (String) -> Bool) -> FlightHead? {
        while let entry = ready.first(where: { places[$0].origin != kept }) {
            guard isFull(places[entry.number].origin) else { return head(entry) }
            ready.remove(entry.number)
            aside.set(entry.key, for: entry.number)
        }
        return nil
    }

    /// There may be room again at an origin.
    mutating func reopen(_ origin: String) {
        guard !aside.isEmpty, let index = indices[origin] else { return }
        reopen(index)
    }

    /// There may be room again at any.
    mutating func reopenAll() { for index in Array(aside.numbers) { reopen(index) } }

    private mutating func reopen(_ index: Int) {
        if let urgency = aside.remove(index) { ready.set(urgency, for: index) }
    }
}
