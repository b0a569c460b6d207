import DiamondSQLite

/// One question to a server, for all who ask the same at the same time: it waits for its place on the wire without a
/// task, flies in a task of its own, and is canceled when the last one has left.
final class Flight: Sendable {
    typealias Outcome = Result<Response, ConnectionError>
    typealias Hear = @Sendable (ExchangeEvent) -> Void
    typealias Course = @Sendable (inout Seat, @escaping Hear) async throws(ConnectionError) -> Response

    private let state = Guarded(State())
    /// How many ``Revocations`` there were when it was made.
    let revocations: Int
    private let place: FlightPlace
    private let lanes: Lanes
    /// That of its exchange.
    private let clock: ExchangeClock
    /// From when on the time of its exchange counts; `nil` for its begin.
    private let since: Int64?
    /// Whether its time is limited: else one that is up is that of a server which says nothing, to nobody.
    private let isTimed: Bool
    /// What its wait is counted in.
    private let scope: ActivityScope?
    private let course: Course
    /// Called when nobody can join any more, and again perhaps; told whether it has landed.
    private let whenOver: @Sendable (_ hasLanded: Bool) -> Void

    init(
        at place: FlightPlace,
        _ lanes: Lanes,
        by clock: ExchangeClock,
        since: Int64? = nil,
        isTimed: Bool = true,
        revocations: Int = 0,
        in scope: ActivityScope? = nil,
        course: @escaping Course,
        whenOver: @escaping @Sendable (_ hasLanded: Bool) -> Void
    ) {
        self.place = place
        self.lanes = lanes
        self.clock = clock
        self.since = since
        self.isTimed = isTimed
        self.revocations = revocations
        self.scope = scope
        self.course = course
        self.whenOver = whenOver
    }

    // MARK: Boarding

    /// Joins; the first one begins the flight.
    ///
    /// - Parameters:
    ///   - since: from when on the passenger's time counts, where that is not from now.
    ///   - isAtOnce: whether it begins in the calling thread, and may be over on return, where it has a place at once. Only for
    ///     who holds no lock.
    ///   - hear: called with what happens on the way.
    ///   - tell: called once with the outcome, unless the passenger leaves before.
    /// - Returns: the number for ``leave(_:)``; `nil` where the flight is over.
    func board(
        _ priority: FlightPriority,
        since: Int64? = nil,
        isAtOnce: Bool = false,
        hear: Hear? = nil,
        tell: @escaping @Sendable (Outcome) -> Void
    ) -> Int? {
        let boarding = state.withLock { $0.board(Aboard(tell: tell, hear: hear, since: since), priority, clock) }
        guard let boarding else { return nil }
        if boarding.number == 1 { begin(priority, isAtOnce: isAtOnce) }
        if let number = boarding.raised { lanes.change(number, to: priority) }
        if boarding.isBehind, let hear { tellMissed(to: boarding.number, hear) }
        return boarding.number
    }

    /// Tells a passenger what he has missed, and then what happens meanwhile: who reports that leaves it to this, or it
    /// could be heard first.
    private func tellMissed(to number: Int, _ hear: Hear) {
        while let event = state.withLock({ $0.takeUntold(of: number) }) { hear(event) }
    }

    /// Waits for the outcome; canceling the waiting task leaves the flight.
    ///
    /// - Parameters:
    ///   - since: from when on the passenger's time counts, where that is not from now.
    ///   - whenAboard: called before the wait.
    /// - Returns: `nil` where it was over before.
    func outcome(_ priority: FlightPriority, since: Int64?, whenAboard: () -> Void) async -> Outcome? {
        let passenger = Awaited<Outcome>()
        let number = board(priority, since: since, isAtOnce: true, tell: { passenger.tell($0) })
        guard let number else { return nil }
        whenAboard()
        return await passenger.value { [self] in
            leave(number)
            return .failure(.cancelled)
        }
    }

    /// Leaves; the flight ends with the last one. Without effect where the outcome is on its way to the passenger already.
    func leave(_ number: Int) {
        let abandoned = state.withLock { state -> Phase? in
            guard state.passengers.removeValue(forKey: number) != nil, state.passengers.isEmpty else { return nil }
            defer { state.phase = .landed(.failure(.cancelled)) }
            return state.phase
        }
        if let abandoned { abandon(abandoned) }
    }

    private func abandon(_ phase: Phase) {
        // First: whoever finds it looks again until it is gone.
        whenOver(true)
        switch phase {
        // Where its place is there already, that is given back by who finds that it is wanted no more.
        case .waiting(let number): lanes.leaveLine(number)
        case .flying(let task): task.cancel()
        // It is canceled where it is made.
        case .new, .starting, .landed: break
        }
    }

    /// Comes to its end soon, and tells those who are aboard.
    func cancel() {
        if case .flying(let task) = state.withLock({ $0.phase }) { task.cancel() }
    }

    /// Waits from now on as urgently as the most urgent who has boarded it.
    func raise(to priority: FlightPriority) {
        let number = state.withLock { $0.raise(to: priority) }
        if let number { lanes.change(number, to: priority) }
    }

    // MARK: The flight

    private func begin(_ priority: FlightPriority, isAtOnce: Bool) {
        // Under the lock: the place may be there before its number is noted.
        let (number, isStarting) = state.withLock { state -> (SlotNumber?, Bool) in
            guard case .new = state.phase else { return (nil, false) }
            state.priority = max(state.priority, priority)
            if let number = lanes.enter(place, state.priority, for: self) {
                state.phase = .waiting(number)
                return (number, false)
            }
            (state.phase, state.begin) = (isAtOnce ? .starting : .flying(task()), clock.uptime())
            return (nil, isAtOnce)
        }
        if let number { lanes.count(number, scope?.begin(.queue)) }
        if isStarting { start() }
    }

    /// Begins in this thread, and goes on in another when there is something to wait for: to wake one for it takes longer
    /// than what is done until then.
    private func start() {
        let task = taskAtOnce()
        let isOver = state.withLock { state in
            guard case .starting = state.phase else { return true }
            state.phase = .flying(task)
            return false
        }
        // Where it has not landed by itself, all have left.
        if isOver { task.cancel() }
    }

    // Detached: it flies for all who board, with the task-locals of none.
    private func task() -> Task<Void, Never> { Task.detached { [self] in await fly() } }

    private func taskAtOnce() -> Task<Void, Never> {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return task() }
        return Task.immediateDetached { [self] in await fly() }
    }

    private func fly() async {
        let wasAwaited = state.withLock { $0.wasAwaited }
        var seat = Seat(place, lanes, wasAwaited: wasAwaited, for: self)
        let outcome: Outcome
        do throws(ConnectionError) { outcome = .success(try await course(&seat, report)) } catch {
            outcome = .failure(error)
        }
        seat.leave()
        land(outcome)
    }

    @Sendable private func report(_ event: ExchangeEvent) {
        if case .personal = event { return dismissOthers() }
        let passengers = state.withLock { $0.note(event) }
        for passenger in passengers { passenger.hear?(event) }
    }

    /// Flies on for the first passenger alone.
    private func dismissOthers() {
        let others = state.withLock { $0.takeOthers() }
        whenOver(false)
        for passenger in others { passenger.tell(.failure(.unshared)) }
    }

    private func land(_ outcome: Outcome) {
        let landed = state.withLock { state -> ([Aboard], Int64)? in
            if case .landed = state.phase { return nil }
            state.phase = .landed(outcome)
            defer { state.passengers = [:] }
            return (Array(state.passengers.values), state.begin ?? 0)
        }
        guard let (passengers, begin) = landed else { return }
        whenOver(true)
        for passenger in passengers {
            passenger.tell(self.outcome(outcome, forOneSince: passenger.since ?? begin, begin))
        }
    }

    /// Less is no time to ask in.
    private static let leastTime: Int64 = 100

    /// Time that was up for those who came first is not up for one who came later, for whom it is as long.
    private func outcome(_ outcome: Outcome, forOneSince own: Int64, _ begin: Int64) -> Outcome {
        switch outcome {
        case .success(var response):
            guard let since = response.ownBegin, since < own else { return outcome }
            response.ownBegin = own
            return .success(response)
        case .failure(var error):
            let missed = own - (since ?? begin)
            guard isTimed, missed >= Self.leastTime, error.code == .timedOut else { return outcome }
            (error.ownBegin, error.ownEnd) = (own, clock.uptime() + missed)
            return .failure(error)
        }
    }
}

extension Flight: PlaceClaimant {
    func admit(to place: FlightPlace, of lanes: Lanes) {
        let isWanted = state.withLock { state in
            guard case .waiting = state.phase else { return false }
            (state.phase, state.begin, state.wasAwaited) = (.flying(task()), clock.uptime(), true)
            return true
        }
        if !isWanted { lanes.leave(place) }
    }
}

extension Flight: PlaceWaiter {
    /// That of the most urgent passenger.
    var priority: FlightPriority { state.withLock { $0.priority } }

    func wait(under number: SlotNumber?) { state.withLock { $0.line = Boxed(number) } }
}
