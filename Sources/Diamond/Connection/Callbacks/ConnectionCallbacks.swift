import DiamondSQLite

/// The callbacks of a connection. Callbacks that get the result are called first, then the completion block. The
/// outcome handlers are called when all others have returned.
struct ConnectionCallbacks {
    typealias OutcomeHandler = @Sendable (ConnectionLife.Outcome) -> Void

    /// A callback that is called with the result.
    struct Callback: Sendable {
        /// The executor of the callback; `nil` for the engine's.
        let executor: CallbackExecutor?
        let call: OutcomeHandler
    }

    /// The user's completion block. It is not passed to Foundation, which on Linux never releases the block and does
    /// not report its return.
    private(set) var completionBlock: (@Sendable () -> Void)?
    private var callbacks: [Callback] = []
    private var handlers: [OutcomeHandler] = []
    /// The number of callbacks and blocks that have been dispatched and have not returned.
    private var running = 0
    /// Whether a thread is dispatching callbacks. One thread at a time does. It also dispatches callbacks that are
    /// added meanwhile, which keeps the order.
    private var isDispatching = false
    /// Whether the dispatching thread is to finish the connection.
    private var isFinishDeferred = false
    /// Whether no other callback will be dispatched, unless the connection is run after all.
    private var isClosed = false
    /// Whether all callbacks have returned.
    private(set) var isOver = false

    // MARK: Callbacks

    mutating func add(_ callback: Callback) { callbacks.append(callback) }

    /// Removes the callbacks, because the result is known.
    ///
    /// - Returns: the callbacks to dispatch now; if there are any, ``takeNext()`` follows.
    mutating func take() -> [Callback] { isDispatching ? [] : takeNext() }

    /// Removes the callbacks that were added meanwhile. If there are none, the dispatch has ended.
    mutating func takeNext() -> [Callback] {
        isDispatching = !callbacks.isEmpty
        running += callbacks.count
        defer { callbacks = [] }
        return callbacks
    }

    /// Leaves the finish of the connection to the dispatching thread, if there is one.
    ///
    /// - Returns: whether another thread is dispatching; its ``takeDeferredFinish()`` returns `true` then.
    mutating func deferFinish() -> Bool {
        isFinishDeferred = isDispatching
        return isFinishDeferred
    }

    /// - Returns: whether the calling thread, which has dispatched all callbacks, has to finish the connection.
    mutating func takeDeferredFinish() -> Bool {
        guard isFinishDeferred, !isDispatching else { return false }
        isFinishDeferred = false
        return true
    }

    /// Removes the callbacks that are not about to be dispatched.
    ///
    /// - Returns: the callbacks that will not be called. Release them outside of the lock.
    mutating func drop() -> [Callback] {
        guard !isDispatching else { return [] }
        defer { callbacks = [] }
        return callbacks
    }

    /// Whether a callback gets the result.
    var hasCallbacks: Bool { !callbacks.isEmpty }

    /// Whether there is neither a callback nor an outcome handler.
    var isEmpty: Bool { callbacks.isEmpty && handlers.isEmpty }

    /// Dispatches the callbacks of a connection that is freed before it was run, with `cancelled`. Calls the outcome
    /// handlers when all have returned.
    ///
    /// - Parameter executor: the executor of callbacks that name none.
    func cancel(on executor: CallbackExecutor) {
        let rest = Guarded(self)
        let outcome = ConnectionLife.Outcome.failure(.cancelled)
        for callback in rest.withLock({ $0.take() }) {
            (callback.executor ?? executor).call {
                callback.call(outcome)
                for handler in rest.withLock({ $0.hasReturned() }) { handler(outcome) }
            }
        }
        for handler in rest.withLock({ $0.close() }) { handler(outcome) }
    }

    // MARK: The completion block

    /// - Returns: the previous block. Release it outside of the lock.
    mutating func replace(_ block: (@Sendable () -> Void)?) -> (@Sendable () -> Void)? {
        defer { completionBlock = block }
        return completionBlock
    }

    /// - Returns: the block to dispatch now, because the connection has finished.
    mutating func takeBlock() -> (@Sendable () -> Void)? {
        if completionBlock != nil { running += 1 }
        return replace(nil)
    }

    // MARK: Outcome handlers

    mutating func add(_ handler: @escaping OutcomeHandler) { handlers.append(handler) }

    /// Counts the return of a callback or of the completion block.
    ///
    /// - Returns: the outcome handlers to call now.
    mutating func hasReturned() -> [OutcomeHandler] {
        running -= 1
        return end()
    }

    /// - Returns: the outcome handlers to call now.
    mutating func close() -> [OutcomeHandler] {
        isClosed = true
        return end()
    }

    private mutating func end() -> [OutcomeHandler] {
        guard isClosed, running == 0, callbacks.isEmpty else { return [] }
        isOver = true
        defer { handlers = [] }
        return handlers
    }
}
