import DiamondSQLite

/// The flights that an engine has under way for more than one to join (single flight).
final class Flights: Sendable {
    private struct State {
        var flights: [FlightKey: (flight: Flight, number: Int)] = [:]
        /// Those that have not landed, though nobody may join some of them any more.
        var flying: [Int: Flight] = [:]
        var count = 0
        /// How many are over, by the first byte of the request's key: a bounded way to hear of one's own.
        var landings = [Int](repeating: 0, count: 256)
    }

    private let state = Guarded(State())

    /// How many are over of those that ask what this does, and of one in 256 others. Read before the cache is asked, it
    /// tells whether one has brought something since.
    func landings(of key: RequestKey) -> Int { state.withLock { $0.landings[key.slot] } }

    /// The flight that asks a question, or a new one.
    ///
    /// - Parameters:
    ///   - landings: what was counted before the cache was asked; `nil` where it does not matter.
    ///   - isOutdated: whether what a flight brings is too old for one who asks now. That one keeps its passengers.
    ///   - flight: makes a new one, which calls what it is given when nobody can join it any more, and when it has landed.
    /// - Returns: `nil` where there is none, and another has landed since: what it has brought may be the answer.
    func flight(
        for key: FlightKey,
        since landings: Int?,
        isOutdated: (Flight) -> Bool,
        make flight: (_ whenOver: @escaping @Sendable (_ hasLanded: Bool) -> Void) -> Flight
    ) -> Flight? {
        state.withLock { state in
            if let known = state.flights[key]?.flight, !isOutdated(known) { return known }
            guard landings == nil || landings == state.landings[key.key.slot] else { return nil }
            state.count += 1
            let number = state.count
            let flight = flight { [self] hasLanded in end(key, number, hasLanded) }
            state.flights[key] = (flight, number)
            state.flying[number] = flight
            return flight
        }
    }

    /// Cancels those that are on their way.
    func cancel() {
        for flight in state.withLock({ Array($0.flying.values) }) { flight.cancel() }
    }

    // One that was outdated has made room for another.
    private func end(_ key: FlightKey, _ number: Int, _ hasLanded: Bool) {
        state.withLock { state in
            if hasLanded { state.flying[number] = nil }
            if state.flights[key]?.number == number { state.flights[key] = nil }
            state.landings[key.key.slot] += 1
        }
    }
}

extension RequestKey {
    fileprivate var slot: Int { Int(withUnsafeBytes { $0.load(as: UInt8.self) }) }
}
