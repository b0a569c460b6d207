/// What waits for one origin in one lane with one priority, the first come first.
struct FlightLine {
    private var waiters: [FlightWaiter] = []
    private var start = 0
    /// Numbers of those that have gone, and are still among the others.
    private var gone: Set<Int> = []

    var isEmpty: Bool { waiters.count - start == gone.count }

    /// Who would be next.
    var first: FlightWaiter? { start < waiters.count ? waiters[start] : nil }

    mutating func append(_ waiter: FlightWaiter) {
        // One that left this line before, and is here still, would be taken for it.
        if gone.contains(waiter.number) { clear() }
        waiters.append(waiter)
    }

    /// In time that does not grow with the line, on average.
    mutating func remove(_ number: Int) {
        gone.insert(number)
        while let first, gone.remove(first.number) != nil { start += 1 }
        if start + gone.count > 32, (start + gone.count) * 2 > waiters.count { clear() }
    }

    private mutating func clear() {
        waiters = waiters[start...].filter { !gone.contains($0.number) }
        (start, gone) = (0, [])
    }
}
