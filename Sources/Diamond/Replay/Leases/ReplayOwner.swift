import DiamondSQLite
import Foundation

/// The owner of the jobs that this process claims: its row, its lock, and its lease, which is renewed while it has
/// jobs.
final class ReplayOwner: Sendable {
    /// The time for which an owner counts as alive without a renewal, in milliseconds.
    static let lease: Int64 = 60_000
    /// The time between two renewals.
    static let renewal = Duration.milliseconds(15_000)
    /// The time before the end of the lease at which running attempts are ended, in milliseconds, so that they end
    /// before another owner begins.
    static let margin: Int64 = 5_000

    /// The registration of the owner, and what depends on it.
    struct Registration {
        var id: ReplayOwnerRecord.ID?
        /// The end of the lease.
        var leaseEnd = Uptime(rawValue: 0)
        /// The number of jobs and claims that need the lease.
        var users = 0
        var isSuspended = false
        var isRetired = false
        var heartbeat: Task<Void, Never>?
        /// The attempts that have to end before the lease does.
        var attempts: [Int: RunningAttempt] = [:]
        /// The signals that end the pauses of outcomes that wait for the disk.
        var pauses: [Int: Signal] = [:]
        var lastNumber = 0

        /// Marks the attempts of an owner as ended; `nil` for all owners.
        ///
        /// - Returns: the functions that cancel the attempts.
        mutating func endAttempts(of owner: Int64?) -> [@Sendable () -> Void] {
            let ending = attempts.filter { owner == nil || $0.value.owner == owner }
            for number in ending.keys { attempts[number]?.isEndedByOwner = true }
            return ending.values.map(\.cancel)
        }
    }

    let storage: any ReplayStorage
    let clock: ReplayClock
    let outcomes = PendingOutcomes()
    let state = Guarded(Registration())

    init(_ storage: any ReplayStorage, clock: ReplayClock) {
        self.storage = storage
        self.clock = clock
    }

    deinit { state.withLock { $0.heartbeat }?.cancel() }

    /// Whether the owner was closed, and claims no more jobs.
    var isRetired: Bool { state.withLock { $0.isRetired } }

    /// The id of the owner's row; `nil` while it has none.
    var id: Int64? { state.withLock { $0.id } }

    /// Registers the owner if needed, and renews its lease until the matching ``leave()``.
    ///
    /// - Returns: the id of the owner's row.
    func enter() async throws(ReplayError) -> Int64 {
        guard !isRetired else { throw Self.closed }
        state.withLock { $0.users += 1 }
        do throws(ReplayError) {
            let id = try await renewed()
            startHeartbeat()
            return id
        } catch {
            leave()
            throw error
        }
    }

    private static let closed = ReplayError(
        .closed, "the queue is closed, and sends nothing: make a new engine")

    /// Enters once more, for another job, while the owner is entered already.
    func enterAgain() { state.withLock { $0.users += 1 } }

    /// Drops an owner row that another process has declared dead. The next call of ``enter()`` creates a new one.
    func dropOwner(_ id: Int64) {
        let cancels = state.withLock { state -> [@Sendable () -> Void] in
            guard state.id == id else { return [] }
            state.id = nil
            // Other owners may be sending the same jobs already.
            return state.endAttempts(of: id)
        }
        storage.abandon(id)
        for cancel in cancels { cancel() }
    }

    /// Undoes one ``enter()``. After the last one, the lease is not renewed.
    func leave() {
        let heartbeat = state.withLock { state -> Task<Void, Never>? in
            state.users -= 1
            guard state.users == 0 else { return nil }
            defer { state.heartbeat = nil }
            return state.heartbeat
        }
        heartbeat?.cancel()
    }

    /// Renews the lease if less than half of it is left. If another process has declared the owner dead, registers a
    /// new one.
    ///
    /// - Returns: the id of the owner's row.
    private func renewed() async throws(ReplayError) -> Int64 {
        let (id, leaseEnd) = state.withLock { ($0.id, $0.leaseEnd) }
        if let id, clock.uptime() < leaseEnd - Self.lease / 2 { return id }
        if let id, try await renew(id) { return id }
        return try await register()
    }

    private func renew(_ id: Int64) async throws(ReplayError) -> Bool {
        let before = clock.uptime()
        let isSuspended = state.withLock { $0.isSuspended }
        guard try await storage.renew(id, lease: Self.lease, isSuspended: isSuspended) else {
            dropOwner(id)
            return false
        }
        state.withLock { state in
            guard state.id == id else { return }
            // Counted from before the write, so that the lease on disk ends no earlier.
            state.leaseEnd = before + Self.lease
        }
        return true
    }

    private func register() async throws(ReplayError) -> Int64 {
        let before = clock.uptime()
        var program = ReplayOwnerRecord.Program(process: getpid(), name: ProcessInfo.processInfo.processName)
        program.isSuspended = state.withLock { $0.isSuspended }
        let id = try await storage.register(program, lease: Self.lease)
        let (owner, isSuspended) = state.withLock { state -> (ReplayOwnerRecord.ID?, Bool) in
            // The queue was closed while the row was written. Remove the row here, because no other code does.
            guard !state.isRetired else { return (nil, state.isSuspended) }
            // If two calls registered at the same time, the first is the owner.
            if let first = state.id { return (first, state.isSuspended) }
            state.id = id
            state.leaseEnd = before + Self.lease
            return (id, state.isSuspended)
        }
        guard let owner else {
            try? await storage.unregister(id)
            throw Self.closed
        }
        // The row of the second one is removed like a dead owner's.
        if owner != id { storage.abandon(id) }
        // The app changed this while the row was written.
        if isSuspended != program.isSuspended { _ = try await renew(owner) }
        return owner
    }

    // MARK: The lease

    private func startHeartbeat() {
        state.withLock { state in
            guard state.heartbeat == nil, state.users > 0, !state.isRetired else { return }
            state.heartbeat = Task { [weak self, clock] in
                while (try? await clock.sleep.sleep(for: Self.renewal)) != nil {
                    guard let self else { return }
                    await self.beat()
                }
            }
        }
    }

    private func beat() async {
        let (owner, leaseEnd) = state.withLock { ($0.id, $0.leaseEnd) }
        guard let id = owner else { return }
        // The renewal may wait for the disk for longer than the lease lasts.
        let alarm = Task { [weak self, clock] in
            let left = (leaseEnd - Self.margin).milliseconds(since: clock.uptime())
            if left > 0, (try? await clock.sleep.sleep(for: .milliseconds(left))) == nil { return }
            self?.endAttempts(of: id, leasedUntil: leaseEnd)
        }
        defer { alarm.cancel() }
        // If the owner was dropped, its attempts have been ended already.
        guard (try? await renew(id)) == nil else { return }
        // A failed renewal is tried again at the next beat, if the lease lasts until then.
        let nextBeat = clock.uptime() + Self.renewal
        if nextBeat >= leaseEnd - Self.margin { endAttempts(of: id, leasedUntil: leaseEnd) }
    }

    // MARK: Rescue

    /// Rescues the jobs of owners that have died, or whose leases have ended, so that they are sent again.
    ///
    /// - Parameter report: receives the states of rescued jobs that are dead or in review.
    /// - Returns: whether other living owners are left.
    func rescue(reportingEnds report: ([ReplayState]) -> Void) async throws(ReplayError) -> Bool {
        guard !isRetired else { return false }
        let own = id
        let others = try await storage.owners().filter { $0.id != own }
        let dead = others.filter(\.isDead)
        guard !dead.isEmpty else { return !others.isEmpty }
        // An owner that cannot keep its own lease must not declare others dead.
        let me = try await enter()
        defer { leave() }
        let rescue = try await storage.rescue(dead, by: me)
        report(rescue.ends)
        return others.count > rescue.owners
    }

    // MARK: The end

    /// Records whether the system may end the process at any time from now on. Such an end does not count as a death
    /// that the jobs may have caused. If no job is running, releases the lock, because some systems kill a suspended
    /// process that holds one (0xdead10cc).
    func suspend(_ isSuspended: Bool) async throws(ReplayError) {
        let (id, isReleased) = state.withLock { state in
            state.isSuspended = isSuspended
            guard isSuspended, state.users == 0 else { return (state.id, false) }
            defer { state.id = nil }
            return (state.id, true)
        }
        guard let id else { return }
        if isReleased { try await storage.unregister(id) } else { _ = try await renew(id) }
    }

    /// Releases the lock if the owner is suspended and its jobs have ended since ``suspend(_:)``.
    func releaseLockIfSuspended() async {
        guard state.withLock({ $0.isSuspended && $0.users == 0 && $0.id != nil }) else { return }
        // If the disk fails, the lease runs out.
        try? await suspend(true)
    }

    /// Ends the running attempts, gives the claimed jobs back to the queue, and releases the lock.
    func retire() async {
        let last = state.withLock { state in
            defer {
                state.id = nil
                state.heartbeat = nil
                state.isRetired = true
            }
            return state
        }
        last.heartbeat?.cancel()
        for pause in state.withLock({ $0.pauses.values.map(\.self) }) { pause.wake() }
        // Cancel the attempts before the jobs are given back, because other owners may send them from then on.
        for cancel in state.withLock({ $0.endAttempts(of: nil) }) { cancel() }
        await waitForAttempts()
        guard let id = last.id else { return }
        // Until the row is removed, no process rescues the jobs. If another process holds the file for long, the jobs
        // are rescued later. The outcomes come first: without them, the outcomes of the jobs would count as unknown.
        _ = await TimeLimit(clock.endTimeout).value { [storage, outcomes] in
            await outcomes.waitUntilWritten()
            try? await storage.unregister(id)
        }
    }
}

/// The outcomes of jobs that are being written. Their owner keeps its row and its lock until each is written or
/// abandoned.
final class PendingOutcomes: Sendable {
    private let count = Guarded(0)
    private let changes = Signal()

    /// Runs `body`, which writes an outcome.
    func writing<Value>(_ body: () async -> Value) async -> Value {
        count.withLock { $0 += 1 }
        defer {
            count.withLock { $0 -= 1 }
            changes.wake()
        }
        return await body()
    }

    /// Waits until no outcome is being written. For one caller at a time.
    func waitUntilWritten() async {
        while count.withLock({ $0 > 0 }) { await changes.wait() }
    }
}
