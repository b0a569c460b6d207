import DiamondSQLite

/// Runs one operation at a time for a key, for all callers that ask for it meanwhile.
///
/// The operation runs in a task of its own, with the task-local values of none of its callers. It is canceled when the last of
/// them has left. It knows its callers through its ``Flight`` alone.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable, Event: FlightEvent>: Sendable {
    typealias Operation = @Sendable (Flight) async -> Value

    /// The end of a caller's wait.
    enum Outcome: Sendable {
        case value(Value)
        /// The value is for the first caller alone (``Flight/dismissOthers()``).
        case dismissed
        /// The waiting task was canceled.
        case canceled
    }

    private struct State {
        /// The flights that callers may join.
        var open: [Key: Flight] = [:]
        /// All flights that have not ended.
        var running: [ObjectIdentifier: Flight] = [:]
    }

    private let state = Guarded(State())

    /// Waits for the value of the operation that runs for a key, or starts one.
    ///
    /// Canceling the waiting task leaves the flight.
    ///
    /// - Parameters:
    ///   - waiter: the caller. The operation has the highest priority of all that have joined.
    ///   - instant: noted with an operation that is started (``Flight/startedAt``).
    ///   - isCurrent: whether a running operation may be joined; one that may not keeps the callers that it has.
    ///   - isNeeded: whether an operation is to be started where none is joined.
    ///   - hear: called with each event of the operation, and first with those that a late caller has missed.
    ///   - whenJoined: called before the wait.
    ///   - operation: started where none is joined. It begins on the calling thread.
    /// - Returns: `nil` where none was joined, and none is needed.
    func outcome(
        for key: Key,
        waiter: any PriorityWaiter,
        at instant: Int = 0,
        isCurrent: (Flight) -> Bool = { _ in true },
        isNeeded: () -> Bool = { true },
        hear: (@Sendable (Event) -> Void)? = nil,
        whenJoined: () -> Void = {},
        operation: @escaping Operation
    ) async -> Outcome? {
        let priority = waiter.priority
        let promise = Promise<Outcome>()
        let joined = state.withLock { state -> (flight: Flight, number: Int)? in
            let joiner = Flight.Joiner(promise: promise, hear: hear)
            if let known = state.open[key], isCurrent(known), let number = known.add(joiner) { return (known, number) }
            guard isNeeded() else { return nil }
            let flight = Flight(key, of: self, at: instant, first: joiner, priority)
            state.open[key] = flight
            state.running[ObjectIdentifier(flight)] = flight
            return (flight, Flight.first)
        }
        guard let (flight, number) = joined else { return nil }
        whenJoined()
        if number == Flight.first { flight.start(operation) } else { flight.welcome(number, priority: priority) }
        waiter.follow(since: priority) { flight.raise(to: $0) }
        defer { waiter.onPriorityChange(nil) }
        return await promise.value {
            flight.leave(number)
            return .canceled
        }
    }

    /// Closes a flight to further callers.
    ///
    /// - Parameter isOver: whether it has ended, too.
    fileprivate func close(_ flight: Flight, isOver: Bool) {
        let removed = state.withLock { state in
            if state.open[flight.key] === flight { state.open[flight.key] = nil }
            return isOver ? state.running.removeValue(forKey: ObjectIdentifier(flight)) : nil
        }
        // Freed where no lock is held.
        withExtendedLifetime(removed) {}
    }

    /// Cancels the operations that have called ``Flight/begin()``; the others come to their end by themselves.
    func cancelBegun() {
        for flight in state.withLock({ Array($0.running.values) }) { flight.cancelIfBegun() }
    }
}

/// An event that a flight tells those who have joined it.
protocol FlightEvent: Sendable {
    associatedtype Kind: Equatable

    /// A late caller is told the last event of each kind.
    var kind: Kind { get }
}

extension SingleFlight {
    /// One run of an operation, and the callers that wait for its value.
    final class Flight: Sendable {
        fileprivate struct Joiner {
            let promise: Promise<Outcome>
            let hear: (@Sendable (Event) -> Void)?
            /// The events that it has yet to be told by the thread that tells it the missed ones; `nil` where it has
            /// been told all.
            var untold: [Event]?
        }

        fileprivate struct State {
            var joiners: [Int: Joiner]
            var count = Flight.first
            var priority: RequestPriority
            /// Whether the value is for the first caller alone.
            var isDismissed = false
            /// Whether the value is here, or no caller waits for it.
            var isOver = false
            var hasBegun = false
            var task: Task<Void, Never>?
            var change: (@Sendable (RequestPriority) -> Void)?
            /// The last event of each kind, in order.
            var events: [Event] = []
        }

        fileprivate static var first: Int { 1 }

        /// The instant that its first caller has given.
        let startedAt: Int
        fileprivate let key: Key
        private let owner: SingleFlight
        private let state: Guarded<State>

        fileprivate init(
            _ key: Key, of owner: SingleFlight, at instant: Int, first: Joiner, _ priority: RequestPriority
        ) {
            self.key = key
            startedAt = instant
            self.owner = owner
            state = Guarded(State(joiners: [Self.first: first], priority: priority))
        }

        // MARK: The operation's side

        /// Tells those who have joined an event.
        @Sendable func report(_ event: Event) {
            let told = state.withLock { state in
                state.events.removeAll { $0.kind == event.kind }
                state.events.append(event)
                var told: [Joiner] = []
                for (number, joiner) in state.joiners {
                    if joiner.untold == nil {
                        told.append(joiner)
                    } else {
                        state.joiners[number]?.untold?.append(event)
                    }
                }
                return told
            }
            for joiner in told { joiner.hear?(event) }
        }

        /// Goes on for the first caller alone: the others wait for a value that is not theirs.
        func dismissOthers() {
            let others = state.withLock { state in
                state.isDismissed = true
                let others = state.joiners.filter { $0.key != state.joiners.keys.min() }
                for number in others.keys { state.joiners[number] = nil }
                return Array(others.values)
            }
            owner.close(self, isOver: false)
            for joiner in others { joiner.promise.fulfill(with: .dismissed) }
        }

        /// Notes that the operation no longer waits for its turn.
        func begin() { state.withLock { $0.hasBegun = true } }

        // MARK: The callers' side

        /// - Returns: the number of the caller; `nil` where the flight can no longer be joined.
        fileprivate func add(_ joiner: Joiner) -> Int? {
            state.withLock { state in
                guard !state.isOver, !state.isDismissed else { return nil }
                var joiner = joiner
                if joiner.hear != nil, !state.events.isEmpty { joiner.untold = state.events }
                state.count += 1
                state.joiners[state.count] = joiner
                return state.count
            }
        }

        /// Tells a late caller what it has missed, and then what happens meanwhile.
        fileprivate func welcome(_ number: Int, priority: RequestPriority) {
            raise(to: priority)
            while let (hear, event) = state.withLock({ $0.nextUntold(of: number) }) { hear?(event) }
        }

        fileprivate func start(_ operation: @escaping Operation) {
            let task = Self.task { [self] in end(with: await operation(self)) }
            let isAbandoned = state.withLock { state in
                if !state.isOver { state.task = task }
                return state.isOver
            }
            // Where it has not ended by itself, all have left.
            if isAbandoned { task.cancel() }
        }

        /// Begins on the calling thread: to wake another takes longer than what is done before the first wait.
        private static func task(_ body: @escaping @Sendable @concurrent () async -> Void) -> Task<Void, Never> {
            guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
                return Task.detached(operation: body)
            }
            return Task.immediateDetached(operation: body)
        }

        private func end(with value: Value) {
            let joiners = state.withLock { state in
                defer { state.close() }
                return Array(state.joiners.values)
            }
            owner.close(self, isOver: true)
            for joiner in joiners { joiner.promise.fulfill(with: .value(value)) }
        }

        /// Without effect for a caller whose outcome is under way.
        fileprivate func leave(_ number: Int) {
            let (isLast, task) = state.withLock { state -> (Bool, Task<Void, Never>?) in
                guard state.joiners.removeValue(forKey: number) != nil, state.joiners.isEmpty else {
                    return (false, nil)
                }
                let task = state.task
                state.close()
                return (true, task)
            }
            guard isLast else { return }
            owner.close(self, isOver: true)
            task?.cancel()
        }

        /// Gives the operation at least this priority; a single caller may lower it.
        fileprivate func raise(to priority: RequestPriority) {
            let change = state.withLock { state -> (@Sendable (RequestPriority) -> Void)? in
                guard priority > state.priority || state.count == Self.first else { return nil }
                state.priority = priority
                return state.change
            }
            change?(priority)
        }

        fileprivate func cancelIfBegun() { state.withLock { $0.hasBegun ? $0.task : nil }?.cancel() }
    }
}

extension SingleFlight.Flight: PriorityWaiter {
    /// The highest priority of the callers that have joined.
    var priority: RequestPriority { state.withLock { $0.priority } }

    func onPriorityChange(_ change: (@Sendable (RequestPriority) -> Void)?) { state.withLock { $0.change = change } }
}

extension SingleFlight.Flight.State {
    fileprivate mutating func close() {
        isOver = true
        joiners = [:]
        task = nil
    }

    /// - Returns: the next event that a caller is to be told; `nil` where it has been told all, or has left.
    fileprivate mutating func nextUntold(of number: Int) -> (hear: (@Sendable (Event) -> Void)?, event: Event)? {
        guard let joiner = joiners[number], let untold = joiner.untold else { return nil }
        joiners[number]?.untold = untold.isEmpty ? nil : Array(untold.dropFirst())
        return untold.first.map { (joiner.hear, $0) }
    }
}
