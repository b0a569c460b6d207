import DiamondSQLite
public import Foundation

/// A sender of a queue's jobs. It sends up to ``width`` jobs at a time, and the jobs of one ordering key one after the
/// other.
///
/// ```swift
/// let replayer = try engine.replayer()
/// let task = Task { await replayer.run() }
/// ```
///
/// Any number of replayers may work on one queue, in one process and in many: a job belongs to one of them at a time.
/// If a process dies, its jobs go at once to the other replayers on the machine. If a process is away for longer than a
/// minute, it also loses its jobs, and the queue ignores the outcomes it reports later.
public final class Replayer: Sendable {
    /// The results of a run.
    public struct Summary: Hashable, Sendable {
        /// The number of jobs that are done.
        public var finished = 0
        /// The number of jobs that wait again, or are held.
        public var postponed = 0
        /// The number of jobs that are dead, including the jobs that the run found expired.
        public var dead = 0
        /// The number of jobs that need review, including the jobs found so before they were sent.
        public var needsReview = 0
        /// The error that ended the run early, or that keeps the outcome of a job from the disk; `nil` for none.
        public var error: ReplayError?
    }

    /// Sends the request of a job, once.
    package typealias Send = @Sendable (JobAttempt) async -> JobResult

    /// The time between two looks if changes are not reported.
    private static let tick = Duration.seconds(1)
    /// The time between two looks if changes are reported. Clocks may be set, and a report may fail.
    static let longTick = Duration.seconds(15)

    /// The maximum number of jobs being sent at the same time.
    public let width: Int
    let queue: ReplayQueue
    private let reachability: any Reachability
    private let identities: @Sendable () async -> ReplayTable.Identities
    let lanes: (any JobLanes)?
    let send: Send
    let pass: @Sendable (ReplayFaultPoint) -> Void
    let running = Guarded(0)
    /// The attempts under way.
    let attempts = Guarded<[ObjectIdentifier: JobAttempt]>([:])
    let course = Guarded(Course())

    /// The running loops, each with its own signals.
    struct Course {
        var stops = 0
        var next = 0
        var signals: [Int: [Signal]] = [:]
    }

    /// - Parameters:
    ///   - reachability: tells when what waits for the network may be sent.
    ///   - identities: of whom jobs may be sent here, asked before each claim.
    ///   - lanes: through which they go out; `nil` where none of them is ever paused.
    ///   - send: sends the request of a job; calls ``JobAttempt/begin(isUnderWay:isHarmless:)`` before each exchange.
    ///   - pass: is called where the process may be ended.
    package init(
        _ queue: ReplayQueue,
        width: Int,
        reachability: any Reachability,
        identities: @escaping @Sendable () async -> ReplayTable.Identities = { .all },
        lanes: (any JobLanes)? = nil,
        pass: @escaping @Sendable (ReplayFaultPoint) -> Void = { _ in },
        send: @escaping Send
    ) {
        (self.queue, self.reachability) = (queue, reachability)
        self.width = max(1, width)
        (self.identities, self.lanes) = (identities, lanes)
        self.pass = pass
        self.send = send
    }

    /// Sends jobs until the task is canceled, or ``stop()`` is called. If the task is canceled, the attempts under way
    /// are canceled too, and their jobs go back to the queue.
    ///
    /// A full disk, a file that another process holds for long, and a file that cannot be opened for now are reported
    /// to the observers and tried again.
    @discardableResult
    public func run() async -> Summary { await work(until: nil) }

    /// Sends the jobs that can be sent now, and returns when none of them is left, or at `deadline`. For a background
    /// task, or a cron job. Attempts under way at the deadline are canceled. An outcome that cannot be written does not
    /// delay the return: it is written later, in the background.
    @discardableResult
    public func replay(until deadline: Date = .distantFuture) async -> Summary { await work(until: deadline) }

    /// Ends the current runs. Attempts under way finish, and no more jobs are claimed. An outcome that cannot be
    /// written does not delay the end.
    public func stop() {
        course.withLock { $0.stops += 1 }
        wake()
    }

    func wake() { for signal in course.withLock({ $0.signals.values.flatMap(\.self) }) { signal.wake() } }

    private func join(_ signals: Signal...) -> (number: Int, stops: Int) {
        course.withLock { course in
            course.next += 1
            course.signals[course.next] = signals
            return (course.next, course.stops)
        }
    }

    // MARK: The loop

    @concurrent
    private func work(until date: Date?) async -> Summary {
        let (signal, changes) = (Signal(), Signal())
        let (place, stops) = join(signal, changes)
        let run = ReplayRun(until: date.map { end(at: $0) }, stops: stops, changes: changes)
        let loop = Task {
            await self.loop(run, signal)
            course.withLock { $0.signals[place] = nil }
            run.end()
        }
        return await end(of: run, loop)
    }

    private func loop(_ run: ReplayRun, _ signal: Signal) async {
        let deadline = run.deadline
        let number = queue.listeners.add { _ in signal.wake() }
        let watch = QueueWatch(queue.store) { signal.wake() }
        let network = NetworkReturn()
        let listeners = [listen(network, signal), listen(signal)].compactMap(\.self)
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled, !mustEnd(run), !run.hasFailed {
                do throws(ReplayError) {
                    let hasOthers = try await queue.owner.rescue { run.count($0) }
                    try await queue.tidySometimes()
                    try await reach(network)
                    // Before the claim: what ends during it may have made room, or another job ready.
                    let wasIdle = isIdle
                    let jobs = try await claim { run.count($0) }
                    run.add(jobs.count)
                    for job in jobs {
                        group.addTask {
                            await self.carry(job, run, network)
                            signal.wake()
                        }
                    }
                    if jobs.isEmpty, deadline != nil, wasIdle, try !queue.mayPromote() { break }
                    if jobs.isEmpty || isFull {
                        // The end of another is told by no bell, and what is added by one who sends nothing by that alone.
                        let isTold = watch.hearsBell && (watch.isWatching || !hasOthers)
                        await wait(signal, isTold ? Self.longTick : Self.tick, deadline, network)
                    }
                } catch {
                    queue.report(error)
                    // While jobs are under way, the run waits for their outcomes anyway.
                    guard deadline == nil || run.left > 0, error.isPassingWhenOpen else {
                        run.fail(error)
                        break
                    }
                    await signal.wait(for: Self.tick, by: queue.clock.sleep)
                }
            }
            guard let deadline else { return }
            // What is on its way when it is stopped, or the queue fails, has no longer than that either.
            await rest(run, signal, until: deadline)
            if deadline <= queue.clock.uptime() { group.cancelAll() }
        }
        await queue.owner.restIfSuspended()
        for listener in listeners { listener.cancel() }
        queue.listeners.remove(number)
        withExtendedLifetime(watch) {}
    }

    /// Listens for as long as it is not canceled.
    private func listen(_ network: NetworkReturn, _ signal: Signal) -> Task<Void, Never> {
        Task { [changes = reachability.changes] in
            for await _ in changes {
                network.noteChange()
                signal.wake()
            }
        }
    }

    /// Claims where a lane is resumed, and takes back where one is paused.
    private func listen(_ signal: Signal) -> Task<Void, Never>? {
        guard let changes = lanes?.pauseChanges else { return nil }
        return Task {
            for await _ in changes {
                recall()
                signal.wake()
            }
        }
    }

    /// Sends what waits for the network as soon as it is back.
    private func reach(_ network: NetworkReturn) async throws(ReplayError) {
        try await network.handle(at: queue.clock.uptime(), isReachable: reachability.isReachable) {
            () async throws(ReplayError) in try await queue.reach()
        }
    }

    /// A time, by the clock that counts from the boot: no clock that is set ends a run, or keeps it going.
    private func end(at date: Date) -> Int64 {
        guard date != .distantFuture else { return .max }
        return queue.clock.uptime().addedAtMost(date.milliseconds.addedAtMost(-queue.clock.now()))
    }

    private var isFull: Bool { running.withLock { $0 >= width } }
    private var isIdle: Bool { running.withLock { $0 == 0 } }

    /// Waits until the signal is woken, the time of a job comes, or the limit or the deadline is reached.
    private func wait(_ signal: Signal, _ limit: Duration, _ deadline: Int64?, _ network: NetworkReturn) async {
        var limit = limit
        if let delay = network.delay(at: queue.clock.uptime()) { limit = min(limit, .milliseconds(max(1, delay))) }
        if !isFull, let next = try? queue.nextTime() {
            limit = min(limit, .milliseconds(max(1, next - queue.now())))
        }
        if let deadline, deadline != .max {
            limit = min(limit, .milliseconds(max(1, deadline - queue.clock.uptime())))
        }
        await signal.wait(for: limit, by: queue.clock.sleep)
    }

    private func claim(
        isAgain: Bool = false, tellingEnds tell: ([ReplayState]) -> Void
    ) async throws(ReplayError) -> [ReplayTable.Claimed] {
        let free = width - running.withLock { $0 }
        let lanes = lanes?.unpaused ?? .all
        guard free > 0, try queue.mayHaveWork(in: lanes) else { return [] }
        let identities = await identities()
        let owner = try await queue.owner.enter()
        let claimed: [ReplayTable.Claimed]?
        do throws(ReplayError) {
            claimed = try await queue.claim(free, of: identities, in: lanes, by: owner, tellingEnds: tell)
        } catch {
            queue.owner.leave()
            throw error
        }
        guard let jobs = claimed else {
            queue.owner.lose(owner)
            queue.owner.leave()
            // At once, as another owner, once: what takes that one for dead as well is not to be raced.
            return isAgain ? [] : try await claim(isAgain: true, tellingEnds: tell)
        }
        running.withLock { $0 += jobs.count }
        // Each job is an owner's; the look itself is over.
        for _ in jobs { queue.owner.stay() }
        queue.owner.leave()
        if !jobs.isEmpty { pass(.afterClaim) }
        return jobs
    }
}
