/// The lane and the origin that limit an exchange.
struct PermitScope: Hashable {
    var lane: Lane
    /// The origin, as scheme, host and port.
    var origin: String
}

/// The number of idle lanes that stay allocated, because most are used again soon.
private let idleLanes = 16

/// A value that decides which exchanges may begin: the most urgent waiter that has room in its lane, at its origin and
/// in total. Among waiters of equal urgency, the first to arrive begins.
struct PermitQueue<Payload> {
    struct Waiter {
        var scope: PermitScope
        var priority: RequestPriority
        /// The number of the waiter, in the order of arrival.
        var arrival: Int
        /// The number of exchanges that had begun when it arrived.
        var begun: Int
        var payload: Payload

        var urgency: Urgency { Urgency(priority, begun: begun, arrival: arrival) }
    }

    /// The greatest number of exchanges at the same time.
    var width: Int
    /// The greatest number of exchanges with one origin at the same time.
    var originWidth: Int
    var limits: [Lane: LaneLimits]
    /// The pauses that the app has requested.
    var paused = LanePauses() { didSet { updatePauses() } }
    /// The pauses that are held in the store, for every process.
    var held = LanePauses() { didSet { updatePauses() } }
    /// Whether no pause has an effect any more.
    var ignoresPauses = false { didSet { updatePauses() } }
    /// All pauses that have an effect.
    private(set) var pauses = LanePauses()

    private(set) var running = 0
    private var runningByOrigin = CountedKeys<String>()
    private var waiters = SlotMap<Waiter>()
    private var lanes: [Lane: LaneQueue] = [:]
    private var arrived = 0
    private var begun = 0
    /// The waiter for which room at its origin is reserved. It has waited long for a lane that is full of exchanges
    /// with other origins. Without the reservation, lane and origin might never have room at the same time.
    ///
    /// If all exchanges of the lane are with its origin, each end makes room in both, and nothing is reserved. So a
    /// lane never withholds more from other lanes than its own width.
    private var favored: (number: SlotNumber, scope: PermitScope)?

    init(width: Int, originWidth: Int, limits: [Lane: LaneLimits]) {
        self.width = width
        self.originWidth = originWidth
        self.limits = limits
    }

    private mutating func updatePauses() { pauses = ignoresPauses ? LanePauses() : paused.union(held) }

    // MARK: Waiting

    var waiting: Int { waiters.count }

    /// The payload of a waiter; `nil` if there is no waiter with the number.
    subscript(number: SlotNumber) -> Payload? {
        get { waiters[number]?.payload }
        set { if let newValue { waiters[number]?.payload = newValue } }
    }

    /// Adds a waiter, which may begin when ``admit()`` returns it.
    ///
    /// - Returns: the number of the waiter.
    mutating func add(_ payload: Payload, in scope: PermitScope, priority: RequestPriority) -> SlotNumber {
        arrived += 1
        let waiter = Waiter(scope: scope, priority: priority, arrival: arrived, begun: begun, payload: payload)
        let number = waiters.add(waiter)
        enqueue(waiter, number: number)
        return number
    }

    /// Removes a waiter.
    ///
    /// - Returns: the waiter; `nil` if there is none with the number.
    @discardableResult
    mutating func remove(_ number: SlotNumber) -> Waiter? {
        guard let waiter = waiters.remove(number) else { return nil }
        dequeue(waiter, number: number)
        if isFavored(number) { favored = nil }
        return waiter
    }

    /// Changes the priority of a waiter. It keeps its age, and comes after the waiters of its new priority in the same
    /// lane and with the same origin.
    mutating func change(_ number: SlotNumber, to priority: RequestPriority) {
        guard var waiter = waiters[number], waiter.priority != priority else { return }
        dequeue(waiter, number: number)
        waiter.priority = priority
        waiters[number] = waiter
        enqueue(waiter, number: number)
    }

    private mutating func enqueue(_ waiter: Waiter, number: SlotNumber) {
        let entry = LaneQueue.Entry(number: number, urgency: waiter.urgency)
        lanes[waiter.scope.lane, default: LaneQueue()].append(
            entry, to: waiter.scope.origin, priority: waiter.priority)
    }

    private mutating func dequeue(_ waiter: Waiter, number: SlotNumber) {
        let entry = LaneQueue.Entry(number: number, urgency: waiter.urgency)
        lanes[waiter.scope.lane]?.remove(entry, from: waiter.scope.origin, priority: waiter.priority)
        removeIfIdle(waiter.scope.lane)
    }

    /// Whether room is reserved for a waiter, which others may use when it leaves.
    func isFavored(_ number: SlotNumber) -> Bool { favored?.number == number }

    // MARK: Beginning and ending

    /// Begins an exchange if there is room.
    ///
    /// The waiters in the queue have no room, so this does not overtake them.
    ///
    /// - Returns: `false` if the exchange has to wait.
    mutating func beginIfRoom(_ scope: PermitScope) -> Bool {
        guard running < width, isOpen(scope.lane), hasRoom(at: scope.origin) else { return false }
        begin(scope)
        return true
    }

    /// Begins the exchanges of all waiters that have room, and returns the waiters.
    ///
    /// The cost for each is a check of every lane, and of the full origins in it. There are no more full origins than
    /// exchanges on the wire.
    mutating func admit() -> [(number: SlotNumber, waiter: Waiter)] {
        var admitted: [(number: SlotNumber, waiter: Waiter)] = []
        while !waiters.isEmpty, running < width, !pauses.includesAllLanes, let next = next(), let waiter = remove(next)
        {
            begin(waiter.scope)
            admitted.append((next, waiter))
        }
        return admitted
    }

    private mutating func begin(_ scope: PermitScope) {
        running += 1
        begun += 1
        runningByOrigin.add(scope.origin)
        lanes[scope.lane, default: LaneQueue()].begin(scope.origin)
    }

    /// Ends an exchange that has begun.
    mutating func end(_ scope: PermitScope) {
        running -= 1
        runningByOrigin.subtract(scope.origin)
        lanes[scope.lane]?.end(scope.origin)
        removeIfIdle(scope.lane)
    }

    private mutating func removeIfIdle(_ lane: Lane) {
        if lanes.count > idleLanes, lanes[lane]?.isIdle == true { lanes[lane] = nil }
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

    /// Returns the most urgent waiter for a lane that is full of exchanges with other origins, if it has waited long.
    private func mostOverdue() -> (number: SlotNumber, scope: PermitScope)? {
        var first: LaneQueue.Entry?
        for (lane, queue) in lanes where !pauses.contains(lane) && !hasRoom(in: lane) {
            guard let other = queue.firstElsewhere() else { continue }
            first = first.map { max($0, other) } ?? other
        }
        guard let first, first.urgency.isOverdue(begun: begun) else { return nil }
        return waiters[first.number].map { (first.number, $0.scope) }
    }

    private func isOpen(_ lane: Lane) -> Bool { !pauses.contains(lane) && hasRoom(in: lane) }

    private func hasRoom(in lane: Lane) -> Bool {
        limits.isEmpty || (lanes[lane]?.running ?? 0) < limits[lane]?.width ?? width
    }

    /// Whether an origin has room besides the one that is reserved for the favored waiter.
    private func hasRoom(at origin: String) -> Bool {
        let reserved = favored?.scope.origin == origin ? 1 : 0
        return runningByOrigin[origin] + reserved < originWidth
    }
}
