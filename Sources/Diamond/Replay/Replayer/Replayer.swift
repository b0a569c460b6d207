import DiamondSQLite
public import Foundation

/// A sender of a queue's jobs. It sends up to ``width`` jobs at a time, and the jobs of one ordering key one after
/// another.
///
/// ```swift
/// let replayer = try engine.replayer()
/// let task = Task { await replayer.run() }
/// ```
///
/// Any number of replayers may work on one queue, in one process or several. Each job belongs to one of them at a time.
/// If a process dies, its jobs go at once to the other replayers on the machine. If a process is suspended for longer
/// than a minute, it also loses its jobs, and the queue ignores the outcomes that it reports later.
public final class Replayer: Sendable {
    /// The results of a run.
    public struct Summary: Hashable, Sendable {
        /// The number of jobs that are done.
        public var finished = 0
        /// The number of jobs that wait again, or are held.
        public var postponed = 0
        /// The number of jobs that are dead, including the jobs that the run found expired.
        public var dead = 0
        /// The number of jobs that need review, including jobs that were put in review before they were sent.
        public var needsReview = 0
        /// The error that ended the run early, or that keeps the outcome of a job from the disk; `nil` for none.
        public var error: ReplayError?
    }

    /// Sends the request of a job, once.
    package typealias Send = @Sendable (JobAttempt) async -> JobResult

    /// The maximum number of jobs being sent at the same time.
    public let width: Int
    let queue: ReplayQueue
    private let reachability: any Reachability
    /// Reports the origins that have answered requests of any kind; `nil` if none is reported.
    private let answers: Broadcast<String>?
    private let identities: @Sendable () async -> ReplayTable.Identities
    let lanes: (any JobLanes)?
    let send: Send
    let pass: @Sendable (ReplayFaultPoint) -> Void
    /// The number of claimed jobs that have not ended.
    let running = Guarded(0)
    /// The attempts that run.
    let attempts = Guarded<[ObjectIdentifier: JobAttempt]>([:])
    let loops = Guarded(Loops())

    /// The running loops, each with its own signals.
    struct Loops {
        var stops = 0
        var lastNumber = 0
        var signals: [Int: [Signal]] = [:]
    }

    /// Creates a replayer.
    ///
    /// - Parameters:
    ///   - reachability: the reachability of the network, for jobs that wait for it.
    ///   - answers: reports the origins that have answered requests of any kind, for jobs that wait because an origin
    ///     could not be reached; `nil` if none is reported.
    ///   - identities: returns the identities whose jobs may be sent here. It is called before each claim.
    ///   - lanes: the lanes in which jobs are sent; `nil` if none is ever paused.
    ///   - pass: called at each point where a test may end the process.
    ///   - send: sends the request of a job. It calls ``JobAttempt/begin(isUnderWay:isHarmless:)`` before each
    ///     exchange.
    package init(
        _ queue: ReplayQueue,
        width: Int,
        reachability: any Reachability,
        answers: Broadcast<String>? = nil,
        identities: @escaping @Sendable () async -> ReplayTable.Identities = { .all },
        lanes: (any JobLanes)? = nil,
        pass: @escaping @Sendable (ReplayFaultPoint) -> Void = { _ in },
        send: @escaping Send
    ) {
        self.queue = queue
        self.reachability = reachability
        self.answers = answers
        self.width = max(1, width)
        self.identities = identities
        self.lanes = lanes
        self.pass = pass
        self.send = send
    }

    /// Sends jobs until the task is canceled, or ``stop()`` is called. If the task is canceled, the running attempts
    /// are canceled too, and their jobs go back to the queue.
    ///
    /// A full disk, a file that another process has locked for long, and a file that cannot be opened for now are
    /// reported to the observers. Then the run tries again.
    @discardableResult
    public func run() async -> Summary { await work(until: nil) }

    /// Runs as ``run()`` does, unless the replayer was stopped before.
    ///
    /// - Parameter isStopped: whether it was; read after a later ``stop()`` would end the run.
    func runUnlessStopped(_ isStopped: @Sendable () -> Bool) async { await work(until: nil, unless: isStopped) }

    /// Sends the jobs that can be sent now, and returns when none of them is left, or at `deadline`. For a background
    /// task, or a cron job. Attempts that run at the deadline are canceled. An outcome that cannot be written does not
    /// delay the return: it is written later, in the background.
    ///
    /// - Parameters:
    ///   - deadline: the time of the return; by default there is none.
    ///   - isIgnoringBackoff: whether jobs that wait after a failure, or for the network, are sent at once, also those
    ///     that were held and released meanwhile. Each is sent once: if it fails again, it waits. Jobs that were added
    ///     for later, or whose server has set the time, wait. A hold and its release forget the server's time.
    @discardableResult
    public func replay(
        until deadline: Date = .distantFuture, ignoringBackoff isIgnoringBackoff: Bool = false
    ) async -> Summary {
        await work(until: deadline, ignoringBackoff: isIgnoringBackoff)
    }

    /// Ends the current runs. Running attempts finish, and no more jobs are claimed. An outcome that cannot be written
    /// does not delay the end.
    public func stop() {
        loops.withLock { $0.stops += 1 }
        wake()
    }

    /// Wakes all loops of this replayer.
    func wake() { for signal in loops.withLock({ $0.signals.values.flatMap(\.self) }) { signal.wake() } }

    private func register(_ signals: Signal...) -> (number: Int, stops: Int) {
        loops.withLock { loops in
            loops.lastNumber += 1
            loops.signals[loops.lastNumber] = signals
            return (loops.lastNumber, loops.stops)
        }
    }

    // MARK: The loop

    @concurrent
    @discardableResult
    private func work(
        until date: Date?, ignoringBackoff isIgnoringBackoff: Bool = false,
        unless isStopped: @Sendable () -> Bool = { false }
    ) async -> Summary {
        queue.noteReplayer()
        let signal = Signal()
        let changes = Signal()
        let (number, stops) = register(signal, changes)
        let run = ReplayRun(until: date.map { uptime(at: $0) }, stops: stops, changes: changes)
        if isStopped() { run.cancel() }
        let loop = Task {
            await self.loop(run, ignoringBackoff: isIgnoringBackoff, signal: signal)
            loops.withLock { $0.signals[number] = nil }
            run.endLoop()
        }
        return await end(of: run, loop: loop)
    }

    private func loop(_ run: ReplayRun, ignoringBackoff isIgnoringBackoff: Bool, signal: Signal) async {
        let wakes = ReplayWakes(signal: signal, watch: QueueWatch(queue.store) { signal.wake() })
        let number = queue.listeners.add { _ in signal.wake() }
        let answerNumber = answers?.add { [origins = wakes.origins] origin in
            if origins.note(origin) { signal.wake() }
        }
        let listeners = [listenToReachability(for: wakes.network, signal: signal), listenToLanes(signal)]
        var ignoresBackoff = isIgnoringBackoff
        var step = ReplayStep.claim
        await withDiscardingTaskGroup { group in
            while step != .end, !Task.isCancelled, !mustEnd(run), !run.hasFailed {
                do throws(ReplayError) {
                    let hasOthers = try await wakeJobs(in: run, wakes: wakes, ignoringBackoff: ignoresBackoff)
                    ignoresBackoff = false
                    // Read before the claim: a job that ends during the claim may have made another job ready.
                    let wasIdle = isIdle
                    let jobs = try await claim { run.count($0) }
                    run.addJobs(jobs.count)
                    for job in jobs {
                        group.addTask { [network = wakes.network] in
                            await self.process(job, in: run, network: network)
                            signal.wake()
                        }
                    }
                    let mayBeLast = jobs.isEmpty && run.deadline != nil && wasIdle
                    let isLast = mayBeLast ? try !queue.hasTimedWork() : false
                    step = .after(
                        claiming: jobs.count, isFull: isFull, isLast: isLast,
                        isReported: wakes.watch.reports(endsOfOwners: hasOthers))
                } catch {
                    queue.report(error)
                    // While jobs run, the run waits for their outcomes anyway.
                    step = .after(error, canWait: run.deadline == nil || run.openJobs > 0)
                }
                await perform(step, of: run, wakes: wakes)
            }
            guard let deadline = run.deadline else { return }
            // The deadline also applies to jobs that run when the replayer is stopped, or the queue fails.
            await waitForJobs(of: run, until: deadline, signal: signal)
            if deadline <= queue.clock.uptime() { group.cancelAll() }
        }
        await queue.owner.releaseLockIfSuspended()
        for listener in listeners { listener?.cancel() }
        queue.listeners.remove(number)
        if let answerNumber { answers?.remove(answerNumber) }
        withExtendedLifetime(wakes) {}
    }

    /// Makes jobs ready that need not wait any longer, or whose owners have died.
    ///
    /// - Returns: whether other processes have owners.
    private func wakeJobs(
        in run: ReplayRun, wakes: ReplayWakes, ignoringBackoff isIgnoringBackoff: Bool
    ) async throws(ReplayError) -> Bool {
        let hasOthers = try await queue.owner.rescue { run.count($0) }
        try await queue.maintainIfNeeded()
        try await retryOffline(wakes.network)
        try await retryAnswered(wakes.origins)
        if isIgnoringBackoff { try await queue.retryEarly(.requested) }
        return hasOthers
    }

    private func perform(_ step: ReplayStep, of run: ReplayRun, wakes: ReplayWakes) async {
        switch step {
        case .claim, .end: break
        case .wait(let limit):
            let limit = shortened(limit, until: run.deadline, wakes: wakes)
            await wakes.signal.wait(for: limit, by: queue.clock.sleep)
        case .pause: await wakes.signal.wait(for: ReplayStep.tick, by: queue.clock.sleep)
        case .fail(let error): run.fail(error)
        }
    }

    /// Listens for changes of the network's reachability until the task is canceled.
    private func listenToReachability(for network: NetworkReturn, signal: Signal) -> Task<Void, Never> {
        Task { [changes = reachability.changes] in
            for await _ in changes {
                network.noteChange()
                signal.wake()
            }
        }
    }

    /// Wakes the loop when a lane is resumed, and recalls jobs when one is paused.
    private func listenToLanes(_ signal: Signal) -> Task<Void, Never>? {
        guard let changes = lanes?.pauseChanges else { return nil }
        return Task {
            for await _ in changes {
                recallPaused()
                signal.wake()
            }
        }
    }

    /// Makes the jobs that wait for the network ready, if it may be reachable again.
    private func retryOffline(_ network: NetworkReturn) async throws(ReplayError) {
        try await network.handle(at: queue.clock.uptime(), isReachable: reachability.isReachable) {
            (hasChanged) async throws(ReplayError) in
            // At the start, jobs that wait after a failure keep their backoff: a program may start often.
            let hasEarly = hasChanged ? try await queue.retryEarly(.networkReturned) : false
            return try await queue.retryOffline() || hasEarly
        }
    }

    /// Makes the jobs ready that wait because their origins could not be reached, if these have answered since.
    private func retryAnswered(_ origins: OriginAnswers) async throws(ReplayError) {
        guard let answered = origins.take(at: queue.clock.uptime()) else { return }
        do throws(ReplayError) {
            try await queue.retryEarly(.originsAnswered(answered))
        } catch {
            for origin in answered { _ = origins.note(origin) }
            throw error
        }
    }

    /// Converts a date to milliseconds since the boot, so that setting the clock neither ends nor prolongs a run.
    private func uptime(at date: Date) -> Int64 {
        guard date != .distantFuture else { return .max }
        return queue.clock.uptime().addingSaturating(date.milliseconds.addingSaturating(-queue.clock.now()))
    }

    private var isFull: Bool { running.withLock { $0 >= width } }
    private var isIdle: Bool { running.withLock { $0 == 0 } }

    /// Returns the time until a job reaches its time, or the deadline, but at most `limit`.
    private func shortened(_ limit: Duration, until deadline: Int64?, wakes: ReplayWakes) -> Duration {
        let now = queue.clock.uptime()
        var delays = [wakes.network.delay(at: now), wakes.origins.delay(at: now)].compactMap(\.self)
        if !isFull, let next = try? queue.nextTime() { delays.append(next - queue.now()) }
        if let deadline, deadline != .max { delays.append(deadline - now) }
        return delays.reduce(limit) { min($0, .milliseconds(max(1, $1))) }
    }

    private func claim(
        isRetry: Bool = false, reportingEnds report: ([ReplayState]) -> Void
    ) async throws(ReplayError) -> [ReplayTable.Claimed] {
        let free = width - running.withLock { $0 }
        let lanes = lanes?.unpaused ?? .all
        guard free > 0, try queue.mayHaveWork(in: lanes) else { return [] }
        let identities = await identities()
        let owner = try await queue.owner.enter()
        let claimed: [ReplayTable.Claimed]?
        do throws(ReplayError) {
            claimed = try await queue.claim(free, of: identities, in: lanes, by: owner, reportingEnds: report)
        } catch {
            queue.owner.leave()
            throw error
        }
        guard let jobs = claimed else {
            queue.owner.dropOwner(owner)
            queue.owner.leave()
            // Tries again at once as a new owner, but only once, to avoid a race with a process that declares that
            // owner dead, too.
            return isRetry ? [] : try await claim(isRetry: true, reportingEnds: report)
        }
        running.withLock { $0 += jobs.count }
        // Each job needs the owner until it ends; the claim itself no longer does.
        for _ in jobs { queue.owner.enterAgain() }
        queue.owner.leave()
        if !jobs.isEmpty { pass(.afterClaim) }
        return jobs
    }
}

/// The lanes in which jobs are sent.
package protocol JobLanes: Sendable {
    /// The lanes that are not paused. Only their jobs are claimed.
    var unpaused: ReplayTable.Lanes { get }

    /// A sequence with an element whenever ``unpaused`` may have changed. Each call returns its own sequence.
    var pauseChanges: AsyncStream<Void> { get }
}

/// A point at which a process may die while it sends a job. A test can end the process there by the point's name.
package enum ReplayFaultPoint: String, Hashable, Sendable, CaseIterable {
    case afterClaim = "after-claim"
    case beforeSend = "before-send"
    case afterSend = "after-send"
    case beforeFinish = "before-finish"
    case afterFinish = "after-finish"
}
