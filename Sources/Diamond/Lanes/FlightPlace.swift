/// What limits a flight.
struct FlightPlace: Hashable {
    var lane: Lane
    /// Scheme, host and port.
    var origin: String
}
