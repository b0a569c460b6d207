import DiamondSQLite
import Synchronization

/// A connection's claim to what its first question of one run waits for: a place on the wire, or a flight's outcome.
///
/// Where it has to wait, the run ends, and with it its task: what waits costs a few hundred bytes. When there is what it
/// waits for, the connection is run again, and takes it.
final class FlightClaim: Sendable {
    private enum State {
        case open
        /// By the number that the lanes know.
        case inLine(SlotNumber)
        // Indirect, because few have it of those that wait, and all would take the room.
        indirect case held(FlightPlace)
        /// By the number that the flight knows.
        indirect case aboard(Flight, Int, RequestKey)
        indirect case landed(Flight.Outcome, RequestKey)
        /// Taken; every further question of the run waits in its task, because what was sent is not sent again.
        case used
        /// The same, and its task waits for a place.
        indirect case usedInLine(SlotNumber)
        /// The same, and its task waits for a flight.
        indirect case usedAboard(Flight)
        /// Nobody wants it any more.
        case dropped
    }

    /// What the run has found out, for the next one.
    final class Finding: Sendable {
        let value: any Sendable

        init(_ value: any Sendable) { self.value = value }
    }

    private let state = Guarded(State.open)
    private let finding = AtomicLazyReference<Finding>()
    /// How many identities had been forgotten when the run began.
    let epoch: Int
    private let claimant: any FlightClaimant
    /// Which of the claimant's.
    let run: Int
    /// What the connection makes of what comes; `nil` where it takes it as it is.
    let acceptance: Acceptance?

    init(of claimant: any FlightClaimant, _ run: Int, epoch: Int = 0, acceptance: Acceptance? = nil) {
        (self.claimant, self.run, self.epoch, self.acceptance) = (claimant, run, epoch, acceptance)
    }

    var priority: FlightPriority { claimant.priority }

    func step(aside isAside: Bool) { claimant.step(aside: isAside, in: run) }

    /// Something has happened to an exchange in the connection's own task.
    func hear(_ event: ExchangeEvent) {
        switch event {
        case .began, .personal: break
        case .attempt: step(aside: false)
        case .aside, .waiting: step(aside: true)
        }
        claimant.hear(event, of: run)
    }

    /// Whether the run may go on to the wire: as ``FlightClaimant/begins(_:)``.
    func begins() -> Bool { claimant.begins(run) }

    func concludes() -> Bool { claimant.concludes(run) }

    func records() -> Bool { claimant.records(run) }

    private func goOn() -> Bool { claimant.goOn(with: run) }

    /// What a run that has had to wait had found out before: it is run again with its place on the wire, and is not to ask
    /// for anything that may need one.
    var found: (any Sendable)? { finding.load()?.value }

    /// Only the first is kept.
    func note(_ value: any Sendable) { _ = finding.storeIfNil(Finding(value)) }

    // MARK: What was received

    /// Whose it is that no store may keep.
    var owner: ObjectIdentifier { ObjectIdentifier(claimant) }

    /// Whether something may be there of a run before.
    var hasKept: Bool { claimant.box != nil }

    func takeKept(for request: TransportRequest, where isOfUse: (PartialAge) -> Bool) -> IncompleteArrival? {
        claimant.box?.take(for: request, where: isOfUse)
    }

    func keep(_ incomplete: IncompleteArrival, for request: TransportRequest, at age: PartialAge) {
        claimant.makeBox().put(incomplete, for: request, at: age)
    }

    // MARK: Places

    /// One that was paused before it came here waits for none: nothing has been sent.
    ///
    /// - Parameter scope: what a wait is counted in; asked for only where there is one.
    /// - Returns: whether there is a place; `nil` where the run has to wait for one itself.
    func enter(
        _ place: FlightPlace,
        _ priority: FlightPriority,
        _ lanes: Lanes,
        in scope: @autoclosure () -> ActivityScope? = nil
    ) -> Bool? {
        if mayBegin, !claimant.begins(run) {
            drop(lanes)
            return false
        }
        let known = state.withLock { state -> (Bool?, FlightPlace?) in
            switch state {
            case .held(let held):
                state = .used
                return held == place ? (true, nil) : (nil, held)
            case .open: return (false, nil)
            case .inLine, .aboard, .landed, .used, .usedInLine, .usedAboard, .dropped: return (nil, nil)
            }
        }
        if let other = known.1 { lanes.leave(other) }
        guard known.0 == false else { return known.0 }
        return takeOrWait(for: place, priority, lanes, in: scope)
    }

    /// Whether nothing has been asked in this run.
    private var mayBegin: Bool {
        state.withLock { state in
            switch state {
            case .open, .held: true
            case .inLine, .aboard, .landed, .used, .usedInLine, .usedAboard, .dropped: false
            }
        }
    }

    private func takeOrWait(
        for place: FlightPlace,
        _ priority: FlightPriority,
        _ lanes: Lanes,
        in scope: () -> ActivityScope?
    ) -> Bool {
        // Under the lock: the place may be there before its number is noted.
        let (isThere, number) = state.withLock { state -> (Bool, SlotNumber?) in
            guard case .open = state else { return (false, nil) }
            let number = lanes.enter(place, priority, for: self)
            state = number.map { .inLine($0) } ?? .used
            return (number == nil, number)
        }
        if let number {
            lanes.count(number, scope()?.begin(.queue))
            priority.keepUp(with: { claimant.priority }, tell: { lanes.change(number, to: $0) })
        }
        return isThere
    }

    /// Gives a place back that the run has come with: it is about to wait for what may need one, and then waits in its task.
    func giveBackPlace(_ lanes: Lanes) {
        let held = state.withLock { state -> FlightPlace? in
            guard case .held(let place) = state else { return nil }
            state = .used
            return place
        }
        if let held { lanes.leave(held) }
    }

    // MARK: Flights

    /// Joins a flight, and waits for its outcome without a task.
    ///
    /// - Parameter key: of what is asked: one hop of the run, whose outcome is no other's.
    /// - Returns: whether it has joined; `nil` where the run has to wait itself, `false` where the flight is over.
    func board(_ flight: Flight, for key: RequestKey, _ priority: FlightPriority) -> Bool? {
        // Under the lock: the flight may land before its number is noted.
        let isAboard = state.withLock { state -> Bool? in
            guard case .open = state else { return nil }
            let hear: Flight.Hear = { [claimant, run] in claimant.hear($0, of: run) }
            guard let number = flight.board(priority, hear: hear, tell: { [self] in land($0) }) else { return false }
            state = .aboard(flight, number, key)
            return true
        }
        if isAboard == true { keepUp(flight, since: priority) }
        return isAboard
    }

    private func keepUp(_ flight: Flight, since priority: FlightPriority) {
        priority.keepUp(with: { claimant.priority }, tell: { flight.raise(to: $0) })
    }

    private func land(_ outcome: Flight.Outcome) {
        let isWanted = state.withLock { state in
            guard case .aboard(_, _, let key) = state else { return false }
            state = .landed(outcome, key)
            return true
        }
        if isWanted { _ = goOn() }
    }

    /// Whether a flight has landed, whose outcome waits to be taken by one of the run's hops.
    var hasLanded: Bool { state.withLock { if case .landed = $0 { true } else { false } } }

    /// What the flight has brought, taken once, and only by the hop that has boarded it.
    func takeOutcome(for key: RequestKey?) -> Flight.Outcome? {
        state.withLock { state in
            guard case .landed(let outcome, key) = state else { return nil }
            state = .used
            return outcome
        }
    }

    // MARK: Changes

    /// Waits from now on with another priority, where it waits. Of a flight's passengers the most urgent counts.
    func change(to priority: FlightPriority, _ lanes: Lanes) {
        switch state.withLock({ $0 }) {
        case .inLine(let number), .usedInLine(let number): lanes.change(number, to: priority)
        case .aboard(let flight, _, _), .usedAboard(let flight): flight.raise(to: priority)
        case .open, .held, .landed, .used, .dropped: break
        }
    }

    /// The run's task waits for a place under a number from now on; `nil` when it waits for nothing any more.
    func wait(under number: SlotNumber?) { wait(as: number.map { .usedInLine($0) } ?? .used) }

    /// The run's task waits for a flight from now on.
    ///
    /// - Parameter priority: with which it has boarded.
    func wait(aboard flight: Flight, since priority: FlightPriority) {
        wait(as: .usedAboard(flight))
        keepUp(flight, since: priority)
    }

    private func wait(as next: State) {
        state.withLock { state in
            switch state {
            case .used, .usedInLine, .usedAboard: state = next
            case .open, .inLine, .held, .aboard, .landed, .dropped: break
            }
        }
    }

    /// Whether nobody wants it any more: its run was given up, or has ended.
    var isDropped: Bool { state.withLock { if case .dropped = $0 { true } else { false } } }

    /// Gives back what was not needed.
    ///
    /// - Returns: whether it waited: then the connection will not be run again.
    @discardableResult
    func drop(_ lanes: Lanes) -> Bool {
        let old = state.withLock { state in
            defer { state = .dropped }
            return state
        }
        switch old {
        case .inLine(let number):
            // Where the place is on its way already, it is given back when it comes.
            lanes.leaveLine(number)
            return true
        case .aboard(let flight, let number, _):
            flight.leave(number)
            return true
        case .held(let place):
            lanes.leave(place)
            return false
        case .open, .landed, .used, .usedInLine, .usedAboard, .dropped: return false
        }
    }
}

extension FlightClaim: PlaceClaimant {
    func admit(to place: FlightPlace, of lanes: Lanes) {
        let isWanted = state.withLock { state in
            guard case .inLine = state else { return false }
            state = .held(place)
            return true
        }
        guard isWanted else { return lanes.leave(place) }
        if !goOn() { drop(lanes) }
    }
}
