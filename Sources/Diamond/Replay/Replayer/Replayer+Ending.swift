import DiamondSQLite
import Foundation

/// Ending a run, also while the disk accepts no outcomes.
extension Replayer {
    /// Returns when a run is over.
    ///
    /// A run has to end at its deadline, or when it is stopped or canceled. If it then has nothing left to send, and the disk
    /// does not accept its outcomes, it continues in the background. Its jobs stay with this owner until then.
    ///
    /// - Parameter loop: the task that runs it.
    func end(of run: ReplayRun, _ loop: Task<Void, Never>) async -> Summary {
        await withTaskCancellationHandler {
            // Not by this task, which may be canceled.
            await Task { await watch(run, loop) }.value
        } onCancel: {
            loop.cancel()
            run.cancel()
        }
        return run.summary(of: queue.store.replayPath)
    }

    private func watch(_ run: ReplayRun, _ loop: Task<Void, Never>) async {
        var alarm: Task<Void, Never>?
        while !run.isOver {
            let left = timeLeft(of: run)
            if left == .zero { loop.cancel() }
            if alarm == nil, mustEnd(run) {
                run.beginEnd()
                // A slow disk, or another process that writes, is given this long.
                alarm = Task { [patience = queue.clock.patience] in
                    try? await ContinuousClock().sleep(for: patience)
                    run.letGo()
                }
                continue
            }
            if let left, left > .zero {
                await run.changes.wait(for: left, by: queue.clock.sleep)
            } else {
                await run.changes.wait()
            }
        }
        alarm?.cancel()
    }

    /// The time until the deadline; `nil` without one.
    private func timeLeft(of run: ReplayRun) -> Duration? {
        guard let deadline = run.deadline, deadline != .max else { return nil }
        return .milliseconds(max(0, deadline - queue.clock.uptime()))
    }

    /// Whether a run has to claim nothing more.
    func mustEnd(_ run: ReplayRun) -> Bool {
        if run.isCanceled || queue.owner.isRetired || course.withLock({ $0.stops }) != run.stops { return true }
        return run.deadline.map { $0 <= queue.clock.uptime() } ?? false
    }

    /// Waits until no job of a run is under way any more, or its time is over.
    func rest(_ run: ReplayRun, _ signal: Signal, until deadline: Int64) async {
        while run.left > 0, !Task.isCancelled {
            let time = deadline == .max ? .max : deadline - queue.clock.uptime()
            guard time > 0 else { return }
            await signal.wait(for: min(Self.longTick, .milliseconds(time)), by: queue.clock.sleep)
        }
    }
}
