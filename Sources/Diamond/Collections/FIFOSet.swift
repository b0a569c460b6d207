/// What waits for one origin in one lane with one priority, the first come first.
struct FlightLine {
    private var waiters: [SlotNumber] = []
    private var start = 0
    /// Those that have gone, and are still among the others.
    private var gone: Set<SlotNumber> = []

    var isEmpty: Bool { waiters.count - start == gone.count }

    /// Who would be next.
    var first: SlotNumber? { start < waiters.count ? waiters[start] : nil }

    mutating func append(_ number: SlotNumber) {
        // One that left this line before, and is here still, would be taken for it.
        if gone.contains(number) { clear() }
        waiters.append(number)
    }

    /// In time that does not grow with the line, on average.
    mutating func remove(_ number: SlotNumber) {
        gone.insert(number)
        while let first, gone.remove(first) != nil { start += 1 }
        if start + gone.count > 32, (start + gone.count) * 2 > waiters.count { clear() }
    }

    private mutating func clear() {
        waiters = waiters[start...].filter { !gone.contains($0) }
        (start, gone) = (0, [])
    }
}
