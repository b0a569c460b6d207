import DiamondSQLite
import Foundation

/// A run of a replayer: its jobs, its results, and whether it is over.
final class ReplayRun: Sendable {
    private struct State {
        var summary = Replayer.Summary()
        /// The number of claimed jobs that have not ended.
        var openJobs = 0
        /// The jobs among them whose outcomes are being written.
        var writing: Set<ReplayJob.ID> = []
        /// The errors that keep outcomes from the disk.
        var failures: [ReplayJob.ID: ReplayError] = [:]
        var isCanceled = false
        var isEnding = false
        var isOverdue = false
        var hasEnded = false

        /// Whether all jobs have been sent, and the remaining outcomes could not be written so far.
        var isStuck: Bool {
            !writing.isEmpty && openJobs == writing.count && writing.allSatisfy { failures[$0] != nil }
        }

        mutating func fail(_ error: ReplayError) { summary.error = summary.error ?? error }
    }

    /// The end of the run; `.max` for no limit. It is `nil` for a run that ends only
    /// when it is stopped or canceled.
    let deadline: Uptime?
    /// The number of stops of the replayer before this run.
    let stops: Int
    /// The signal that is woken at each change, and by a stop.
    let changes: Signal
    private let state = Guarded(State())

    init(until deadline: Uptime?, stops: Int, changes: Signal) {
        self.deadline = deadline
        self.stops = stops
        self.changes = changes
    }

    /// Counts jobs that ended without being sent.
    func count(_ ends: [ReplayState]) { state.withLock { $0.summary.count(ends) } }

    /// Adds claimed jobs.
    func addJobs(_ count: Int) { change { $0.openJobs += count } }

    /// Runs `body`, which writes the outcome of a job.
    ///
    /// - Parameter body: reports each error that keeps the outcome from the disk, and `nil` once it is written.
    func writingOutcome(
        of id: ReplayJob.ID, body: (@escaping @Sendable (ReplayError?) -> Void) async -> ReplayState?
    ) async -> ReplayState? {
        change { _ = $0.writing.insert(id) }
        let jobState = await body { failure in self.change { $0.failures[id] = failure } }
        change { state in
            state.writing.remove(id)
            // The outcome will not be written.
            if let failure = state.failures.removeValue(forKey: id) { state.fail(failure) }
        }
        return jobState
    }

    /// Notes the end of a job.
    ///
    /// - Parameter jobState: its new state; `nil` if another owner has the job, or its outcome could not be written.
    func endJob(_ jobState: ReplayState?) {
        change { state in
            state.openJobs -= 1
            state.summary.count([jobState].compactMap(\.self))
        }
    }

    /// Records an error, after which the run claims no more jobs.
    func fail(_ error: ReplayError) { change { $0.fail(error) } }

    func cancel() { change { $0.isCanceled = true } }

    /// Notes that the run has to end.
    func beginEnd() { change { $0.isEnding = true } }

    /// Notes that the timeout for the end of the run has passed.
    func passEndTimeout() { change { $0.isOverdue = true } }

    /// Notes that the loop of the run has returned.
    func endLoop() { change { $0.hasEnded = true } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock(body)
        changes.wake()
    }

    /// The number of claimed jobs that have not ended.
    var openJobs: Int { state.withLock { $0.openJobs } }
    /// Whether all claimed jobs have been sent, so that only outcomes are left to write.
    var hasSentAll: Bool { state.withLock { $0.openJobs == $0.writing.count } }
    var isCanceled: Bool { state.withLock { $0.isCanceled } }
    var hasFailed: Bool { state.withLock { $0.summary.error != nil } }

    /// Whether its caller need not wait any longer. A run that has to end and waits only for the disk continues in the
    /// background.
    var isOver: Bool {
        state.withLock { state in
            state.hasEnded || (state.isEnding && state.isStuck)
                || (state.isOverdue && state.openJobs == state.writing.count)
        }
    }

    /// Returns the results so far, with an error if an outcome is not on disk.
    ///
    /// - Parameter name: the name of the queue's storage, for the message.
    func summary(of name: String) -> Replayer.Summary {
        state.withLock { state in
            var summary = state.summary
            if let id = state.writing.min(), summary.error == nil {
                summary.error =
                    state.failures[id]
                    ?? ReplayError(
                        .busy, "\(name): the outcome of job \(id) is not written yet: run again, or wait for its writer"
                    )
            }
            return summary
        }
    }
}
