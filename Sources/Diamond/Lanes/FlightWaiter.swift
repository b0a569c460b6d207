/// Somebody who waits to begin a flight.
struct FlightWaiter: Hashable {
    /// In the order in which they came.
    var number: Int
    var place: FlightPlace
    var priority: FlightPriority
    /// How many flights had begun when it came.
    var begun: Int

    /// After so many others have begun before it, a waiter counts as one priority higher: nothing starves.
    static let ageing = 64

    /// What it counts as now.
    func rank(begun now: Int) -> Int { priority.rawValue + (now - begun) / Self.ageing }
}
