/// The waiters of one lane by origin, and the counts of its exchanges on the wire.
struct LaneQueue {
    typealias Entry = OriginQueue.Entry

    private var queues: [String: OriginQueue] = [:]
    /// The first entry of each origin.
    private var heads = Heap<String, Entry>()
    private(set) var running = 0
    private var runningByOrigin = CountedKeys<String>()

    /// Whether there is no waiter, and nothing is on the wire.
    var isIdle: Bool { running == 0 && queues.isEmpty }

    // MARK: Waiting

    mutating func append(_ entry: Entry, to origin: String, priority: RequestPriority) {
        queues[origin, default: OriginQueue()].append(entry, priority: priority)
        updateHead(of: origin)
    }

    mutating func remove(_ entry: Entry, from origin: String, priority: RequestPriority) {
        queues[origin]?.remove(entry, priority: priority)
        updateHead(of: origin)
    }

    private mutating func updateHead(of origin: String) {
        if let first = queues[origin]?.first {
            if first != heads[origin] { heads.set(first, for: origin) }
        } else {
            queues[origin] = nil
            heads.remove(origin)
        }
    }

    /// Returns the most urgent entry of the origins that satisfy a predicate. The cost grows with the number of origins
    /// that do not satisfy it.
    func first(where isIncluded: (String) -> Bool) -> Entry? { heads.first(where: isIncluded)?.key }

    // MARK: On the wire

    mutating func begin(_ origin: String) {
        running += 1
        runningByOrigin.add(origin)
    }

    mutating func end(_ origin: String) {
        running -= 1
        runningByOrigin.subtract(origin)
    }

    /// Returns the most urgent entry, without those of an origin that all running exchanges of the lane go to.
    func firstElsewhere() -> Entry? { first { runningByOrigin[$0] < running } }
}
