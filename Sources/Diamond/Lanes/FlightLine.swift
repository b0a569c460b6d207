/// What waits for one host in one lane with one priority, the first come first.
struct FlightLine {
    private var waiters: [FlightWaiter] = []
    private var start = 0
    /// Numbers of those that have gone, and are still among the others.
    private var gone: Set<Int> = []

    var isEmpty: Bool { waiters.count - start == gone.count }

    /// Who would be next.
    var first: FlightWaiter? { start < waiters.count ? waiters[start] : nil }

    mutating func append(_ waiter: FlightWaiter) { waiters.append(waiter) }

    /// In time that does not grow with the line, on average.
    mutating func remove(_ number: Int) {
        gone.insert(number)
        while let first, gone.remove(first.number) != nil { start += 1 }
        guard start + gone.count > 32, (start + gone.count) * 2 > waiters.count else { return }
        waiters = waiters[start...].filter { !gone.contains($0.number) }
        (start, gone) = (0, [])
    }
}

/// Somebody who waits to begin a flight.
struct FlightWaiter: Hashable {
    /// In the order in which they came.
    var number: Int
    var place: FlightPlace
    var priority: FlightPriority
    /// How many flights had begun when it came.
    var begun: Int

    /// After so many others have begun before it, a waiter counts as one priority higher: nothing starves.
    static let ageing = 64

    /// What it counts as now.
    func rank(begun now: Int) -> Int { priority.rawValue + (now - begun) / Self.ageing }
}

/// What limits a flight.
struct FlightPlace: Hashable {
    var lane: Lane
    /// Scheme, host and port.
    var origin: String
}

/// How urgent a flight is, as `Operation.QueuePriority`.
enum FlightPriority: Int, CaseIterable {
    case veryLow, low, normal, high, veryHigh
}
