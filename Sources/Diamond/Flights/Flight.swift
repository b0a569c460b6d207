import DiamondSQLite

/// One question to a server, for all who ask the same at the same time: it waits for its place on the wire without a
/// task, flies in a task of its own, and is canceled when the last one has left.
final class Flight: Sendable {
    typealias Outcome = Result<Response, ConnectionError>
    typealias Hear = @Sendable (ExchangeEvent) -> Void
    typealias Course = @Sendable (inout Seat, @escaping Hear) async throws(ConnectionError) -> Response

    fileprivate enum Phase {
        case new
        /// Waits, by the number that the lanes know.
        case waiting(SlotNumber)
        /// Its task is being made.
        case starting
        case flying(Task<Void, Never>)
        // Indirect, because it is large, and nobody keeps a flight that has landed.
        indirect case landed(Outcome)
    }

    fileprivate struct Aboard {
        var tell: @Sendable (Outcome) -> Void
        var hear: Hear?
        /// From when on its time counts, by the clock; `nil` for the flight's begin.
        var since: Int64?
        /// What he is still to be told by who tells him what he has missed; `nil` where he knows all.
        var untold: [ExchangeEvent]?
    }

    fileprivate struct State {
        var phase = Phase.new
        var priority = FlightPriority.normal
        var passengers: [Int: Aboard] = [:]
        var count = 0
        /// Whether it is for its first passenger alone.
        var isPersonal = false
        /// When its task began, by the clock.
        var begin: Int64?
        /// Whether it has waited for its place.
        var wasAwaited = false
        /// What a passenger who comes later has missed, in its order: the last meter, and the last of all else.
        var missed: (older: ExchangeEvent?, newer: ExchangeEvent?)
    }

    private let state = Guarded(State())
    /// How many ``Revocations`` there were when it was made.
    let revocations: Int
    private let place: FlightPlace
    private let lanes: Lanes
    /// That of its exchange.
    private let clock: ExchangeClock
    /// From when on the time of its exchange counts; `nil` for its begin.
    private let since: Int64?
    /// What its wait is counted in.
    private let scope: ActivityScope?
    private let course: Course
    /// Called when nobody can join any more, and again perhaps.
    private let whenOver: @Sendable () -> Void

    init(
        at place: FlightPlace,
        _ lanes: Lanes,
        by clock: ExchangeClock,
        since: Int64? = nil,
        revocations: Int = 0,
        in scope: ActivityScope? = nil,
        course: @escaping Course,
        whenOver: @escaping @Sendable () -> Void
    ) {
        self.place = place
        self.lanes = lanes
        self.clock = clock
        self.since = since
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
        switch phase {
        // Where its place is there already, that is given back by who finds that it is wanted no more.
        case .waiting(let number): lanes.leaveLine(number)
        case .flying(let task): task.cancel()
        // It is canceled where it is made.
        case .new, .starting, .landed: break
        }
        whenOver()
    }

    /// Waits from now on as urgently as the most urgent who has boarded it.
    func raise(to priority: FlightPriority) {
        let number = state.withLock { $0.raise(to: priority) }
        if let number { lanes.change(number, to: priority) }
    }

    /// That of the most urgent passenger.
    private var priority: FlightPriority { state.withLock { $0.priority } }

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
        var seat = Seat(place, lanes, wasAwaited: wasAwaited) { [self] in priority }
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
        whenOver()
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
        whenOver()
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
            guard missed >= Self.leastTime, error.code == .timedOut else { return outcome }
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

extension Flight.State {
    /// What boarding has come to.
    fileprivate struct Boarding {
        var number: Int
        /// What waits in line, where it has become more urgent.
        var raised: SlotNumber?
        /// Whether he has missed something.
        var isBehind: Bool
    }

    /// - Returns: `nil` where it is over.
    fileprivate mutating func board(
        _ passenger: Flight.Aboard,
        _ priority: FlightPriority,
        _ clock: ExchangeClock
    ) -> Boarding? {
        if case .landed = phase { return nil }
        guard !isPersonal else { return nil }
        var passenger = passenger
        if begin != nil, passenger.since == nil { passenger.since = clock.uptime() }
        let isBehind = passenger.hear != nil && missed.newer != nil
        if isBehind { passenger.untold = [missed.older, missed.newer].compactMap(\.self) }
        count += 1
        passengers[count] = passenger
        return Boarding(number: count, raised: raise(to: priority), isBehind: isBehind)
    }

    /// - Returns: who is to be told at once. Who is being told what he has missed hears it after that.
    fileprivate mutating func note(_ event: ExchangeEvent) -> [Flight.Aboard] {
        if let newer = missed.newer, newer.isBegin != event.isBegin { missed.older = newer }
        missed.newer = event
        var told: [Flight.Aboard] = []
        for (number, passenger) in passengers {
            if passenger.untold == nil { told.append(passenger) } else { passengers[number]?.untold?.append(event) }
        }
        return told
    }

    /// - Returns: the next that a passenger is to be told; `nil` where he knows all, or has left.
    fileprivate mutating func takeUntold(of number: Int) -> ExchangeEvent? {
        guard let untold = passengers[number]?.untold else { return nil }
        passengers[number]?.untold = untold.isEmpty ? nil : Array(untold.dropFirst())
        return untold.first
    }

    /// All but the first of those who are aboard.
    fileprivate mutating func takeOthers() -> [Flight.Aboard] {
        isPersonal = true
        let first = passengers.keys.min()
        let others = passengers.filter { $0.key != first }
        for number in others.keys { passengers[number] = nil }
        return Array(others.values)
    }

    /// - Returns: the number that waits, where it has become more urgent.
    fileprivate mutating func raise(to priority: FlightPriority) -> SlotNumber? {
        guard priority > self.priority || count == 1 else { return nil }
        self.priority = priority
        if case .waiting(let number) = phase { return number }
        return nil
    }
}

extension ExchangeEvent {
    fileprivate var isBegin: Bool { if case .began = self { true } else { false } }
}
