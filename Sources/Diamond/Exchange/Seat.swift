/// A place on the wire that somebody has; given back when it goes out of use.
struct Seat: ~Copyable {
    private let place: FlightPlace
    private let lanes: Lanes
    private let waiter: any PlaceWaiter
    private var isTaken = true
    /// Whether it was not there at once.
    let wasAwaited: Bool

    /// Of a place that was entered.
    ///
    /// - Parameter waiter: whose it is, and who waits for it again.
    init(_ place: FlightPlace, _ lanes: Lanes, wasAwaited: Bool = false, for waiter: any PlaceWaiter) {
        self.place = place
        self.lanes = lanes
        self.wasAwaited = wasAwaited
        self.waiter = waiter
    }

    deinit { if isTaken { lanes.leave(place) } }

    /// Gives the place back before the end: who waits for something else than the wire holds none.
    mutating func leave() {
        guard isTaken else { return }
        isTaken = false
        lanes.leave(place)
    }

    /// Takes another place of its kind, where there is one at once; what comes of it gives it back.
    var spare: Spare { Self.spare(of: place, lanes) }

    typealias Spare = @Sendable () -> (@Sendable () -> Void)?

    private static func spare(of place: FlightPlace, _ lanes: Lanes) -> Spare {
        {
            guard lanes.enterAtOnce(place) else { return nil }
            return { lanes.leave(place) }
        }
    }

    /// Waits for it again.
    ///
    /// - Parameters:
    ///   - attempt: the one that it is for.
    ///   - limit: how long, by which clock; `nil` for as long as it takes.
    /// - Returns: whether it is there, and the line has not been left because the time was up.
    /// - Throws: `cancelled` with the waiting task.
    mutating func retake(
        in scope: ActivityScope,
        attempt: Int,
        within limit: (time: Duration, clock: ExchangeClock)?
    ) async throws(ConnectionError) -> Bool {
        if !isTaken { isTaken = lanes.enterAtOnce(place) }
        guard !isTaken else { return true }
        let enter = { @Sendable [place, lanes, waiter] in
            await lanes.enter(place, for: waiter, in: scope, attempt: attempt)
        }
        // A place that comes with the end of the time is there, to be given back as ever.
        var isLate = false
        if let limit { (isTaken, isLate) = await limit.clock.limit(limit.time, enter) } else { isTaken = await enter() }
        guard isTaken || isLate && !Task.isCancelled else { throw .cancelled }
        return isTaken
    }
}
