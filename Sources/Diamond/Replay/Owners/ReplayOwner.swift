import DiamondSQLite
import Foundation

/// This process as one that claims jobs: its row, its lock and its lease, which it renews while it has jobs.
final class ReplayOwner: Sendable {
    /// The time for which an owner counts as alive without a renewal, in milliseconds.
    static let lease: Int64 = 60_000
    static let renewal = Duration.milliseconds(15_000)
    /// The time before the end of the lease at which current attempts are ended, in milliseconds. So no other owner has
    /// begun yet.
    static let margin: Int64 = 5_000

    /// An attempt under way.
    private struct Course {
        /// The owner on whose lease the attempt depends; `nil` if there is none, and no exchange begins.
        let owner: Int64?
        let cancel: @Sendable () -> Void
        /// Returns when it is over.
        let end: @Sendable () async -> Void
        /// Whether it is ended here.
        var isGivenUp = false
        /// Whether the caller that waits for it has canceled.
        var isLeft = false
    }

    private struct State {
        var id: Int64?
        var lock: OwnerLock?
        /// By the clock that counts from the boot.
        var leaseEnd: Int64 = 0
        var users = 0
        var isSuspended = false
        var isRetired = false
        var heartbeat: Task<Void, Never>?
        /// The attempts that have to end before the lease does.
        var attempts: [Int: Course] = [:]
        /// The signals that end the pauses of outcomes that wait for the disk.
        var pauses: [Int: Signal] = [:]
        var nextAttempt = 0

        /// Gives up the attempts of an owner; `nil` for all owners.
        ///
        /// - Returns: the functions that cancel the attempts.
        mutating func giveUp(of owner: Int64?) -> [@Sendable () -> Void] {
            let ending = attempts.filter { owner == nil || $0.value.owner == owner }
            for number in ending.keys { attempts[number]?.isGivenUp = true }
            return ending.values.map(\.cancel)
        }
    }

    let store: Store
    let writer: ReplayWriter
    let clock: ReplayClock
    let outcomes = PendingOutcomes()
    private let state = Guarded(State())

    init(_ store: Store, _ writer: ReplayWriter, _ clock: ReplayClock) {
        (self.store, self.writer, self.clock) = (store, writer, clock)
    }

    deinit { state.withLock { $0.heartbeat }?.cancel() }

    /// Whether the process claims nothing any more.
    var isRetired: Bool { state.withLock { $0.isRetired } }

    /// The row's id while the process may act.
    var id: Int64? { state.withLock { $0.id } }

    /// Becomes an owner, or stays one. From now on the lease is renewed, until ``leave()``.
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

    /// Goes on as one who has entered already, for another job.
    func stay() { state.withLock { $0.users += 1 } }

    /// Drops an owner that another process has taken for dead. The next call of ``enter()`` creates a new owner.
    func lose(_ id: Int64) {
        let cancels = state.withLock { state -> [@Sendable () -> Void] in
            guard state.id == id else { return [] }
            (state.id, state.lock) = (nil, nil)
            // Others may be sending the same by now.
            return state.giveUp(of: id)
        }
        for cancel in cancels { cancel() }
    }

    func leave() {
        let heartbeat = state.withLock { state -> Task<Void, Never>? in
            state.users -= 1
            guard state.users == 0 else { return nil }
            defer { state.heartbeat = nil }
            return state.heartbeat
        }
        heartbeat?.cancel()
    }

    /// The lease, renewed where less than half of it is left; a new owner where somebody has taken this one for dead.
    private func renewed() async throws(ReplayError) -> Int64 {
        let (id, leaseEnd) = state.withLock { ($0.id, $0.leaseEnd) }
        if let id, leaseEnd - clock.uptime() > Self.lease / 2 { return id }
        if let id, try await renew(id) { return id }
        return try await register()
    }

    private func renew(_ id: Int64) async throws(ReplayError) -> Bool {
        let (before, isSuspended) = (clock.uptime(), state.withLock { $0.isSuspended })
        let isAlive = try await writer.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.renew(id, lease: Self.lease, isSuspended: isSuspended, on: connection, ledger)
        }
        guard isAlive else {
            lose(id)
            return false
        }
        state.withLock { state in
            guard state.id == id else { return }
            // From before the write: what is on disk ends no earlier.
            state.leaseEnd = before + Self.lease
        }
        return true
    }

    private func register() async throws(ReplayError) -> Int64 {
        // First the lock: a row without one is a dead owner's.
        let lock = try OwnerLock(in: store.ownersDirectory)
        let name = lock.name
        let (boot, before, wasSuspended) = (clock.boot, clock.uptime(), state.withLock { $0.isSuspended })
        let id = try await writer.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.addOwner(
                name, boot: boot, process: getpid(), program: ProcessInfo.processInfo.processName, lease: Self.lease,
                isSuspended: wasSuspended, on: connection, ledger)
        }
        let (owner, isSuspended) = state.withLock { state -> (Int64?, Bool) in
            // Closed while the row was written: nobody else would remove it.
            guard !state.isRetired else { return (nil, state.isSuspended) }
            // Of two that registered at the same time, one is the owner; the other's row goes with its lock.
            if let first = state.id { return (first, state.isSuspended) }
            (state.id, state.lock, state.leaseEnd) = (id, lock, before + Self.lease)
            return (id, state.isSuspended)
        }
        guard let owner else {
            try? await remove(id)
            withExtendedLifetime(lock) {}
            throw Self.closed
        }
        // Said while the row was written.
        if isSuspended != wasSuspended { _ = try await renew(owner) }
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
            let left = leaseEnd - Self.margin - clock.uptime()
            if left > 0, (try? await clock.sleep.sleep(for: .milliseconds(left))) == nil { return }
            self?.endAttempts(of: id, leasedUntil: leaseEnd)
        }
        defer { alarm.cancel() }
        // One that is lost has no attempts any more.
        guard (try? await renew(id)) == nil else { return }
        // A renewal that fails is tried again at the next beat, if the lease lasts until then.
        let nextBeat = clock.uptime() + Self.renewal.milliseconds
        if nextBeat >= leaseEnd - Self.margin { endAttempts(of: id, leasedUntil: leaseEnd) }
    }

    /// Ends the attempts that depend on a lease, unless it was renewed meanwhile.
    func endAttempts(of owner: Int64, leasedUntil leaseEnd: Int64) {
        let cancels = state.withLock { state in
            state.id == owner && state.leaseEnd <= leaseEnd ? state.giveUp(of: owner) : []
        }
        for cancel in cancels { cancel() }
    }

    /// Waits for the attempts to end, also if the task is canceled: what is given back on the wire, others send again.
    private func waitForAttempts() async {
        let ends = state.withLock { $0.attempts.values.map(\.end) }
        guard !ends.isEmpty else { return }
        _ = await Deadline.value(within: clock.patience) { for end in ends { await end() } }
    }

    /// Whether there is time left to begin an attempt.
    var mayBegin: Bool { state.withLock { $0.id != nil && clock.uptime() < $0.leaseEnd - Self.margin } }

    /// Runs an attempt until what came of it is noted, and cancels it before the lease ends, or when the owner retires.
    ///
    /// - Parameter body: may ask whether that was done, and nobody who waits for it wants its end.
    func attempt<Value: Sendable>(
        _ body: @escaping @Sendable (_ isGivenUp: @escaping @Sendable () -> Bool) async -> Value
    ) async -> Value {
        let (number, task) = state.withLock { state in
            state.nextAttempt += 1
            let number = state.nextAttempt
            let task = Task { await body { self.isGivenUp(number) } }
            state.attempts[number] = Course(
                owner: state.id, cancel: { task.cancel() }, end: { _ = await task.value })
            return (number, task)
        }
        defer { state.withLock { $0.attempts[number] = nil } }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            state.withLock { $0.attempts[number]?.isLeft = true }
            task.cancel()
        }
    }

    private func isGivenUp(_ number: Int) -> Bool {
        state.withLock { state in state.attempts[number].map { $0.isGivenUp && !$0.isLeft } ?? false }
    }

    /// Waits before an outcome is written again, also if the task is canceled. Short once the owner retires.
    func pause(for duration: Duration) async {
        let signal = Signal()
        let (number, isRetired) = state.withLock { state in
            state.nextAttempt += 1
            if !state.isRetired { state.pauses[state.nextAttempt] = signal }
            return (state.nextAttempt, state.isRetired)
        }
        let pause = isRetired ? Self.lastPause : duration
        await Task { [clock] in await signal.wait(for: pause, by: clock.sleep) }.value
        state.withLock { $0.pauses[number] = nil }
    }

    /// The pause once the owner has retired, because the caller of ``retire()`` waits.
    private static let lastPause = Duration.milliseconds(200)

    // MARK: The end

    /// The system may end the process at any time from now on: what it does then is no job's fault. Who has nothing under way
    /// lets go of its lock, which some systems do not suffer in a suspended process (0xdead10cc).
    func suspend(_ isSuspended: Bool) async throws(ReplayError) {
        let (id, lock) = state.withLock { state -> (Int64?, OwnerLock?) in
            state.isSuspended = isSuspended
            guard isSuspended, state.users == 0 else { return (state.id, nil) }
            defer { (state.id, state.lock) = (nil, nil) }
            return (state.id, state.lock)
        }
        guard let id else { return }
        guard let lock else { return _ = try await renew(id) }
        // With the lock, as at the end.
        try await remove(id)
        withExtendedLifetime(lock) {}
    }

    /// Lets go of the lock as ``suspend(_:)`` does, where something was under way then that has ended by now.
    func restIfSuspended() async {
        guard state.withLock({ $0.isSuspended && $0.users == 0 && $0.id != nil }) else { return }
        // Where the disk fails, the lease ends.
        try? await suspend(true)
    }

    /// Ends what is on its way, and gives back what was claimed, and the lock.
    func retire() async {
        let (id, lock, heartbeat) = state.withLock { state -> (Int64?, OwnerLock?, Task<Void, Never>?) in
            defer { (state.id, state.lock, state.heartbeat, state.isRetired) = (nil, nil, nil, true) }
            return (state.id, state.lock, state.heartbeat)
        }
        heartbeat?.cancel()
        for pause in state.withLock({ $0.pauses.values.map(\.self) }) { pause.wake() }
        // While they are its own: from then on others may send the same.
        for cancel in state.withLock({ $0.giveUp(of: nil) }) { cancel() }
        await waitForAttempts()
        guard let id else { return }
        // With the lock: until the row is gone nobody has to rescue anything. If another process holds the file for long,
        // the row is rescued later. And not before the outcomes: what has one would be taken for unknown.
        _ = await Deadline.value(within: clock.patience) {
            await self.outcomes.end()
            try? await self.remove(id)
            withExtendedLifetime(lock) {}
        }
    }

    private func remove(_ id: Int64) async throws(ReplayError) {
        try await writer.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.removeOwner(id, on: connection, &ledger)
        }
    }
}
