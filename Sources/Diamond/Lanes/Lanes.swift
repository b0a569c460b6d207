import DiamondSQLite
import Synchronization

/// The limits of an engine's exchanges: the number at the same time in all, to one origin, and in one lane.
///
/// Only exchanges count: an answer from the cache needs no permit, and a waiter holds none. The most urgent waiter
/// begins first; among equals, the one that came first. After 64 others have begun before it, a waiter counts as much
/// as one that comes then with the next higher priority, so that nothing starves. All limits may be changed at any
/// time; exchanges on the wire go on.
public final class Lanes: Sendable {
    struct State {
        var queue: PermitQueue<Waiting>
        /// Whether a waiter got its permit, decided before its task could be told.
        var decided: [SlotNumber: Bool] = [:]
    }

    struct Waiting {
        var waiter: Waiter
        /// The token that counts the wait. It is told that the wait has ended once the lock is free.
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

    /// The greatest number of exchanges at the same time; at least 1.
    public var width: Int {
        get { state.withLock { $0.queue.width } }
        set { change { $0.width = max(1, newValue) } }
    }

    /// The greatest number of exchanges with one origin (scheme, host and port) at the same time; at least 1.
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

    /// Pauses a lane: no exchange begins in it until it is resumed. Answers from the cache are still returned.
    ///
    /// It ends with the engine. ``ReplayQueue/hold(_:reason:)`` of ``ReplayHold/lane(_:)`` lasts, for every process.
    public func pause(_ lane: Lane) { changePauses { $0.paused.lanes.insert(lane) } }

    /// Ends ``pause(_:)``; a lane that is held in the store stays so.
    public func resume(_ lane: Lane) { changePauses { $0.paused.lanes.remove(lane) } }

    /// Pauses all lanes: no exchange begins until they are resumed. Answers from the cache are still returned.
    ///
    /// It ends with the engine. ``ReplayQueue/hold(_:reason:)`` of ``ReplayHold/engine`` lasts, for every process.
    public func pauseAll() { changePauses { $0.paused.isWhole = true } }

    /// Ends ``pauseAll()``; a lane that was paused by itself stays paused.
    public func resumeAll() { changePauses { $0.paused.isWhole = false } }

    /// Pauses exactly what is held in the store, in addition to the pauses of the app.
    func keep(to holds: LanePauses) { changePauses { $0.held = holds } }

    /// Ends every pause for good: waiters go on to find that the transport is closed.
    func open() { changePauses { $0.isOpen = true } }

    /// Whether nothing begins in a lane: it is paused, or held in the store.
    public func isPaused(_ lane: Lane) -> Bool { state.withLock { $0.queue.pauses.contains(lane) } }

    /// Whether nothing begins in some lane.
    var areAnyPaused: Bool { state.withLock { !$0.queue.pauses.isEmpty } }

    /// The number of exchanges that wait for a permit, in all lanes.
    public var waiting: Int { state.withLock { $0.queue.waiting } }

    /// The number of exchanges on the wire, in all lanes.
    public var running: Int { state.withLock { $0.queue.running } }

    /// The lanes in which no exchange begins, paused or held.
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
