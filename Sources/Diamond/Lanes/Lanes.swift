import DiamondSQLite
import Synchronization

/// The limits for the number of an engine's exchanges at the same time: in total, with one origin, and in one lane.
///
/// Only exchanges count: a response from the cache needs no permit, and a waiter holds none. The waiter with the
/// highest priority begins first, and among equals the first to arrive. For every 64 others that begin before it, a
/// waiter gains one priority, so that no waiter starves. All limits may be changed at any time; exchanges on the wire
/// continue.
public final class Lanes: Sendable {
    struct Waiting {
        /// Whether the waiter has got its permit. Fulfilled outside the lock.
        let admission = Promise<Bool>()
        /// The token that counts the wait. It is ended outside the lock.
        var token: ActivityToken?
    }

    let state: Guarded<PermitQueue<Waiting>>
    private let pauseBroadcast = Broadcast<Void>()
    /// Whether some lane is serial. An atomic outside of the lock, because every request reads it.
    private let hasSerialLane: Atomic<Bool>

    init(width: Int, originWidth: Int, limits: [Lane: LaneLimits]) {
        state = Guarded(PermitQueue(width: max(1, width), originWidth: max(1, originWidth), limits: limits))
        hasSerialLane = Atomic(limits.values.contains(where: \.isSerial))
    }

    /// The greatest number of exchanges at the same time; at least 1.
    public var width: Int {
        get { state.withLock { $0.width } }
        set { change { $0.width = max(1, newValue) } }
    }

    /// The greatest number of exchanges with one origin (scheme, host and port) at the same time; at least 1.
    public var originWidth: Int {
        get { state.withLock { $0.originWidth } }
        set { change { $0.originWidth = max(1, newValue) } }
    }

    /// The limits of one lane.
    public subscript(lane: Lane) -> LaneLimits {
        get { state.withLock { $0.limits[lane] ?? LaneLimits() } }
        set {
            change { queue in
                queue.limits[lane] = newValue
                hasSerialLane.store(queue.limits.values.contains(where: \.isSerial), ordering: .releasing)
            }
        }
    }

    /// Whether a lane keeps the order of its requests.
    func isSerial(_ lane: Lane) -> Bool { hasSerialLane.load(ordering: .acquiring) && self[lane].isSerial }

    /// Pauses a lane: no exchange begins in it until it is resumed. Responses from the cache are still returned.
    ///
    /// The pause ends with the engine. ``ReplayQueue/hold(_:reason:)`` of ``ReplayHold/lane(_:)`` lasts, for every
    /// process.
    public func pause(_ lane: Lane) { changePauses { $0.paused.lanes.insert(lane) } }

    /// Ends ``pause(_:)``; a lane that is held in the store stays held.
    public func resume(_ lane: Lane) { changePauses { $0.paused.lanes.remove(lane) } }

    /// Pauses all lanes: no exchange begins until they are resumed. Responses from the cache are still returned.
    ///
    /// The pause ends with the engine. ``ReplayQueue/hold(_:reason:)`` of ``ReplayHold/engine`` lasts, for every
    /// process.
    public func pauseAll() { changePauses { $0.paused.includesAllLanes = true } }

    /// Ends ``pauseAll()``; a lane that was paused by itself stays paused.
    public func resumeAll() { changePauses { $0.paused.includesAllLanes = false } }

    /// Sets the pauses that are held in the store, in addition to the pauses of the app.
    func setHeld(_ holds: LanePauses) { changePauses { $0.held = holds } }

    /// Ends every pause. Later ones have no effect. Waiters continue, and find the transport closed.
    func ignorePauses() { changePauses { $0.ignoresPauses = true } }

    /// Whether no exchange begins in a lane, because it is paused, or held in the store.
    public func isPaused(_ lane: Lane) -> Bool { state.withLock { $0.pauses.contains(lane) } }

    /// The number of exchanges that wait for a permit, in all lanes.
    package var waiting: Int { state.withLock { $0.waiting } }

    /// The number of exchanges on the wire, in all lanes.
    package var running: Int { state.withLock { $0.running } }

    /// The lanes in which no exchange begins, paused or held.
    var pauses: LanePauses { state.withLock { $0.pauses } }

    func change(_ body: (inout PermitQueue<Waiting>) -> Void) {
        let admitted = state.withLock { queue in
            body(&queue)
            return queue.admit()
        }
        for (_, waiter) in admitted { waiter.payload.token?.end() }
        for (_, waiter) in admitted { waiter.payload.admission.fulfill(with: true) }
    }
}

// MARK: Observing

extension Lanes {
    /// An element whenever the pauses may have changed.
    package var pauseChanges: AsyncStream<Void> { pauseBroadcast.newest }

    private func changePauses(_ body: (inout PermitQueue<Waiting>) -> Void) {
        change(body)
        pauseBroadcast.send(())
    }
}
