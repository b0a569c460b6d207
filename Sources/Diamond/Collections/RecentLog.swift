/// A bounded log of recent events, in order, that answers whether a certain event has happened since an instant.
struct RecentLog<Element> {
    private let capacity: Int
    // A ring: the n-th stands at n modulo the capacity.
    private var recent: [Element] = []
    /// The number of events so far. A caller keeps it as the instant to ask about later.
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

    /// Returns whether an element that came after an instant satisfies a predicate, where the elements themselves tell
    /// whether they came later. Also `true` where more has happened than is kept.
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
