#if Tools
import Diamond
import DiamondSQLite
import Foundation

/// The depths of the queue while the server runs: one in 10 seconds, for half an hour.
final class QueueSamples: Sendable {
    private static let interval = Duration.seconds(10)
    private static let capacity = 180
    /// The time that counting the jobs of lanes may take: an index has their states, not their lanes.
    private static let patience = Duration.milliseconds(150)

    private let stored = Guarded<[QueueSample]>([])
    /// Whether the queue was changed after the last sample.
    private let isOld = Guarded(false)

    /// The samples, the oldest first.
    var all: [QueueSample] { stored.withLock { $0 } }

    /// Adds a sample, and forgets the oldest one if there are too many.
    func add(_ sample: QueueSample) {
        stored.withLock { samples in
            samples.append(sample)
            samples.removeFirst(max(0, samples.count - Self.capacity))
        }
    }

    private func add(of queue: ReplayQueue) throws(ReplayError) {
        let end = ContinuousClock.now + Self.patience
        let known = Set(all.last?.lanes.keys ?? [:].keys)
        isOld.withLock { $0 = false }
        add(try QueueSample(of: queue, lanes: known) { ContinuousClock.now > end })
    }

    /// Lets the next page read a sample: the queue is being changed.
    func expire() { isOld.withLock { $0 = true } }

    /// Returns the samples. Reads one if there is none yet, or after a change.
    func all(of queue: ReplayQueue) throws(ReplayError) -> [QueueSample] {
        if all.isEmpty || isOld.withLock(\.self) { try add(of: queue) }
        return all
    }

    /// Adds samples until the task is canceled. While the queue cannot be read, it adds none.
    func run(_ queue: () async throws -> ReplayQueue) async {
        while !Task.isCancelled {
            if let queue = try? await queue() { try? add(of: queue) }
            try? await Task.sleep(for: Self.interval)
        }
    }
}

/// The depth of a queue at one time.
struct QueueSample: Sendable {
    /// The states of jobs that are still to be sent.
    static let open: Set<ReplayState> = [.ready, .waiting, .running, .held]

    var counts: [ReplayState: Int] = [:]
    /// The number of open jobs in each lane. Lanes are missing if the first open jobs are all of others, if there are
    /// many, and if counting takes too long.
    var lanes: [String: Int] = [:]
    /// The open job that was added first.
    var oldest: ReplayJob?
    /// The number of jobs by the code of their last failed attempt, of the ``failed`` that were added first.
    var errors: [String: Int] = [:]
    /// The number of jobs that were read for ``errors``.
    var failed = 0
}

extension QueueSample {
    /// The states that failed jobs can have.
    static let failedStates: Set<ReplayState> = [.waiting, .dead, .needsReview]

    private static let jobLimit = 200
    private static let laneLimit = 20

    /// Reads the depth of a queue.
    ///
    /// - Parameters:
    ///   - known: Lanes to count beside those of the jobs that were added first.
    ///   - isOver: Whether to count no further lane. Asked before each of them.
    init(
        of queue: ReplayQueue, lanes known: Set<String>, unless isOver: () -> Bool = { false }
    ) throws(ReplayError) {
        counts = try queue.counts()
        let open = try queue.jobs(
            ReplayFilter(states: Self.open, includesSignedOut: true), limit: Self.jobLimit)
        oldest = open.first
        for name in known.union(open.map(\.lane)).sorted().prefix(Self.laneLimit) where !isOver() {
            lanes[name] = try queue.count(
                ReplayFilter(states: Self.open, lane: Lane(name), includesSignedOut: true))
        }
        let failed = try queue.jobs(
            ReplayFilter(states: Self.failedStates, includesSignedOut: true), limit: Self.jobLimit)
        for job in failed {
            if let code = try queue.failures(of: job.id).last?.code { errors[code, default: 0] += 1 }
        }
        self.failed = failed.count
    }
}
#endif
