/// Somebody who waits to begin a flight.
struct FlightWaiter<Who> {
    var place: FlightPlace
    var priority: FlightPriority
    /// Its number, in the order in which they came.
    var arrival: Int
    /// How many flights had begun when it came.
    var begun: Int
    var who: Who

    /// After so many others have begun before it, a waiter counts as much as one that comes then with one priority
    /// higher: nothing starves.
    static var ageing: Int { 64 }

    var urgency: FlightUrgency { FlightUrgency(level: priority.rawValue * Self.ageing - begun, arrival: arrival) }

    /// Whether it counts for more than the highest priority of one that comes now: only who has waited for long does.
    func hasWaitedLong(begun now: Int) -> Bool {
        urgency.level + now >= (FlightPriority.veryHigh.rawValue + 1) * Self.ageing
    }
}
