import DiamondSQLite
import Foundation

/// Telling that a connection is over, without a task that waits for it.
extension Connection {
    /// Adds a callback that is called once with the response or the error, as soon as it is known. A cancel makes the
    /// result known, too. A connection that was never run and is no longer referenced calls it with `cancelled`. A
    /// callback that is added after the result is known is called all the same.
    ///
    /// ```swift
    /// engine.connection(for: request).onResult { result in show(result) }
    /// ```
    ///
    /// The callback is handed to the executor before the connection has finished and its dependents start. Neither
    /// waits until the callback has returned, so that `waitUntilFinished` may be called on the thread that is to run
    /// it. A serial lane and a ``Batch`` do wait. Callbacks of one connection are handed over in the order in which
    /// they were added.
    ///
    /// - Parameters:
    ///   - executor: the executor of the callback; `nil` for the engine's ``Engine/Configuration/callbackExecutor``,
    ///     and, where the engine is gone, ``CallbackExecutor/platform``.
    ///   - callback: kept until it is called. A callback that captures the connection keeps it until then, and is kept
    ///     by it.
    /// - Returns: the connection.
    @discardableResult
    public func onResult(
        on executor: CallbackExecutor? = nil,
        _ callback: @escaping @Sendable (Result<Response, ConnectionError>) -> Void
    ) -> Self {
        let callback = ConnectionCallbacks.Callback(executor: executor, call: callback)
        let due = core.withLock { core in
            core.callbacks.add(callback)
            return core.takeCallbacks()
        }
        handOver(due)
        return self
    }

    /// Calls a follower once, when the outcome is known and the callbacks and the completion block have returned; at
    /// once if that has happened. A connection that was canceled before any engine or queue ran it is over, too, though
    /// it has not finished.
    ///
    /// - Parameter follower: called on any thread; be short.
    func afterCallbacks(_ follower: @escaping ConnectionCallbacks.Follower) {
        let outcome = core.withLock { core -> ConnectionLife.Outcome? in
            if !core.callbacks.isOver { core.callbacks.add(follower) }
            return core.callbacks.isOver ? core.life.outcome : nil
        }
        if let outcome { follower(outcome) }
    }

    // MARK: Handing over

    /// Hands over callbacks, because the result is known.
    func handOver(_ callbacks: [ConnectionCallbacks.Callback]) {
        guard !callbacks.isEmpty else { return }
        let (outcome, maker) = core.withLock { ($0.life.outcome, $0.maker) }
        guard let outcome else { return }
        let standard = maker?.callbackExecutor ?? .platform
        var (next, isEnd) = (callbacks, false)
        while !next.isEmpty {
            for callback in next {
                (callback.executor ?? standard).call { [self] in
                    callback.call(outcome)
                    hasReturned()
                }
            }
            (next, isEnd) = core.withLock { ($0.callbacks.takeNext(), $0.callbacks.takeEnd()) }
        }
        if isEnd { perform(announcing: true) { _ in .finish } }
    }

    /// Hands over the completion block and tells the followers, because the connection has finished.
    func callBack() {
        let (block, followers) = core.withLock { ($0.callbacks.takeBlock(), $0.callbacks.close()) }
        if let block {
            CallbackExecutor.global.call { [self] in
                block()
                hasReturned()
            }
        }
        tell(followers)
    }

    /// Tells the followers of a connection that is canceled and was not enqueued, because it may never be run. A queue
    /// of the user's own may still run it, and call the completion block then.
    func callOffIfNotRun() {
        let isCalledOff = core.withLock { core in
            core.life.isSettled && !core.isMember && !core.life.isExecuting && !core.life.isFinished
        }
        if isCalledOff { tell(core.withLock { $0.callbacks.close() }) }
    }

    /// Calls back for a connection that is freed before it was run: it counts as canceled. The callbacks keep no
    /// reference to the connection.
    func callOffUnrun() {
        let callbacks = core.withLock { core -> ConnectionCallbacks? in
            guard !core.life.isSettled, !core.life.isFinished else { return nil }
            _ = core.life.restore(.failure(.cancelled))
            core.announce()
            return core.callbacks.isEmpty ? nil : core.callbacks
        }
        guard let callbacks else { return }
        callbacks.callOff(on: core.withLock { $0.maker }?.callbackExecutor ?? .platform)
    }

    private func hasReturned() { tell(core.withLock { $0.callbacks.hasReturned() }) }

    private func tell(_ followers: [ConnectionCallbacks.Follower]) {
        guard !followers.isEmpty, let outcome else { return }
        for follower in followers { follower(outcome) }
    }

    // MARK: What is called

    /// Sets what ``callBack()`` will call.
    func setCompletionBlock(_ block: (@Sendable () -> Void)?) {
        let former = core.withLock { core in core.life.isFinished ? nil : core.callbacks.replace(block) }
        withExtendedLifetime(former) {}
    }

    /// Lets go of the callbacks that have not been handed over.
    func dropCallbacks() {
        let dropped = core.withLock { $0.callbacks.drop() }
        withExtendedLifetime(dropped) {}
    }
}
