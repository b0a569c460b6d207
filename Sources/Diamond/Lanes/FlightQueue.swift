/// Which flights may begin, as a value: of those that wait the most urgent, and among equals the first come, that its
/// lane, its origin and the whole have room for.
struct FlightQueue {
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
    private var waiters: [Int: FlightWaiter] = [:]
    /// The priorities of one place, the lowest first.
    private var lines: [FlightPlace: [FlightLine]] = [:]
    private var count = 0
    private var begun = 0

    init(width: Int, originWidth: Int, limits: [Lane: LaneLimits]) {
        self.width = width
        self.originWidth = originWidth
        self.limits = limits
    }

    private mutating func addUp() { pauses = isOpen ? LanePauses() : paused.union(held) }

    var waiting: Int { waiters.count }

    func isWaiting(_ number: Int) -> Bool { waiters[number] != nil }

    /// Begins at once where there is room; `false` where it has to wait.
    ///
    /// Whoever waits already waits for want of room at its place, and is not passed by this.
    mutating func begins(_ place: FlightPlace) -> Bool {
        guard running < width, hasRoom(place) else { return false }
        begin(place)
        return true
    }

    /// - Returns: its number; it may begin when ``admit()`` names it.
    mutating func add(_ place: FlightPlace, _ priority: FlightPriority) -> Int {
        count += 1
        let waiter = FlightWaiter(number: count, place: place, priority: priority, begun: begun)
        waiters[count] = waiter
        append(waiter)
        return count
    }

    private mutating func append(_ waiter: FlightWaiter) {
        let none = Array(repeating: FlightLine(), count: FlightPriority.allCases.count)
        lines[waiter.place, default: none][waiter.priority.rawValue].append(waiter)
    }

    /// Takes back one that waits; `false` where it does not.
    @discardableResult
    mutating func remove(_ number: Int) -> Bool {
        guard let waiter = waiters.removeValue(forKey: number) else { return false }
        lines[waiter.place]?[waiter.priority.rawValue].remove(number)
        if lines[waiter.place]?.allSatisfy(\.isEmpty) == true { lines[waiter.place] = nil }
        return true
    }

    /// Gives one that waits another priority; it keeps its age, and comes after the equals that were there.
    mutating func change(_ number: Int, to priority: FlightPriority) {
        guard var waiter = waiters[number], waiter.priority != priority, remove(number) else { return }
        waiter.priority = priority
        waiters[number] = waiter
        append(waiter)
    }

    /// One flight has ended.
    mutating func end(_ place: FlightPlace) {
        running -= 1
        runningByLane.subtract(place.lane)
        runningByOrigin.subtract(place.origin)
    }

    /// Who begins now. Costs a look at every place in which somebody waits, where there is room for anybody.
    mutating func admit() -> [Int] {
        var admitted: [Int] = []
        while !waiters.isEmpty, running < width, !pauses.isWhole, let next = next() {
            remove(next.number)
            begin(next.place)
            admitted.append(next.number)
        }
        return admitted
    }

    private func next() -> FlightWaiter? {
        lines.lazy.filter { hasRoom($0.key) }.flatMap { $0.value.lazy.compactMap(\.first) }
            .max { left, right in
                (left.rank(begun: begun), right.number) < (right.rank(begun: begun), left.number)
            }
    }

    private func hasRoom(_ place: FlightPlace) -> Bool {
        let laneWidth = limits.isEmpty ? width : limits[place.lane]?.width ?? width
        return !pauses.contains(place.lane) && runningByOrigin[place.origin] < originWidth
            && runningByLane[place.lane] < laneWidth
    }

    private mutating func begin(_ place: FlightPlace) {
        running += 1
        begun += 1
        runningByLane.add(place.lane)
        runningByOrigin.add(place.origin)
    }
}
