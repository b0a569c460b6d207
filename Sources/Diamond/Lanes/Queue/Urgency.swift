/// Who begins before whom, the greatest first. It stays as it is while others begin, so that those who wait need not be
/// compared anew.
struct FlightUrgency: Comparable {
    /// After so many others have begun before it, what waits counts as much as one that comes then with one priority
    /// higher: nothing starves.
    static let aging = 64

    /// The priority in flights, less those that had begun when it came.
    var level: Int
    /// Its number, in the order in which they came.
    var arrival: Int

    /// - Parameters:
    ///   - begun: how many had begun when it came.
    ///   - arrival: its number, in the order in which they came.
    init(_ priority: FlightPriority, begun: Int, arrival: Int) {
        (level, self.arrival) = (priority.rawValue * Self.aging - begun, arrival)
    }

    static func < (left: FlightUrgency, right: FlightUrgency) -> Bool {
        left.level != right.level ? left.level < right.level : left.arrival > right.arrival
    }
}
