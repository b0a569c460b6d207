/// A place on the wire that somebody has; given back when it goes out of use.
struct Seat: ~Copyable {
    private let place: FlightPlace
    private let lanes: Lanes
    private var isTaken = true

    /// Of a place that was entered.
    init(_ place: FlightPlace, _ lanes: Lanes) {
        self.place = place
        self.lanes = lanes
    }

    deinit { if isTaken { lanes.leave(place) } }

    /// Gives the place back before the end: who waits for something else than the wire holds none.
    mutating func leave() {
        guard isTaken else { return }
        isTaken = false
        lanes.leave(place)
    }

    /// Waits for it again.
    ///
    /// - Throws: `cancelled` with the waiting task.
    mutating func retake(_ priority: FlightPriority) async throws(ConnectionError) {
        guard !isTaken else { return }
        guard await lanes.enter(place, priority) else { throw .cancelled }
        isTaken = true
    }
}
