/// How urgent a flight is, as `Operation.QueuePriority`.
enum FlightPriority: Int, CaseIterable, Comparable {
    case veryLow, low, normal, high, veryHigh

    static func < (left: FlightPriority, right: FlightPriority) -> Bool { left.rawValue < right.rawValue }
}
