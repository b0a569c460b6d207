import DiamondSQLite
public import Foundation

/// A sender of a queue's jobs. It sends several jobs at a time, and the jobs of one ordering key one after another.
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
    let width: Int
    let queue: ReplayQueue
    let reachability: any Reachability
    /// Reports the origins that have answered requests of any kind; `nil` if none is reported.
    let answers: Broadcast<String>?
    private let identities: @Sendable () async -> ReplaySelection.Identities
    let lanes: (any JobLanes)?
    let send: Send
    let pass: @Sendable (ReplayFaultPoint) -> Void
    /// The number of claimed jobs that have not ended.
    let running = Guarded(0)
    /// The attempts that run.
    let attempts = Guarded<[ObjectIdentifier: JobAttempt]>([:])
    let loops = Guarded(Loops())
    let lastClaim = Guarded(LastClaim())

    /// The result of a claim, which decides when and how the next one is made.
    struct LastClaim {
        /// The time that it took.
        var time = Duration.zero
        /// Whether it found as many jobs as there was room for.
        var isFull = false

        /// The time that the next one waits for more room, so that it replaces the jobs that end together.
        var patience: Duration {
            isFull && time >= .microseconds(500) ? min(time, .milliseconds(5)) : .zero
        }
    }

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
        identities: @escaping @Sendable () async -> ReplaySelection.Identities = { .all },
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

    // MARK: Working

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

    /// Converts a date to a time of the machine, so that setting the clock neither ends nor prolongs a run.
    private func uptime(at date: Date) -> Uptime {
        guard date != .distantFuture else { return .max }
        return queue.clock.uptime() + WallTime(date).milliseconds(since: queue.clock.now())
    }

    func claim(
        isRetry: Bool = false, reportingEnds report: ([ReplayState]) -> Void
    ) async throws(ReplayError) -> [ReplayClaim] {
        let free = width - running.withLock { $0 }
        let lanes = lanes?.unpaused ?? .all
        guard free > 0 else { return [] }
        // After a full claim, one more costs less than the question.
        let mayHaveMore = lastClaim.withLock { $0.isFull } && !queue.owner.isRetired
        guard try await mayHaveMore ? true : queue.mayHaveWork(in: lanes) else { return [] }
        let identities = await identities()
        let owner = try await queue.owner.enter()
        let start = ContinuousClock.now
        let claimed: [ReplayClaim]?
        do throws(ReplayError) {
            claimed = try await queue.claim(free, of: identities, in: lanes, by: owner, reportingEnds: report)
        } catch {
            queue.owner.leave()
            throw error
        }
        let claim = LastClaim(time: ContinuousClock.now - start, isFull: claimed?.count == free)
        lastClaim.withLock { $0 = claim }
        guard let jobs = claimed else {
            queue.owner.dropOwner(owner)
            queue.owner.leave()
            // Tries again at once as a new owner, but only once, to avoid a race with a process that declares that
            // owner dead, too.
            return isRetry ? [] : try await self.claim(isRetry: true, reportingEnds: report)
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
    var unpaused: ReplaySelection.Lanes { get }

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
