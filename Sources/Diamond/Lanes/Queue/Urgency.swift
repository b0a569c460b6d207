/// The order of waiters: the greatest begins first.
///
/// It does not change while others begin, so that waiters need not be compared again.
struct Urgency: Hashable, Comparable {
    /// The number of exchanges that raises a waiter by one priority: after that many have begun, it counts as much as a
    /// new waiter with the next higher priority. This prevents starvation.
    static let aging = 64

    /// The priority times ``aging``, less the number of exchanges that had begun when the waiter arrived.
    var level: Int
    /// The number of the waiter, in the order of arrival.
    var arrival: Int

    /// - Parameters:
    ///   - begun: the number of exchanges that had begun when the waiter arrived.
    ///   - arrival: the number of the waiter, in the order of arrival.
    init(_ priority: RequestPriority, begun: Int, arrival: Int) {
        level = priority.rawValue * Self.aging - begun
        self.arrival = arrival
    }

    /// Whether a waiter counts more than a new one with the highest priority.
    func isOverdue(begun: Int) -> Bool { level + begun >= (RequestPriority.veryHigh.rawValue + 1) * Self.aging }

    static func < (left: Urgency, right: Urgency) -> Bool {
        left.level != right.level ? left.level < right.level : left.arrival > right.arrival
    }
}
