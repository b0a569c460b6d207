/// Somebody who waits to begin a flight.
struct FlightWaiter<Who> {
    var place: FlightPlace
    var priority: FlightPriority
    /// Its number, in the order in which they came.
    var arrival: Int
    /// How many flights had begun when it came.
    var begun: Int
    var who: Who

    var urgency: FlightUrgency { FlightUrgency(priority, begun: begun, arrival: arrival) }

    /// Whether it counts for more than the highest priority of one that comes now: only who has waited for long does.
    func hasWaitedLong(begun now: Int) -> Bool {
        urgency.level + now >= (FlightPriority.veryHigh.rawValue + 1) * FlightUrgency.aging
    }
}
