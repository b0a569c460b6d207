/// Who begins before whom, the greatest first. It stays as it is while others begin, so that those who wait need not be
/// compared anew.
struct FlightUrgency: Comparable {
    /// The priority in flights, less those that had begun when it came.
    var level: Int
    /// Its number, in the order in which they came.
    var arrival: Int

    static func < (left: FlightUrgency, right: FlightUrgency) -> Bool {
        left.level != right.level ? left.level < right.level : left.arrival > right.arrival
    }
}
