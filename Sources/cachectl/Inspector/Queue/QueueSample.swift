#if Tools
import Diamond
import Foundation

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
