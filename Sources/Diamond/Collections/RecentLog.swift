/// What happened lately, in order and bounded: whether something did since an instant is asked of it.
struct RecentLog<Element> {
    private let capacity: Int
    // A ring: the n-th stands at n modulo the capacity.
    private var recent: [Element] = []
    /// How much has happened. Noted, it is the instant to ask about later.
    private(set) var count = 0

    init(capacity: Int = 1000) { self.capacity = max(1, capacity) }

    mutating func append(_ element: Element) {
        if recent.count < capacity { recent.append(element) } else { recent[count % capacity] = element }
        count += 1
    }

    /// - Returns: whether something since then satisfies a predicate; also `true` where more has happened than is kept.
    func contains(since instant: Int, where predicate: (Element) -> Bool) -> Bool {
        guard count - instant <= recent.count else { return true }
        return (instant..<max(instant, count)).contains { predicate(recent[$0 % capacity]) }
    }

    /// The same where the elements know themselves what came later.
    ///
    /// - Parameter isLater: `false` for all from some element back.
    func contains(where predicate: (Element) -> Bool, since isLater: (Element) -> Bool) -> Bool {
        for number in (count - recent.count..<count).reversed() {
            let element = recent[number % capacity]
            guard isLater(element) else { return false }
            if predicate(element) { return true }
        }
        return count > recent.count
    }
}
