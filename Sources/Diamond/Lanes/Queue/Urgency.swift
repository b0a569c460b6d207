/// The order of waiters: the greatest begins first.
///
/// It stays the same while others begin, so that those who wait need not be compared again.
struct Urgency: Hashable, Comparable {
    /// After so many others have begun, a waiter counts as much as one that comes then with the next higher priority:
    /// nothing starves.
    static let aging = 64

    /// The priority, counted in exchanges, less the exchanges that had begun when the waiter came.
    var level: Int
    /// The number of the waiter, in the order in which they came.
    var arrival: Int

    /// - Parameters:
    ///   - begun: exchanges that had begun when the waiter came.
    ///   - arrival: the number of the waiter, in the order in which they came.
    init(_ priority: RequestPriority, begun: Int, arrival: Int) {
        level = priority.rawValue * Self.aging - begun
        self.arrival = arrival
    }

    /// Whether a waiter counts for more than one that comes now with the highest priority: it has waited for long.
    func isOverdue(begun: Int) -> Bool { level + begun >= (RequestPriority.veryHigh.rawValue + 1) * Self.aging }

    static func < (left: Urgency, right: Urgency) -> Bool {
        left.level != right.level ? left.level < right.level : left.arrival > right.arrival
    }
}
