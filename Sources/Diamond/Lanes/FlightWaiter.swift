/// Somebody who waits to begin a flight.
struct FlightWaiter<Who> {
    var place: FlightPlace
    var priority: FlightPriority
    /// Its number, in the order in which they came.
    var arrival: Int
    /// How many flights had begun when it came.
    var begun: Int
    var who: Who

    /// After so many others have begun before it, a waiter counts as one priority higher: nothing starves.
    static var ageing: Int { 64 }

    /// What nobody has who has not waited for long.
    static var highestRank: Int { FlightPriority.veryHigh.rawValue }

    /// What it counts as now.
    func rank(begun now: Int) -> Int { priority.rawValue + (now - begun) / Self.ageing }
}
