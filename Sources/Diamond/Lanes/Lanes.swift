import DiamondSQLite
import Synchronization

/// What limits the exchanges of an engine: how many at the same time in all, to one origin, and in one lane.
///
/// Only exchanges count: an answer from the cache needs no place, and what waits holds none. Of those that wait, the more
/// urgent begins first, and among equals who came first; after 64 others have begun before it, one counts as much as one
/// that comes then with one priority higher, so that nothing starves. All may be changed at any time; what is on the wire
/// goes on.
public final class Lanes: Sendable {
    struct State {
        var queue: PermitQueue<Waiting>
        /// Whether one has a place, known before anybody could be told.
        var decided: [SlotNumber: Bool] = [:]
    }

    struct Waiting {
        var waiter: Waiter
        /// What counts the wait, told that it has ended once the lock is free.
        var token: ActivityToken?
    }

    enum Waiter {
        case undecided
        case task(CheckedContinuation<Bool, Never>)
    }

    let state: Guarded<State>
    private let pauseNews = Broadcast<Void>()
    /// Whether some lane is serial. Apart from the state, because every request asks: a lock here would be everybody's.
    private let areAnySerial: Atomic<Bool>

    init(width: Int, originWidth: Int, limits: [Lane: LaneLimits]) {
        let queue = PermitQueue<Waiting>(width: max(1, width), originWidth: max(1, originWidth), limits: limits)
        state = Guarded(State(queue: queue))
        areAnySerial = Atomic(limits.values.contains(where: \.isSerial))
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
        set {
            change { queue in
                queue.limits[lane] = newValue
                areAnySerial.store(queue.limits.values.contains(where: \.isSerial), ordering: .releasing)
            }
        }
    }

    /// Whether a lane keeps the order of its requests.
    func isSerial(_ lane: Lane) -> Bool { areAnySerial.load(ordering: .acquiring) && self[lane].isSerial }

    /// Lets nothing begin in a lane until it is resumed. What is answered from the cache still is.
    ///
    /// It ends with the engine. ``ReplayQueue/hold(_:reason:)`` of ``ReplayHold/lane(_:)`` lasts, for every process.
    public func pause(_ lane: Lane) { changePauses { $0.paused.lanes.insert(lane) } }

    /// Ends ``pause(_:)``; a lane that is held in the store stays so.
    public func resume(_ lane: Lane) { changePauses { $0.paused.lanes.remove(lane) } }

    /// Lets nothing begin in any lane until they are resumed. What is answered from the cache still is.
    ///
    /// It ends with the engine. ``ReplayQueue/hold(_:reason:)`` of ``ReplayHold/engine`` lasts, for every process.
    public func pauseAll() { changePauses { $0.paused.isWhole = true } }

    /// Ends ``pauseAll()``; a lane that was paused by itself stays paused.
    public func resumeAll() { changePauses { $0.paused.isWhole = false } }

    /// Lets nothing begin in what is held in the store, and in nothing else by its word.
    func keep(to holds: LanePauses) { changePauses { $0.held = holds } }

    /// Ends every pause, for good: what waits goes on to find that the transport is closed.
    func open() { changePauses { $0.isOpen = true } }

    /// Whether nothing begins in a lane: it is paused, or held in the store.
    public func isPaused(_ lane: Lane) -> Bool { state.withLock { $0.queue.pauses.contains(lane) } }

    /// Whether nothing begins in some lane.
    var areAnyPaused: Bool { state.withLock { !$0.queue.pauses.isEmpty } }

    /// How many wait for a place, in all lanes.
    public var waiting: Int { state.withLock { $0.queue.waiting } }

    /// How many are on the wire, in all lanes.
    public var running: Int { state.withLock { $0.queue.running } }

    /// Where nothing begins, be it paused or held.
    var pauses: LanePauses { state.withLock { $0.queue.pauses } }

    func change(_ body: (inout PermitQueue<Waiting>) -> Void) {
        let admitted = state.withLock { state in
            body(&state.queue)
            let admitted = state.queue.admit()
            for (number, waiter) in admitted { state.decide(number, waiter.who, true) }
            return admitted
        }
        for (_, waiter) in admitted { waiter.who.token?.end() }
        for (_, waiter) in admitted {
            switch waiter.who.waiter {
            case .undecided: break
            case .task(let task): task.resume(returning: true)
            }
        }
    }
}

// MARK: Listening

extension Lanes {
    /// An element whenever what is paused may have changed.
    package var pauseChanges: AsyncStream<Void> { pauseNews.newest }

    private func changePauses(_ body: (inout PermitQueue<Waiting>) -> Void) {
        change(body)
        pauseNews.send(())
    }
}
