import DiamondSQLite

/// The flights that an engine has under way for more than one to join (single flight).
final class Flights: Sendable {
    private struct State {
        var flights: [FlightKey: Flight] = [:]
        var landings = 0
    }

    private let state = Guarded(State())
    private let lanes: Lanes

    init(lanes: Lanes) { self.lanes = lanes }

    /// How many are over. Read before the cache is asked, it tells whether one has brought something since.
    var landings: Int { state.withLock { $0.landings } }

    /// The flight that asks a question, or a new one.
    ///
    /// - Parameter landings: what was counted before the cache was asked.
    /// - Returns: `nil` where there is none, and another has landed since: what it has brought may be the answer.
    func flight(
        for key: FlightKey,
        at place: FlightPlace,
        since landings: Int,
        course: @escaping Flight.Course
    ) -> Flight? {
        state.withLock { state in
            if let flight = state.flights[key] { return flight }
            guard state.landings == landings else { return nil }
            let flight = Flight(at: place, lanes, course: course) { [self] in end(key) }
            state.flights[key] = flight
            return flight
        }
    }

    private func end(_ key: FlightKey) {
        state.withLock { state in
            state.flights[key] = nil
            state.landings += 1
        }
    }
}
