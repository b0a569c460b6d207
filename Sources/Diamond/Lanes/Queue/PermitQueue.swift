/// Which flights may begin, as a value: of those that wait the most urgent, and among equals the first come, that its
/// lane, its origin and the whole have room for.
struct FlightQueue<Who> {
    typealias Waiter = FlightWaiter<Who>

    /// Flights at the same time.
    var width: Int
    /// Flights to one origin at the same time.
    var originWidth: Int {
        didSet { if originWidth > oldValue { for index in lanes.indices { lanes[index].reopenAll() } } }
    }
    var limits: [Lane: LaneLimits]
    /// By the app's word to the engine.
    var paused = LanePauses() { didSet { addUp() } }
    /// By what is held in the store, for every process.
    var held = LanePauses() { didSet { addUp() } }
    /// Whether no pause counts any more.
    var isOpen = false { didSet { addUp() } }
    /// All that count.
    private(set) var pauses = LanePauses()

    private(set) var running = 0
    private var runningByLane = FlightTally<Lane>()
    private var runningByOrigin = FlightTally<String>()
    private var runningByPlace = FlightTally<FlightPlace>()
    private var waiters = SlotMap<Waiter>()
    /// Those in which somebody waits.
    private var lanes: [LaneQueue] = []
    private var indices: [Lane: Int] = [:]
    private var arrived = 0
    private var begun = 0
    /// Who has waited for long for its lane, in which others fly elsewhere: one place at its origin is kept for it, because
    /// both may never have room at the same time. Where all of the lane fly there, each that ends makes room in both; so it
    /// is never more than the lane may have that is kept from other lanes.
    private var favored: (number: SlotNumber, place: FlightPlace)?

    init(width: Int, originWidth: Int, limits: [Lane: LaneLimits]) {
        self.width = width
        self.originWidth = originWidth
        self.limits = limits
    }

    private mutating func addUp() { pauses = isOpen ? LanePauses() : paused.union(held) }

    var waiting: Int { waiters.count }

    /// Who waits; `nil` for one that does not.
    subscript(number: SlotNumber) -> Who? {
        get { waiters[number]?.who }
        set { if let newValue { waiters[number]?.who = newValue } }
    }

    /// Begins at once where there is room; `false` where it has to wait.
    ///
    /// Whoever waits already waits for want of room at its place, and is not passed by this.
    mutating func begins(_ place: FlightPlace) -> Bool {
        guard running < width, hasRoom(place) else { return false }
        begin(place)
        return true
    }

    /// - Returns: its number; it may begin when ``admit()`` names it.
    mutating func add(_ place: FlightPlace, _ priority: FlightPriority, _ who: Who) -> SlotNumber {
        arrived += 1
        let number = waiters.add(
            Waiter(place: place, priority: priority, arrival: arrived, begun: begun, who: who))
        append(number, place, priority)
        return number
    }

    private mutating func append(_ number: SlotNumber, _ place: FlightPlace, _ priority: FlightPriority) {
        let index = indices[place.lane] ?? open(place.lane)
        lanes[index].append(number, to: place.origin, priority, in: waiters)
    }

    private mutating func open(_ lane: Lane) -> Int {
        lanes.append(LaneQueue(lane))
        indices[lane] = lanes.count - 1
        return lanes.count - 1
    }

    /// Takes back one that waits; `nil` where it does not.
    @discardableResult
    mutating func remove(_ number: SlotNumber) -> Waiter? {
        guard let waiter = waiters.remove(number) else { return nil }
        leaveLine(number, waiter)
        if isFavored(number) { favored = nil }
        return waiter
    }

    /// Whether a place is kept for it, which others may have when it goes.
    func isFavored(_ number: SlotNumber) -> Bool { favored?.number == number }

    private mutating func leaveLine(_ number: SlotNumber, _ waiter: Waiter) {
        guard let index = indices[waiter.place.lane] else { return }
        lanes[index].remove(number, from: waiter.place.origin, waiter.priority, in: waiters)
        if lanes[index].isEmpty { close(index) }
    }

    private mutating func close(_ index: Int) {
        indices[lanes[index].lane] = nil
        lanes.swapAt(index, lanes.count - 1)
        lanes.removeLast()
        if index < lanes.count { indices[lanes[index].lane] = index }
    }

    /// Gives one that waits another priority; it keeps its age, and comes after the equals that were there.
    mutating func change(_ number: SlotNumber, to priority: FlightPriority) {
        guard let waiter = waiters[number], waiter.priority != priority else { return }
        leaveLine(number, waiter)
        waiters[number]?.priority = priority
        append(number, waiter.place, priority)
    }

    /// One flight has ended.
    mutating func end(_ place: FlightPlace) {
        running -= 1
        runningByLane.subtract(place.lane)
        runningByOrigin.subtract(place.origin)
        runningByPlace.subtract(place)
        for index in lanes.indices { lanes[index].reopen(place.origin) }
    }

    /// Who begins now. Each, and whoever ends or comes, costs a look at every lane in which somebody waits, and the
    /// logarithm of the number of their origins.
    mutating func admit() -> [(number: SlotNumber, waiter: Waiter)] {
        var admitted: [(SlotNumber, Waiter)] = []
        while !waiters.isEmpty, running < width, !pauses.isWhole, let next = next(), let waiter = remove(next) {
            begin(waiter.place)
            admitted.append((next, waiter))
        }
        return admitted
    }

    private mutating func next() -> SlotNumber? {
        favored = nil
        // Who waits in no narrow lane waits for its origin alone, and gets what is free there.
        if !limits.isEmpty { favored = mostPatient() }
        let kept = favored.flatMap { hasRoomAtOrigin($0.place) ? nil : $0.place.origin }
        let (flying, most) = (runningByOrigin, originWidth)
        var next: FlightHead?
        for index in lanes.indices where isOpen(lanes[index].lane) {
            guard let head = lanes[index].firstWithRoom(but: kept, isFull: { flying[$0] >= most }) else { continue }
            next = next.map { max($0, head) } ?? head
        }
        return next?.number
    }

    /// The most urgent of those whose lane is full, and for whom not each that ends in it makes room at their origin.
    private func mostPatient() -> (number: SlotNumber, place: FlightPlace)? {
        let heads = lanes.lazy.filter { !pauses.contains($0.lane) && !hasRoom(in: $0.lane) }.compactMap { lane in
            lane.first { flyElsewhere(FlightPlace(lane: lane.lane, origin: $0)) }
        }
        guard let number = heads.max()?.number, let waiter = waiters[number] else { return nil }
        return waiter.hasWaitedLong(begun: begun) ? (number, waiter.place) : nil
    }

    private func hasRoom(_ place: FlightPlace) -> Bool { isOpen(place.lane) && hasRoomAtOrigin(place) }

    /// But for what is kept for one who waits.
    private func hasRoomAtOrigin(_ place: FlightPlace) -> Bool {
        let kept = favored?.place.origin == place.origin ? 1 : 0
        return runningByOrigin[place.origin] + kept < originWidth
    }

    private func isOpen(_ lane: Lane) -> Bool { !pauses.contains(lane) && hasRoom(in: lane) }

    private func hasRoom(in lane: Lane) -> Bool {
        limits.isEmpty || runningByLane[lane] < limits[lane]?.width ?? width
    }

    /// Of a full lane, in which this is so for all origins but one at the most.
    private func flyElsewhere(_ place: FlightPlace) -> Bool { runningByPlace[place] < runningByLane[place.lane] }

    private mutating func begin(_ place: FlightPlace) {
        running += 1
        begun += 1
        runningByLane.add(place.lane)
        runningByOrigin.add(place.origin)
        runningByPlace.add(place)
    }
}
