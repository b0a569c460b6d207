import DiamondSQLite
public import Foundation

/// Sends the jobs of a queue: as many at a time as it is told, those of one ordering key one after the other.
///
/// ```swift
/// let replayer = try engine.replayer()
/// let task = Task { await replayer.run() }
/// ```
///
/// Any number of replayers may work on one queue, in one process and in many: a job is with one of them at a time. What
/// dies with a job in its hands loses it at once to the others on the machine; what is away for longer than a minute, too,
/// and then nobody listens to what it says of the job.
public final class Replayer: Sendable {
    /// A job on its way.
    struct Sending: Sendable {
        let id: ReplayJob.ID
        let request: Request
        /// To be called before the first byte leaves: whether the job is still this one's.
        let begin: @Sendable () async -> Bool
    }

    /// What a run has done.
    public struct Summary: Hashable, Sendable {
        /// Jobs that are done.
        public var finished = 0
        /// Jobs that wait again, or are held.
        public var postponed = 0
        /// Jobs that are dead.
        public var dead = 0
        /// Jobs that a person has to look at.
        public var needsReview = 0
        /// Why it ended before its time; `nil` where it did not.
        public var error: ReplayError?
    }

    /// What has come of it.
    struct Sent: Sendable {
        let outcome: ReplayOutcome
        /// Called with the job's new state when that is on disk; `nil` where the job is somebody else's.
        var tell: @Sendable (ReplayState?) async -> Void = { _ in }
    }

    typealias Send = @Sendable (Sending) async -> Sent

    /// Between two looks where nobody tells of changes.
    private static let tick = Duration.seconds(1)
    /// And where somebody does: clocks are set, and what tells may fail.
    private static let longTick = Duration.seconds(15)

    /// Jobs on their way at the same time, at most.
    public let width: Int
    private let queue: ReplayQueue
    private let identities: @Sendable () async -> ReplayTable.Identities
    private let send: Send
    private let pass: @Sendable (ReplayFaultPoint) -> Void
    private let signal = ReplaySignal()
    private let running = Guarded(0)
    private let isStopping = Guarded(false)

    /// - Parameters:
    ///   - identities: of whom jobs may be sent here, asked before each claim.
    ///   - send: takes a job to its outcome.
    ///   - pass: is called where the process may be ended.
    init(
        _ queue: ReplayQueue,
        width: Int,
        identities: @escaping @Sendable () async -> ReplayTable.Identities = { .all },
        pass: @escaping @Sendable (ReplayFaultPoint) -> Void = { _ in },
        send: @escaping Send
    ) {
        self.queue = queue
        self.width = max(1, width)
        self.identities = identities
        self.pass = pass
        self.send = send
    }

    /// Sends what is to be sent until the task is canceled or ``stop()`` is called; then what is on its way is let come to
    /// its end, and what was claimed and not sent is given back.
    @discardableResult
    public func run() async -> Summary { await work(until: nil) }

    /// Sends what can be sent now, and returns when nothing of it is left, or `deadline` has come: for a task in the
    /// background, or a job of cron. What is on its way at the deadline is canceled.
    @discardableResult
    public func replay(until deadline: Date = .distantFuture) async -> Summary { await work(until: deadline) }

    /// Lets what is on its way come to its end, and claims nothing more.
    public func stop() {
        isStopping.withLock { $0 = true }
        signal.wake()
    }

    // MARK: The loop

    private func work(until deadline: Date?) async -> Summary {
        isStopping.withLock { $0 = false }
        let ledger = Guarded(Summary())
        let number = queue.listeners.add { [signal] _ in signal.wake() }
        let watch = QueueWatch(queue.store) { [signal] in signal.wake() }
        let limit = watch.isWatching ? Self.longTick : Self.tick
        await withDiscardingTaskGroup { group in
            do throws(ReplayError) {
                while !isDone(deadline) {
                    let hasOthers = try await queue.owner.rescue()
                    let jobs = try await claim()
                    for job in jobs { group.addTask { await self.carry(job, ledger) } }
                    if jobs.isEmpty, deadline != nil, isIdle { break }
                    if jobs.isEmpty || isFull { await wait(hasOthers ? limit : Self.longTick, deadline) }
                }
            } catch {
                ledger.withLock { $0.error = error }
            }
            if let deadline, deadline.milliseconds <= queue.clock.now() { group.cancelAll() }
        }
        queue.listeners.remove(number)
        withExtendedLifetime(watch) {}
        return ledger.withLock { $0 }
    }

    private func isDone(_ deadline: Date?) -> Bool {
        if Task.isCancelled || isStopping.withLock({ $0 }) { return true }
        return deadline.map { $0.milliseconds <= queue.clock.now() } ?? false
    }

    private var isFull: Bool { running.withLock { $0 >= width } }
    private var isIdle: Bool { running.withLock { $0 == 0 } }

    /// Until somebody wakes, or something's time comes.
    private func wait(_ limit: Duration, _ deadline: Date?) async {
        var limit = limit
        if !isFull, let next = try? queue.nextTime() {
            limit = min(limit, .milliseconds(max(1, next - queue.clock.now())))
        }
        if let deadline, deadline != .distantFuture {
            limit = min(limit, .milliseconds(max(1, deadline.milliseconds - queue.clock.now())))
        }
        await signal.wait(for: limit, by: queue.clock.sleep)
    }

    private func claim() async throws(ReplayError) -> [ReplayTable.Claimed] {
        let free = width - running.withLock { $0 }
        guard free > 0, try queue.mayHaveWork() else { return [] }
        let identities = await identities()
        let owner = try await queue.owner.enter()
        do throws(ReplayError) {
            let jobs = try await queue.claim(free, of: identities, by: owner)
            running.withLock { $0 += jobs.count }
            // Each job is an owner's; the look itself is over.
            for _ in jobs { _ = try await queue.owner.enter() }
            queue.owner.leave()
            if !jobs.isEmpty { pass(.afterClaim) }
            return jobs
        } catch {
            queue.owner.leave()
            throw error
        }
    }

    // MARK: A job

    private func carry(_ job: ReplayTable.Claimed, _ ledger: Guarded<Summary>) async {
        let sent = await sent(job)
        pass(.beforeFinish)
        let state = await queue.finish(job, sent.outcome)
        pass(.afterFinish)
        await sent.tell(state)
        ledger.withLock { $0.count(state) }
        running.withLock { $0 -= 1 }
        queue.owner.leave()
        signal.wake()
    }

    private func sent(_ job: ReplayTable.Claimed) async -> Sent {
        let request: Request
        do throws(RequestError) { request = try Request(json: job.request) } catch {
            return Sent(outcome: .failed(.undecodable, code: "undecodable", message: error.message))
        }
        guard !Task.isCancelled, queue.owner.mayBegin else { return Sent(outcome: .notBegun) }
        let hasBegun = Guarded(false)
        let sending = Sending(id: job.id, request: request) { [queue, pass] in
            guard await queue.begin(job) else { return false }
            hasBegun.withLock { $0 = true }
            pass(.beforeSend)
            return true
        }
        let sent = await queue.owner.attempt { [send] in await send(sending) }
        pass(.afterSend)
        // What was never begun cannot have been processed.
        if case .failed(.interrupted, _, _) = sent.outcome, !hasBegun.withLock({ $0 }) {
            return Sent(outcome: .notBegun)
        }
        return sent
    }
}

extension ReplayOutcome {
    static let notBegun = failed(.returned, code: "cancelled", message: "it was given back before it was sent")
}

extension Replayer.Summary {
    fileprivate mutating func count(_ state: ReplayState?) {
        switch state {
        case .done: finished += 1
        case .dead: dead += 1
        case .needsReview: needsReview += 1
        case .waiting, .held, .ready: postponed += 1
        case .running, nil: break
        }
    }
}
