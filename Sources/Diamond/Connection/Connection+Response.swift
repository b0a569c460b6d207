import DiamondSQLite

/// The response of a connection, and its state.
extension Connection {
    /// The response. Reading it waits until it is known. Canceling the waiting task cancels the connection.
    ///
    /// - Throws: ``ConnectionError``; `cancelled` as soon as the connection is canceled, started or not.
    public var response: Response {
        get async throws(ConnectionError) { try await awaitedOutcome().get() }
    }

    private func awaitedOutcome(isolation: isolated (any Actor)? = #isolation) async -> ConnectionLife.Outcome {
        if let outcome { return outcome }
        return await withTaskCancellationHandler {
            // This use keeps the closure on the caller's actor.
            _ = isolation
            return await withCheckedContinuation { waiter in
                let known = core.withLock { core -> ConnectionLife.Outcome? in
                    if core.life.outcome == nil { core.waiters.append(waiter) }
                    return core.life.outcome
                }
                if let known { waiter.resume(returning: known) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// The current state.
    public var state: ConnectionState { core.withLock { $0.life.state } }

    /// The states: first the current one, then one for every change. The stream ends when the connection has finished,
    /// or is freed before it was run.
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
