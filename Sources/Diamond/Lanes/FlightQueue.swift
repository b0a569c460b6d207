/// Which flights may begin, as a value: of those that wait the most urgent, and among equals the first come, that its
/// lane, its origin and the whole have room for.
struct FlightQueue<Who> {
    typealias Waiter = FlightWaiter<Who>

    /// Flights at the same time.
    var width: Int
    /// Flights to one origin at the same time.
    var originWidth: Int
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
    /// The priorities of one place, the lowest first.
    private var lines: [FlightPlace: [FlightLine]] = [:]
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
        let none = Array(repeating: FlightLine(), count: FlightPriority.allCases.count)
        lines[place, default: none][priority.rawValue].append(number)
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
        lines[waiter.place]?[waiter.priority.rawValue].remove(number)
        if lines[waiter.place]?.allSatisfy(\.isEmpty) == true { lines[waiter.place] = nil }
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
    }

    /// Who begins now. Costs a look at every place in which somebody waits, where there is room for anybody.
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
        if !limits.isEmpty {
            favored = best { !pauses.contains($0.lane) && !hasRoomInLane($0) && flyElsewhere($0) }
                .flatMap { $0.rank > Waiter.highestRank ? ($0.number, $0.place) : nil }
        }
        return best(where: hasRoom)?.number
    }

    private typealias Best = (number: SlotNumber, place: FlightPlace, rank: Int, arrival: Int)

    /// The most urgent of those who wait at some places, and of equals who came first.
    private func best(where isChosen: (FlightPlace) -> Bool) -> Best? {
        var best: Best?
        for (place, lines) in lines where isChosen(place) {
            for number in lines.lazy.compactMap(\.first) {
                guard let waiter = waiters[number] else { continue }
                let (rank, arrival) = (waiter.rank(begun: begun), waiter.arrival)
                if let best, (best.rank, arrival) > (rank, best.arrival) { continue }
                best = (number, place, rank, arrival)
            }
        }
        return best
    }

    /// But for what is kept for one who waits.
    private func hasRoom(_ place: FlightPlace) -> Bool {
        let kept = favored?.place.origin == place.origin ? 1 : 0
        return !pauses.contains(place.lane) && hasRoomInLane(place)
            && runningByOrigin[place.origin] + kept < originWidth
    }

    private func flyElsewhere(_ place: FlightPlace) -> Bool { runningByPlace[place] < runningByLane[place.lane] }

    private func hasRoomInLane(_ place: FlightPlace) -> Bool {
        limits.isEmpty || runningByLane[place.lane] < limits[place.lane]?.width ?? width
    }

    private mutating func begin(_ place: FlightPlace) {
        running += 1
        begun += 1
        runningByLane.add(place.lane)
        runningByOrigin.add(place.origin)
        runningByPlace.add(place)
    }
}
