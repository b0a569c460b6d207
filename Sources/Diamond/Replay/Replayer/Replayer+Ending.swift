import DiamondSQLite
import Foundation

/// Ending a run, even if the disk accepts no outcomes.
extension Replayer {
    /// Waits until a run is over, and returns its results.
    ///
    /// A run has to end at its deadline, or when it is stopped or canceled. If it then has nothing left to send, and
    /// the disk does not accept its outcomes, it continues in the background, and its jobs stay with this owner.
    ///
    /// - Parameter loop: the task of the run's loop.
    func end(of run: ReplayRun, loop: Task<Void, Never>) async -> Summary {
        await withTaskCancellationHandler {
            // In its own task, because this one may be canceled.
            await Task { await supervise(run, loop: loop) }.value
        } onCancel: {
            loop.cancel()
            run.cancel()
        }
        return run.summary(of: queue.storage.name)
    }

    private func supervise(_ run: ReplayRun, loop: Task<Void, Never>) async {
        var alarm: Task<Void, Never>?
        var isEnding = false
        while !run.isOver {
            let left = timeLeft(of: run)
            if left == .zero { loop.cancel() }
            if !isEnding, mustEnd(run) {
                isEnding = true
                run.beginEnd()
            }
            // The time for a slow disk, or another process that writes. It does not pass while a request is running.
            if isEnding, !run.hasSentAll {
                alarm?.cancel()
                alarm = nil
            } else if isEnding, alarm == nil {
                alarm = Task { [clock = queue.clock] in
                    do { try await clock.endClock.sleep(for: clock.endTimeout) } catch { return }
                    run.passEndTimeout()
                }
            }
            if let left, left > .zero {
                await run.changes.wait(within: TimeLimit(left, by: queue.clock.sleep))
            } else {
                await run.changes.wait()
            }
        }
        alarm?.cancel()
    }

    /// Returns the time until the deadline; `nil` without one.
    private func timeLeft(of run: ReplayRun) -> Duration? {
        guard let deadline = run.deadline, deadline != .max else { return nil }
        return .milliseconds(max(0, deadline.milliseconds(since: queue.clock.uptime())))
    }

    /// Whether a run must claim no more jobs.
    func mustEnd(_ run: ReplayRun) -> Bool {
        if run.isCanceled || queue.owner.isRetired || loops.withLock({ $0.stops }) != run.stops { return true }
        return run.deadline.map { $0 <= queue.clock.uptime() } ?? false
    }

    /// Waits until all jobs of a run have ended, or the deadline has passed.
    func waitForJobs(of run: ReplayRun, until deadline: Uptime, signal: Signal) async {
        while run.openJobs > 0, !Task.isCancelled {
            let time = deadline == .max ? .max : deadline.milliseconds(since: queue.clock.uptime())
            guard time > 0 else { return }
            await signal.wait(within: TimeLimit(min(ReplayStep.longTick, .milliseconds(time)), by: queue.clock.sleep))
        }
    }
}
