import DiamondSQLite
import Foundation

/// Telling that a connection is over, without a task that waits for it.
extension Connection {
    /// Calls once, when the outcome is known and the completion block has returned; at once where that has been. A connection
    /// that is canceled and that nobody has begun to run is over, too, though it has not finished.
    ///
    /// - Parameter follower: called on any thread; be short.
    func afterCallbacks(_ follower: @escaping ConnectionCallbacks.Follower) {
        let outcome = core.withLock { core -> ConnectionLife.Outcome? in
            if !core.callbacks.isOver { core.callbacks.add(follower) }
            return core.callbacks.isOver ? core.life.outcome : nil
        }
        if let outcome { follower(outcome) }
    }

    /// Sets what ``callBack()`` will call.
    func setCompletionBlock(_ block: (@Sendable () -> Void)?) {
        let former = core.withLock { core in core.life.isFinished ? nil : core.callbacks.replace(block) }
        withExtendedLifetime(former) {}
    }

    /// The connection has finished.
    func callBack() {
        guard let block = core.withLock({ $0.callbacks.replace(nil) }) else { return closeCallbacks() }
        DispatchQueue.global().async { [self] in
            block()
            closeCallbacks()
        }
    }

    /// Canceled, and enqueued by nobody, it may never be run: those who follow it are not kept waiting. A queue of the
    /// user's own may still run it, and call the completion block then.
    func callOffIfNotRun() {
        let isCalledOff = core.withLock { core in
            core.life.outcome != nil && !core.isEnqueued && !core.life.isExecuting && !core.life.isFinished
        }
        if isCalledOff { closeCallbacks() }
    }

    private func closeCallbacks() {
        let (outcome, followers) = core.withLock { ($0.life.outcome, $0.callbacks.end()) }
        guard let outcome else { return }
        for follower in followers { follower(outcome) }
    }
}
