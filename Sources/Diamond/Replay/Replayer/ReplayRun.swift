import DiamondSQLite
import Foundation

/// One run of a replayer: its jobs, its results, and whether it is over.
final class ReplayRun: Sendable {
    fileprivate struct State {
        var summary = Replayer.Summary()
        /// Claimed jobs that have not ended.
        var left = 0
        /// The jobs among them whose outcomes are being written.
        var noting: Set<ReplayJob.ID> = []
        /// Why outcomes are not on disk yet.
        var failures: [ReplayJob.ID: ReplayError] = [:]
        var isCanceled = false
        var isEnding = false
        var isOverdue = false
        var hasEnded = false

        /// Whether all jobs have been sent, and the remaining outcomes could not be written so far.
        var isStuck: Bool {
            !noting.isEmpty && left == noting.count && noting.allSatisfy { failures[$0] != nil }
        }
    }

    /// The end, in milliseconds of the clock that counts from the boot, `.max` for no limit; `nil` for a run that ends only
    /// when it is stopped or canceled.
    let deadline: Int64?
    /// The number of stops of the replayer before this run.
    let stops: Int
    /// Woken at each change, and by a stop.
    let changes: Signal
    private let state = Guarded(State())

    init(until deadline: Int64?, stops: Int, changes: Signal) {
        (self.deadline, self.stops, self.changes) = (deadline, stops, changes)
    }

    /// Counts jobs that ended without being sent.
    func count(_ ends: [ReplayState]) { state.withLock { $0.summary.count(ends) } }

    /// Adds claimed jobs.
    func add(_ count: Int) { state.withLock { $0.left += count } }

    /// Runs `body`, which writes the outcome of a job.
    ///
    /// - Parameter body: reports each error that keeps the outcome from the disk, and `nil` once it is written.
    func noting(
        _ id: ReplayJob.ID, _ body: (@escaping @Sendable (ReplayError?) -> Void) async -> ReplayState?
    ) async -> ReplayState? {
        change { _ = $0.noting.insert(id) }
        let jobState = await body { failure in self.change { $0.failures[id] = failure } }
        change { state in
            state.noting.remove(id)
            // The outcome was given up.
            if let failure = state.failures.removeValue(forKey: id) { state.fail(failure) }
        }
        return jobState
    }

    /// Notes the end of a job.
    ///
    /// - Parameter jobState: its new state; `nil` if another owner has the job, or its outcome could not be written.
    func end(_ jobState: ReplayState?) {
        change { state in
            state.left -= 1
            state.summary.count([jobState].compactMap(\.self))
        }
    }

    /// Records an error, after which the run claims no more jobs.
    func fail(_ error: ReplayError) { change { $0.fail(error) } }

    func cancel() { change { $0.isCanceled = true } }

    /// Notes that the run has to end.
    func beginEnd() { change { $0.isEnding = true } }

    /// Notes that the time for its end is over.
    func letGo() { change { $0.isOverdue = true } }

    /// Notes that its loop has returned.
    func end() { change { $0.hasEnded = true } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock(body)
        changes.wake()
    }

    var left: Int { state.withLock { $0.left } }
    var isCanceled: Bool { state.withLock { $0.isCanceled } }
    var hasFailed: Bool { state.withLock { $0.summary.error != nil } }

    /// Whether its caller need not wait any longer. A run that has to end and waits only for the disk continues in the
    /// background.
    var isOver: Bool {
        state.withLock { state in
            state.hasEnded || (state.isEnding && state.isStuck) || (state.isOverdue && state.left == state.noting.count)
        }
    }

    /// The results so far, with an error if an outcome is not on disk.
    ///
    /// - Parameter path: the queue's file, for the message.
    func summary(of path: String) -> Replayer.Summary {
        state.withLock { state in
            var summary = state.summary
            if let id = state.noting.min(), summary.error == nil {
                summary.error =
                    state.failures[id]
                    ?? ReplayError(SQLiteError(.busy, "the outcome of job \(id) is not written yet", path: path))
            }
            return summary
        }
    }
}

extension ReplayRun.State {
    fileprivate mutating func fail(_ error: ReplayError) { summary.error = summary.error ?? error }
}
