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
    /// What a run has done.
    public struct Summary: Hashable, Sendable {
        /// Jobs that are done.
        public var finished = 0
        /// Jobs that wait again, or are held.
        public var postponed = 0
        /// Jobs that are dead, those included whose time it found to be over.
        public var dead = 0
        /// Jobs that a person has to look at, before they are sent as well.
        public var needsReview = 0
        /// Why it ended before its time, or what keeps the outcome of a job from the disk; `nil` where nothing does.
        public var error: ReplayError?
    }

    /// Sends the request of a job, once.
    package typealias Send = @Sendable (JobAttempt) async -> JobResult

    /// Between two looks where nobody tells of changes.
    private static let tick = Duration.seconds(1)
    /// And where somebody does: clocks are set, and what tells may fail.
    static let longTick = Duration.seconds(15)

    /// Jobs on their way at the same time, at most.
    public let width: Int
    let queue: ReplayQueue
    private let reachability: any Reachability
    private let identities: @Sendable () async -> ReplayTable.Identities
    let lanes: (any JobLanes)?
    let send: Send
    let pass: @Sendable (ReplayFaultPoint) -> Void
    let running = Guarded(0)
    /// The attempts that go on.
    let attempts = Guarded<[ObjectIdentifier: JobAttempt]>([:])
    let course = Guarded(Course())

    /// The loops that go on, each with its own signal.
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

    /// Sends what is to be sent until the task is canceled, or ``stop()`` is called. Where it is canceled, what is on its way
    /// is canceled, too, and goes back to the queue.
    ///
    /// A disk that is full, a file that another process holds for long, or one that cannot be opened for now, is told to the
    /// observers and tried again.
    @discardableResult
    public func run() async -> Summary { await work(until: nil) }

    /// Sends what can be sent now, and returns when nothing of it is left, or `deadline` has come: for a task in the
    /// background, or a job of cron. What is on its way at the deadline is canceled. An outcome that cannot be written does
    /// not delay the return: it is written later, in the background.
    @discardableResult
    public func replay(until deadline: Date = .distantFuture) async -> Summary { await work(until: deadline) }

    /// Ends what goes on: what is on its way is let come to its end, and nothing more is claimed. An outcome that
    /// cannot be written does not delay the end.
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

    /// Until somebody wakes, or something's time comes.
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
