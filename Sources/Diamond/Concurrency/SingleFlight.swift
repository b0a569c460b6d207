import DiamondSQLite

/// Runs one operation at a time for each key, and shares its value among all callers.
///
/// An operation runs in its own task, without the task-local values of its callers. It is canceled when the last caller
/// leaves. It accesses its callers only through its ``Flight``.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable, Event: FlightEvent>: Sendable {
    typealias Operation = @Sendable (Flight) async -> Value

    /// The end of a caller's wait.
    enum Outcome: Sendable {
        case value(Value)
        /// The value is for the first caller only (``Flight/dismissOthers()``).
        case dismissed
        /// The waiting task was canceled.
        case canceled
        /// The caller's time was up.
        case late
    }

    /// The wait of a caller for a value.
    struct Wait {
        let waiter: any PriorityWaiter
        /// The limit for the wait; `nil` for none.
        let limit: TimeLimit?
        /// Called with each event of the operation. A late caller first receives the events that it missed.
        let onEvent: (@Sendable (Event) -> Void)?

        /// - Parameter waiter: the caller. The operation has the highest priority of its callers.
        init(
            of waiter: any PriorityWaiter,
            within limit: TimeLimit? = nil,
            onEvent: (@Sendable (Event) -> Void)? = nil
        ) {
            self.waiter = waiter
            self.limit = limit
            self.onEvent = onEvent
        }
    }

    private struct State {
        /// The flights that callers may join.
        var open: [Key: Flight] = [:]
        /// All flights that have not ended.
        var running: [ObjectIdentifier: Flight] = [:]
    }

    private let state = Guarded(State())

    /// Waits for the value of the operation that runs for a key, or starts the operation.
    ///
    /// Canceling the waiting task leaves the flight. So does the end of the caller's time.
    ///
    /// - Parameters:
    ///   - wait: the caller and its wait.
    ///   - position: the ``Flight/startedAt`` of a new flight.
    ///   - isCurrent: whether a running operation may be joined. If not, its existing callers remain.
    ///   - isNeeded: whether to start an operation if none can be joined.
    ///   - onJoin: called before the wait.
    ///   - operation: the operation to start if none can be joined. It starts on the calling thread.
    /// - Returns: The outcome; `nil` if no operation was joined or needed.
    func outcome(
        for key: Key,
        by wait: Wait,
        at position: LogPosition = .start,
        isCurrent: (Flight) -> Bool = { _ in true },
        isNeeded: () -> Bool = { true },
        onJoin: () -> Void = {},
        operation: @escaping Operation
    ) async -> Outcome? {
        let waiter = wait.waiter
        let priority = waiter.priority
        let promise = Promise<Outcome>()
        let joined = state.withLock { state -> (flight: Flight, number: Int)? in
            let joiner = Flight.Joiner(promise: promise, onEvent: wait.onEvent)
            if let known = state.open[key], isCurrent(known), let number = known.add(joiner) { return (known, number) }
            guard isNeeded() else { return nil }
            let flight = Flight(key, of: self, at: position, first: joiner, priority)
            state.open[key] = flight
            state.running[ObjectIdentifier(flight)] = flight
            return (flight, Flight.first)
        }
        guard let (flight, number) = joined else { return nil }
        onJoin()
        if number == Flight.first { flight.start(operation) } else { flight.replayEvents(number, priority: priority) }
        waiter.follow(since: priority) { flight.raise(to: $0) }
        defer { waiter.onPriorityChange(nil) }
        return await promise.value(within: wait.limit) { end in
            flight.leave(number)
            promise.fulfill(with: end == .late ? .late : .canceled)
        }
    }

    /// Closes a flight to further callers.
    ///
    /// - Parameter isOver: whether the flight has also ended.
    fileprivate func close(_ flight: Flight, isOver: Bool) {
        let removed = state.withLock { state in
            if state.open[flight.key] === flight { state.open[flight.key] = nil }
            return isOver ? state.running.removeValue(forKey: ObjectIdentifier(flight)) : nil
        }
        // Released outside the lock, because its deinitialization may run other code.
        withExtendedLifetime(removed) {}
    }

    /// Cancels the operations that have called ``Flight/begin()``. The others end by themselves.
    func cancelBegun() {
        for flight in state.withLock({ Array($0.running.values) }) { flight.cancelIfBegun() }
    }
}

/// An event that a flight sends to its callers.
protocol FlightEvent: Sendable {
    associatedtype Kind: Equatable

    /// The kind of event. A late caller receives the last event of each kind.
    var kind: Kind { get }
}

extension SingleFlight {
    /// One run of an operation, and the callers that wait for its value.
    final class Flight: Sendable {
        fileprivate struct Joiner {
            let promise: Promise<Outcome>
            let onEvent: (@Sendable (Event) -> Void)?
            /// The missed events that a thread is still sending to the caller; `nil` if it has received all.
            var pendingEvents: [Event]?
        }

        fileprivate struct State {
            var joiners: [Int: Joiner]
            var count = Flight.first
            var priority: RequestPriority
            /// Whether the value is for the first caller only.
            var isDismissed = false
            /// Whether the value is known, or no caller waits for it.
            var isOver = false
            var hasBegun = false
            var task: Task<Void, Never>?
            var change: (@Sendable (RequestPriority) -> Void)?
            /// The last event of each kind, in order.
            var events: [Event] = []
        }

        fileprivate static var first: Int { 1 }

        /// The position that the first caller passed.
        let startedAt: LogPosition
        fileprivate let key: Key
        private let owner: SingleFlight
        private let state: Guarded<State>

        fileprivate init(
            _ key: Key, of owner: SingleFlight, at position: LogPosition, first: Joiner, _ priority: RequestPriority
        ) {
            self.key = key
            startedAt = position
            self.owner = owner
            state = Guarded(State(joiners: [Self.first: first], priority: priority))
        }

        // MARK: The operation's side

        /// Sends an event to all callers.
        @Sendable func report(_ event: Event) {
            let receivers = state.withLock { state in
                state.events.removeAll { $0.kind == event.kind }
                state.events.append(event)
                var receivers: [Joiner] = []
                for (number, joiner) in state.joiners where joiner.onEvent != nil {
                    if joiner.pendingEvents == nil {
                        receivers.append(joiner)
                    } else {
                        state.joiners[number]?.pendingEvents?.append(event)
                    }
                }
                return receivers
            }
            for joiner in receivers { joiner.onEvent?(event) }
        }

        /// Continues for the first caller only. The others get ``Outcome/dismissed``, because the value is not for
        /// them.
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

        /// Marks the operation as begun, when it no longer waits for its permit.
        func begin() { state.withLock { $0.hasBegun = true } }

        // MARK: The callers' side

        /// Adds a caller and returns its number; `nil` if the flight can no longer be joined.
        fileprivate func add(_ joiner: Joiner) -> Int? {
            state.withLock { state in
                guard !state.isOver, !state.isDismissed else { return nil }
                var joiner = joiner
                if joiner.onEvent != nil, !state.events.isEmpty { joiner.pendingEvents = state.events }
                state.count += 1
                state.joiners[state.count] = joiner
                return state.count
            }
        }

        /// Sends a late caller the events that it missed, and those that occur meanwhile.
        fileprivate func replayEvents(_ number: Int, priority: RequestPriority) {
            raise(to: priority)
            while let (onEvent, event) = state.withLock({ $0.nextPendingEvent(of: number) }) { onEvent?(event) }
        }

        fileprivate func start(_ operation: @escaping Operation) {
            let task = Self.task { [self] in end(with: await operation(self)) }
            let isAbandoned = state.withLock { state in
                if !state.isOver { state.task = task }
                return state.isOver
            }
            // The flight has ended, or all callers have left.
            if isAbandoned { task.cancel() }
        }

        /// Starts a task on the calling thread, because waking another takes longer than the work before the first
        /// suspension.
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

        /// Removes a caller. It has no effect if the caller's outcome is set.
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

        /// Raises the operation's priority to at least this one. A single caller may also lower it.
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
    /// The highest priority of the callers.
    var priority: RequestPriority { state.withLock { $0.priority } }

    func onPriorityChange(_ change: (@Sendable (RequestPriority) -> Void)?) { state.withLock { $0.change = change } }
}

extension SingleFlight.Flight.State {
    fileprivate mutating func close() {
        isOver = true
        joiners = [:]
        task = nil
    }

    /// Returns the next event for a caller; `nil` if it has received all, or has left.
    fileprivate mutating func nextPendingEvent(of number: Int) -> (onEvent: (@Sendable (Event) -> Void)?, event: Event)?
    {
        guard let joiner = joiners[number], let pendingEvents = joiner.pendingEvents else { return nil }
        joiners[number]?.pendingEvents = pendingEvents.isEmpty ? nil : Array(pendingEvents.dropFirst())
        return pendingEvents.first.map { (joiner.onEvent, $0) }
    }
}
