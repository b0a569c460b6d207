import DiamondSQLite

/// What limits the exchanges of an engine: how many at the same time in all, to one origin, and in one lane.
///
/// Only exchanges count: an answer from the cache needs no place, and what waits holds none. Of those that wait, the more
/// urgent begins first, and among equals who came first; after 64 others have begun before it, one counts as one priority
/// higher, so that nothing starves. All may be changed at any time; what is on the wire goes on.
public final class Lanes: Sendable {
    fileprivate struct State {
        var queue: FlightQueue
        var waiters: [Int: Waiter] = [:]
    }

    fileprivate enum Waiter {
        case undecided
        /// Whether it has a place, known before anybody could be told.
        case decided(Bool)
        case waiting(CheckedContinuation<Bool, Never>)
        case called(@Sendable () -> Void)

        func tell(_ isAdmitted: Bool) {
            switch self {
            case .waiting(let waiter): waiter.resume(returning: isAdmitted)
            case .called(let call): if isAdmitted { call() }
            case .undecided, .decided: break
            }
        }
    }

    private let state: Guarded<State>

    init(width: Int, originWidth: Int, limits: [Lane: LaneLimits]) {
        let queue = FlightQueue(width: max(1, width), originWidth: max(1, originWidth), limits: limits)
        state = Guarded(State(queue: queue))
    }

    /// Exchanges in all; at least 1.
    public var width: Int {
        get { state.withLock { $0.queue.width } }
        set { change { $0.width = max(1, newValue) } }
    }

    /// Exchanges with one origin (scheme, host and port); at least 1.
    public var originWidth: Int {
        get { state.withLock { $0.queue.originWidth } }
        set { change { $0.originWidth = max(1, newValue) } }
    }

    /// The limits of one lane.
    public subscript(lane: Lane) -> LaneLimits {
        get { state.withLock { $0.queue.limits[lane] ?? LaneLimits() } }
        set { change { $0.limits[lane] = newValue } }
    }

    /// Lets nothing begin in a lane until it is resumed. What is answered from the cache still is.
    public func pause(_ lane: Lane) { change { $0.paused.insert(lane) } }

    public func resume(_ lane: Lane) { change { $0.paused.remove(lane) } }

    /// Lets nothing begin in any lane until they are resumed. What is answered from the cache still is.
    public func pauseAll() { change { $0.isPaused = true } }

    /// Ends ``pauseAll()``; a lane that was paused by itself stays paused.
    public func resumeAll() { change { $0.isPaused = false } }

    /// Ends every pause: what waits goes on to find that the transport is closed.
    func open() {
        change { queue in
            queue.isPaused = false
            queue.paused = []
        }
    }

    /// Whether nothing begins in a lane.
    public func isPaused(_ lane: Lane) -> Bool {
        state.withLock { $0.queue.isPaused || $0.queue.paused.contains(lane) }
    }

    /// How many wait for a place, in all lanes.
    public var waiting: Int { state.withLock { $0.queue.waiting } }

    /// How many are on the wire, in all lanes.
    public var running: Int { state.withLock { $0.queue.running } }

    private func change(_ body: (inout FlightQueue) -> Void) {
        let admitted = state.withLock { state in
            body(&state.queue)
            return state.queue.admit().compactMap { state.decide($0, true) }
        }
        for waiter in admitted { waiter.tell(true) }
    }

    // MARK: Places

    /// Waits for a place, which ``leave(_:)`` gives back.
    ///
    /// - Returns: `false` when the waiting task was canceled, and there is no place to give back.
    func enter(_ place: FlightPlace, _ priority: FlightPriority = .normal) async -> Bool {
        let number = state.withLock { $0.beginOrWait(at: place, priority, as: .undecided) }
        guard let number else { return true }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in wait(number, waiter) }
        } onCancel: {
            cancel(number)
        }
    }

    private func wait(_ number: Int, _ waiter: CheckedContinuation<Bool, Never>) {
        let known = state.withLock { state -> Bool? in
            if case .decided(let isAdmitted)? = state.waiters.removeValue(forKey: number) { return isAdmitted }
            state.waiters[number] = .waiting(waiter)
            return nil
        }
        if let known { waiter.resume(returning: known) }
    }

    private func cancel(_ number: Int) {
        let waiter = state.withLock { state in
            // Where it has a place already, that is given back by who has it.
            state.queue.remove(number) ? state.decide(number, false) : nil
        }
        waiter?.tell(false)
    }

    /// Takes a place, or waits for one without a task.
    ///
    /// - Parameter call: called where there was none, when there is; then the place is the caller's.
    /// - Returns: `nil` where there is a place, else the number for ``leaveLine(_:)``.
    func enter(
        _ place: FlightPlace,
        _ priority: FlightPriority,
        whenThereIsRoom call: @escaping @Sendable () -> Void
    ) -> Int? {
        state.withLock { $0.beginOrWait(at: place, priority, as: .called(call)) }
    }

    /// Gives one that waits another priority; without effect where it has its place.
    func change(_ number: Int, to priority: FlightPriority) { change { $0.change(number, to: priority) } }

    /// Waits no longer; `false` where the place is there already.
    func leaveLine(_ number: Int) -> Bool {
        state.withLock { state in
            guard state.queue.remove(number) else { return false }
            state.waiters[number] = nil
            return true
        }
    }

    func leave(_ place: FlightPlace) { change { $0.end(place) } }
}

extension Lanes.State {
    /// - Returns: `nil` where it has begun, else the number under which it waits.
    fileprivate mutating func beginOrWait(
        at place: FlightPlace,
        _ priority: FlightPriority,
        as waiter: Lanes.Waiter
    ) -> Int? {
        guard !queue.begins(place) else { return nil }
        let number = queue.add(place, priority)
        waiters[number] = waiter
        return number
    }

    /// - Returns: who is to be told.
    fileprivate mutating func decide(_ number: Int, _ isAdmitted: Bool) -> Lanes.Waiter? {
        switch waiters.removeValue(forKey: number) {
        case .undecided?, .decided?, nil:
            waiters[number] = .decided(isAdmitted)
            return nil
        case let waiter?: return waiter
        }
    }
}
