import DiamondSQLite
import Foundation

/// Callbacks that report the result of a connection, without a task that waits for it.
extension Connection {
    /// Adds a callback that is called once with the response or the error, as soon as it is known, also if it is known
    /// already. The callback gets `cancelled` if the connection is canceled, or is deallocated before it was run.
    ///
    /// ```swift
    /// engine.connection(for: request).onResult { result in show(result) }
    /// ```
    ///
    /// The callback is dispatched to the executor before the connection has finished and its dependents start. Neither
    /// waits until the callback has returned, so that `waitUntilFinished` may be called on the executor's thread. A
    /// serial lane and a ``Batch`` do wait. Callbacks of one connection are dispatched in the order in which they were
    /// added.
    ///
    /// - Parameters:
    ///   - executor: the executor of the callback; `nil` for the engine's ``Engine/Configuration/callbackExecutor``, or
    ///     the default of that if the engine was deallocated.
    ///   - callback: the callback, which is retained until it is called. One that captures the connection forms a
    ///     retain cycle until then.
    /// - Returns: the connection.
    // Disfavored, so that `.main` means the executor whose callbacks are isolated to the main actor.
    @discardableResult
    @_disfavoredOverload
    public func onResult(
        on executor: CallbackExecutor? = nil,
        _ callback: @escaping @Sendable (Result<Response, ConnectionError>) -> Void
    ) -> Self {
        let added = ConnectionCallbacks.Callback(executor: executor, call: callback)
        let callbacks = core.withLock { core in
            core.callbacks.add(added)
            return core.takeCallbacks()
        }
        dispatch(callbacks)
        return self
    }

    /// Adds a callback that is called on the main actor, as ``onResult(on:_:)-(CallbackExecutor?,_)`` adds others.
    ///
    /// ```swift
    /// engine.connection(for: request).onResult(on: .main) { result in label.text = "\(result)" }
    /// ```
    ///
    /// - Parameters:
    ///   - executor: `.main`.
    ///   - callback: the callback, which may use values that are isolated to the main actor.
    /// - Returns: the connection.
    @discardableResult
    public func onResult(
        on executor: MainCallbackExecutor,
        _ callback: @escaping @MainActor @Sendable (Result<Response, ConnectionError>) -> Void
    ) -> Self {
        onResult(on: CallbackExecutor.main, executor.callback(callback))
    }

    /// Calls a closure once, when the outcome is known, and the callbacks and the completion block have returned. If
    /// that has happened already, calls it at once. A connection that was canceled before any engine or queue ran it
    /// counts as over, although it has not finished.
    ///
    /// - Parameter handler: called on any thread. It must return quickly.
    func afterCallbacks(_ handler: @escaping ConnectionCallbacks.OutcomeHandler) {
        let outcome = core.withLock { core -> ConnectionLife.Outcome? in
            if !core.callbacks.isOver { core.callbacks.add(handler) }
            return core.callbacks.isOver ? core.life.outcome : nil
        }
        if let outcome { handler(outcome) }
    }

    // MARK: Dispatching

    /// Dispatches callbacks to their executors, because the result is known.
    func dispatch(_ callbacks: [ConnectionCallbacks.Callback]) {
        guard !callbacks.isEmpty else { return }
        let (outcome, registry) = core.withLock { ($0.life.outcome, $0.weakRegistry) }
        guard let outcome else { return }
        let standard = registry?.callbackExecutor ?? .platform
        var next = callbacks
        var isEnd = false
        while !next.isEmpty {
            for callback in next {
                (callback.executor ?? standard).call { [self] in
                    callback.call(outcome)
                    hasReturned()
                }
            }
            (next, isEnd) = core.withLock { ($0.callbacks.takeNext(), $0.callbacks.takeDeferredFinish()) }
        }
        if isEnd { perform(notifyingKVO: true) { _ in .finish } }
    }

    /// Dispatches the completion block and calls the outcome handlers, because the connection has finished.
    func runCompletion() {
        let (block, handlers) = core.withLock { ($0.callbacks.takeBlock(), $0.callbacks.close()) }
        if let block {
            CallbackExecutor.global.call { [self] in
                block()
                hasReturned()
            }
        }
        call(handlers)
    }

    /// Calls the outcome handlers of a connection that was canceled and not started, because it may never be run. A
    /// queue of the app may still run it, and then call the completion block.
    func finishCallbacksIfNeverRun() {
        let isNeverRun = core.withLock { core in
            core.life.isSettled && !core.isMember && !core.life.isExecuting && !core.life.isFinished
        }
        if isNeverRun { call(core.withLock { $0.callbacks.close() }) }
    }

    /// Calls the callbacks of a connection that is freed before it was run, which counts as canceled. They get no
    /// reference to the connection.
    func cancelIfNeverRun() {
        let callbacks = core.withLock { core -> ConnectionCallbacks? in
            guard !core.life.isSettled, !core.life.isFinished else { return nil }
            _ = core.life.restore(.failure(.cancelled))
            core.yieldState()
            return core.callbacks.isEmpty ? nil : core.callbacks
        }
        guard let callbacks else { return }
        callbacks.cancel(on: core.withLock { $0.weakRegistry }?.callbackExecutor ?? .platform)
    }

    private func hasReturned() { call(core.withLock { $0.callbacks.hasReturned() }) }

    private func call(_ handlers: [ConnectionCallbacks.OutcomeHandler]) {
        guard !handlers.isEmpty, let outcome else { return }
        for handler in handlers { handler(outcome) }
    }

    // MARK: Changes

    /// Sets the block that ``runCompletion()`` will call.
    func setCompletionBlock(_ block: (@Sendable () -> Void)?) {
        let former = core.withLock { core in core.life.isFinished ? nil : core.callbacks.replace(block) }
        withExtendedLifetime(former) {}
    }

    /// Drops the callbacks that have not been dispatched.
    func dropCallbacks() {
        let dropped = core.withLock { $0.callbacks.drop() }
        withExtendedLifetime(dropped) {}
    }
}
