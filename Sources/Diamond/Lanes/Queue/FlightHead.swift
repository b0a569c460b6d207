/// Who is first of some that wait.
struct FlightHead: Comparable {
    var urgency: FlightUrgency
    var number: SlotNumber

    static func < (left: FlightHead, right: FlightHead) -> Bool { left.urgency < right.urgency }
}
