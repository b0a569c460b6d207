/// Who is aboard a flight, how far it is, and what they have heard of it. It changes under the flight's lock.
extension Flight {
    enum Phase {
        case new
        /// Waits, by the number that the lanes know.
        case waiting(SlotNumber)
        /// Its task is being made.
        case starting
        case flying(Task<Void, Never>)
        // Indirect, because it is large, and nobody keeps a flight that has landed.
        indirect case landed(Outcome)
    }

    struct Aboard {
        var tell: @Sendable (Outcome) -> Void
        var hear: Hear?
        /// From when on its time counts, by the clock; `nil` for the flight's begin.
        var since: Int64?
        /// What he is still to be told by who tells him what he has missed; `nil` where he knows all.
        var untold: [ExchangeEvent]?
    }

    struct State {
        var phase = Phase.new
        var priority = FlightPriority.normal
        // Beside what is a byte, so that it takes no word of its own.
        /// Whether it is for its first passenger alone.
        var isPersonal = false
        var passengers: [Int: Aboard] = [:]
        var count = 0
        /// Where it waits for its place again, between two attempts.
        var line = Boxed<SlotNumber>.none
        /// When its task began, by the clock.
        var begin: Int64?
        /// Whether it has waited for its place.
        var wasAwaited = false
        /// What a passenger who comes later has missed, in its order: the last meter, and the last of all else.
        var missed: (older: ExchangeEvent?, newer: ExchangeEvent?)
    }
}

extension Flight.State {
    /// What boarding has come to.
    struct Boarding {
        var number: Int
        /// What waits in line, where it has become more urgent.
        var raised: SlotNumber?
        /// Whether he has missed something.
        var isBehind: Bool
    }

    /// - Returns: `nil` where it is over.
    mutating func board(
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
    mutating func note(_ event: ExchangeEvent) -> [Flight.Aboard] {
        if let newer = missed.newer, newer.isBegin != event.isBegin { missed.older = newer }
        missed.newer = event
        var told: [Flight.Aboard] = []
        for (number, passenger) in passengers {
            if passenger.untold == nil { told.append(passenger) } else { passengers[number]?.untold?.append(event) }
        }
        return told
    }

    /// - Returns: the next that a passenger is to be told; `nil` where he knows all, or has left.
    mutating func takeUntold(of number: Int) -> ExchangeEvent? {
        guard let untold = passengers[number]?.untold else { return nil }
        passengers[number]?.untold = untold.isEmpty ? nil : Array(untold.dropFirst())
        return untold.first
    }

    /// All but the first of those who are aboard.
    mutating func takeOthers() -> [Flight.Aboard] {
        isPersonal = true
        let first = passengers.keys.min()
        let others = passengers.filter { $0.key != first }
        for number in others.keys { passengers[number] = nil }
        return Array(others.values)
    }

    /// - Returns: the number that waits, where it has become more urgent.
    mutating func raise(to priority: FlightPriority) -> SlotNumber? {
        guard priority > self.priority || count == 1 else { return nil }
        self.priority = priority
        if case .waiting(let number) = phase { return number }
        return line.value
    }
}

extension ExchangeEvent {
    fileprivate var isBegin: Bool { if case .began = self { true } else { false } }
}
