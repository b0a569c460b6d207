/// A bounded log of recent events, in order, that tells whether an event has happened since an instant.
struct RecentLog<Element> {
    private let capacity: Int
    // A ring buffer: the n-th event is at n modulo the capacity.
    private var recent: [Element] = []
    /// The number of events so far. Callers store it as an instant for ``contains(since:where:)``.
    private(set) var count = 0

    init(capacity: Int = 1000) { self.capacity = max(1, capacity) }

    mutating func append(_ element: Element) {
        if recent.count < capacity { recent.append(element) } else { recent[count % capacity] = element }
        count += 1
    }

    /// Returns whether an event since an instant satisfies a predicate; also `true` if events since then were dropped.
    func contains(since instant: Int, where predicate: (Element) -> Bool) -> Bool {
        guard count - instant <= recent.count else { return true }
        return (instant..<max(instant, count)).contains { predicate(recent[$0 % capacity]) }
    }

    /// Returns whether a later element satisfies a predicate; also `true` if later elements may have been dropped.
    ///
    /// - Parameters:
    ///   - predicate: the predicate for the later elements.
    ///   - isLater: whether an element is later. Called from the newest element backward. If it is `false` for an
    ///     element, it must be `false` for all older ones.
    func contains(where predicate: (Element) -> Bool, since isLater: (Element) -> Bool) -> Bool {
        for number in (count - recent.count..<count).reversed() {
            let element = recent[number % capacity]
            guard isLater(element) else { return false }
            if predicate(element) { return true }
        }
        return count > recent.count
    }
}
