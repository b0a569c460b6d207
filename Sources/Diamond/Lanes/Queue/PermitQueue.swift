/// A value that decides which exchanges may begin: the most urgent waiter that has room in its lane, at its origin and
/// in all. Among equals, the one that came first begins.
struct PermitQueue<Who> {
    struct Waiter {
        var place: PermitScope
        var priority: RequestPriority
        /// Its number, in the order in which they came.
        var arrival: Int
        /// The number of exchanges that had begun when it came.
        var begun: Int
        var who: Who

        var urgency: Urgency { Urgency(priority, begun: begun, arrival: arrival) }
    }

    /// Exchanges at the same time.
    var width: Int
    /// Exchanges with one origin at the same time.
    var originWidth: Int
    var limits: [Lane: LaneLimits]
    /// Pauses that the app has asked the engine for.
    var paused = LanePauses() { didSet { updatePauses() } }
    /// Pauses that are kept in the store, for every process.
    var held = LanePauses() { didSet { updatePauses() } }
    /// Whether no pause counts any more.
    var isOpen = false { didSet { updatePauses() } }
    /// All pauses that count.
    private(set) var pauses = LanePauses()

    private(set) var running = 0
    private var runningByOrigin = Tally<String>()
    private var waiters = SlotMap<Waiter>()
    private var lanes: [Lane: LaneQueue] = [:]
    private var arrived = 0
    private var begun = 0
    /// The waiter for whom one place at its origin is kept, because it has waited for long for a lane that is full of exchanges
    /// with other origins: its lane and its origin may never have room at the same time. Where all exchanges of the lane are
    /// with its origin, each that ends makes room in both, and nothing is kept; so a lane keeps no more from other lanes than
    /// it may have.
    private var favored: (number: SlotNumber, place: PermitScope)?

    init(width: Int, originWidth: Int, limits: [Lane: LaneLimits]) {
        self.width = width
        self.originWidth = originWidth
        self.limits = limits
    }

    private mutating func updatePauses() { pauses = isOpen ? LanePauses() : paused.union(held) }

    // MARK: Waiting

    var waiting: Int { waiters.count }

    /// The waiter under a number; `nil` where none waits.
    subscript(number: SlotNumber) -> Who? {
        get { waiters[number]?.who }
        set { if let newValue { waiters[number]?.who = newValue } }
    }

    /// Adds a waiter, which may begin when ``admit()`` names it.
    ///
    /// - Returns: its number.
    mutating func add(_ place: PermitScope, _ priority: RequestPriority, _ who: Who) -> SlotNumber {
        arrived += 1
        let waiter = Waiter(place: place, priority: priority, arrival: arrived, begun: begun, who: who)
        let number = waiters.add(waiter)
        enqueue(number, waiter)
        return number
    }

    /// Removes a waiter.
    ///
    /// - Returns: `nil` where it does not wait.
    @discardableResult
    mutating func remove(_ number: SlotNumber) -> Waiter? {
        guard let waiter = waiters.remove(number) else { return nil }
        dequeue(number, waiter)
        if isFavored(number) { favored = nil }
        return waiter
    }

    /// Gives a waiter another priority. It keeps its age, and comes after the equals that were there.
    mutating func change(_ number: SlotNumber, to priority: RequestPriority) {
        guard var waiter = waiters[number], waiter.priority != priority else { return }
        dequeue(number, waiter)
        waiter.priority = priority
        waiters[number] = waiter
        enqueue(number, waiter)
    }

    private mutating func enqueue(_ number: SlotNumber, _ waiter: Waiter) {
        let entry = LaneQueue.Entry(number: number, urgency: waiter.urgency)
        lanes[waiter.place.lane, default: LaneQueue()].append(entry, to: waiter.place.origin, waiter.priority)
    }

    private mutating func dequeue(_ number: SlotNumber, _ waiter: Waiter) {
        let entry = LaneQueue.Entry(number: number, urgency: waiter.urgency)
        lanes[waiter.place.lane]?.remove(entry, from: waiter.place.origin, waiter.priority)
        removeIfIdle(waiter.place.lane)
    }

    /// Whether a place is kept for a waiter, which others may have when it goes.
    func isFavored(_ number: SlotNumber) -> Bool { favored?.number == number }

    // MARK: Beginning and ending

    /// Begins an exchange at once where there is room.
    ///
    /// The waiters that are already in the queue have no room, so that this passes none of them.
    ///
    /// - Returns: `false` where it has to wait.
    mutating func begins(_ place: PermitScope) -> Bool {
        guard running < width, isOpen(place.lane), hasRoom(at: place.origin) else { return false }
        begin(place)
        return true
    }

    /// Begins what there is room for.
    ///
    /// Each that begins costs a look at every lane, and in each at the origins that are full: of these there are no more than
    /// exchanges on the wire.
    mutating func admit() -> [(number: SlotNumber, waiter: Waiter)] {
        var admitted: [(SlotNumber, Waiter)] = []
        while !waiters.isEmpty, running < width, !pauses.isWhole, let next = next(), let waiter = remove(next) {
            begin(waiter.place)
            admitted.append((next, waiter))
        }
        return admitted
    }

    private mutating func begin(_ place: PermitScope) {
        running += 1
        begun += 1
        runningByOrigin.add(place.origin)
        lanes[place.lane, default: LaneQueue()].begin(place.origin)
    }

    /// Ends an exchange that has begun.
    mutating func end(_ place: PermitScope) {
        running -= 1
        runningByOrigin.subtract(place.origin)
        lanes[place.lane]?.end(place.origin)
        removeIfIdle(place.lane)
    }

    /// Lanes that are kept while they are idle, because most are used again soon.
    private static var spareLanes: Int { 16 }

    private mutating func removeIfIdle(_ lane: Lane) {
        if lanes.count > Self.spareLanes, lanes[lane]?.isIdle == true { lanes[lane] = nil }
    }

    // MARK: Choosing

    private mutating func next() -> SlotNumber? {
        favored = limits.isEmpty ? nil : mostOverdue()
        var next: LaneQueue.Entry?
        for (lane, queue) in lanes where isOpen(lane) {
            guard let first = queue.first(where: hasRoom) else { continue }
            next = next.map { max($0, first) } ?? first
        }
        return next?.number
    }

    /// Returns the most urgent waiter for a lane that is full of exchanges with other origins, if it has waited for long.
    private func mostOverdue() -> (number: SlotNumber, place: PermitScope)? {
        var first: LaneQueue.Entry?
        for (lane, queue) in lanes where !pauses.contains(lane) && !hasRoom(in: lane) {
            guard let other = queue.firstElsewhere() else { continue }
            first = first.map { max($0, other) } ?? other
        }
        guard let first, first.urgency.isOverdue(begun: begun) else { return nil }
        return waiters[first.number].map { (first.number, $0.place) }
    }

    private func isOpen(_ lane: Lane) -> Bool { !pauses.contains(lane) && hasRoom(in: lane) }

    private func hasRoom(in lane: Lane) -> Bool {
        limits.isEmpty || (lanes[lane]?.running ?? 0) < limits[lane]?.width ?? width
    }

    /// Whether an origin has room besides the place that is kept for a waiter.
    private func hasRoom(at origin: String) -> Bool {
        let kept = favored?.place.origin == origin ? 1 : 0
        return runningByOrigin[origin] + kept < originWidth
    }
}
