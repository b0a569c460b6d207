import DiamondSQLite

/// The response of a connection, and its state.
extension Connection {
    /// The response. Reading it waits until it is known. If the waiting task is canceled, so is the connection, unless
    /// other tasks wait for it (``CanceledWait/cancelIfAlone``).
    ///
    /// Reading it starts the connection and those that it depends on, except those that were started in an engine or
    /// added to an `OperationQueue`. Therefore add dependencies first, or add the connection to your queue.
    ///
    /// - Throws: ``ConnectionError``; `cancelled` as soon as the connection, started or not, or the waiting task is
    ///   canceled.
    public var response: Response {
        get async throws(ConnectionError) { try await response(whenCanceled: .cancelIfAlone) }
    }

    /// Waits for the response. Starts the connection as ``response`` does.
    ///
    /// - Parameter effect: the effect on the connection if the waiting task is canceled.
    /// - Throws: the errors of ``response``.
    public func response(whenCanceled effect: CanceledWait) async throws(ConnectionError) -> Response {
        try await awaitedOutcome(whenCanceled: effect).get()
    }

    private func awaitedOutcome(
        whenCanceled effect: CanceledWait,
        isolation: isolated (any Actor)? = #isolation
    ) async -> ConnectionLife.Outcome {
        if let outcome { return outcome }
        if !Task.isCancelled { Connection.run(awaited: [self]) }
        let number = core.withLock { $0.waiters.makeNumber() }
        return await withTaskCancellationHandler {
            // This use keeps the closure on the caller's actor.
            _ = isolation
            return await withCheckedContinuation { waiter in
                let known = core.withLock { core -> ConnectionLife.Outcome? in
                    if core.life.outcome == nil { core.waiters.add(waiter, number: number) }
                    return core.life.outcome
                }
                if let known { waiter.resume(returning: known) }
                // The handler may have been called before the task waited.
                if Task.isCancelled { leave(number, with: effect) }
            }
        } onCancel: {
            leave(number, with: effect)
        }
    }

    /// Ends the wait of a task that is canceled.
    private func leave(_ number: Int, with effect: CanceledWait) {
        switch core.withLock({ $0.waiters.leave(number, with: effect) }) {
        case .nothing: break
        case .cancel: cancel()
        case .resume(let waiter): waiter.resume(returning: .failure(.cancelled))
        }
    }

    /// The current state.
    public var state: ConnectionState { core.withLock { $0.life.state } }

    /// The states: first the current one, then one for every change. The stream ends when the connection has finished,
    /// or is freed before it was run. Observing starts nothing: a connection that is not started stays `ready`.
    public var states: AsyncStream<ConnectionState> {
        AsyncStream(bufferingPolicy: .unbounded) { continuation in
            let number = core.withLock { core -> Int? in
                continuation.yield(core.life.state)
                guard !core.life.isFinished else { return nil }
                return core.observers.add(continuation)
            }
            guard let number else { return continuation.finish() }
            continuation.onTermination = { [weak self] _ in
                _ = self?.core.withLock { $0.observers.remove(number) }
            }
        }
    }
}
