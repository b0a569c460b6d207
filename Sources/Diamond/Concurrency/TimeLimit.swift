import DiamondSQLite

/// The limit for the time of a wait, and the clock that it is measured by.
package struct TimeLimit: Sendable {
    private let time: Duration
    private let sleep: @Sendable (Duration) async throws -> Void

    /// - Parameter sleep: suspends for a duration, and throws if the task is canceled.
    init(_ time: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.time = time
        self.sleep = sleep
    }

    package init(_ time: Duration, by clock: any Clock<Duration> = ContinuousClock()) {
        self.init(time) { try await clock.sleep(for: $0) }
    }

    /// Starts the time.
    ///
    /// - Parameter expire: called in its own task when the time is up. It may still be called if the timer is canceled
    ///   at the same moment.
    /// - Returns: the timer, which the caller cancels.
    func start(_ expire: @escaping @Sendable () -> Void) -> Task<Void, Never> {
        Task { [time, sleep] in if (try? await sleep(time)) != nil { expire() } }
    }

    /// Runs a body in its own task, cancels it when the time is up, and waits for its end.
    ///
    /// - Returns: the value of the body, and whether it was canceled because its time was up.
    func canceling<Value: Sendable>(
        _ body: @escaping @Sendable () async -> Value
    ) async -> (value: Value, isLate: Bool) {
        let isLate = Guarded(false)
        let task = Task { await body() }
        let timer = start {
            isLate.withLock { $0 = true }
            task.cancel()
        }
        let value = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        timer.cancel()
        return (value, isLate.withLock { $0 })
    }

    /// Runs a body in its own task, and waits for its value no longer than the limit. Cancellation ends neither the
    /// body nor the wait.
    ///
    /// - Returns: the value; `nil` if the time was up first. The body then continues.
    package func value<Value: Sendable>(of body: @escaping @Sendable () async -> Value) async -> Value? {
        let first = Promise<Value?>()
        Task { first.fulfill(with: await body()) }
        let timer = start { first.fulfill(with: nil) }
        defer { timer.cancel() }
        return await first.value()
    }
}

/// The reason why a wait has ended without its value.
enum WaitEnd: Error {
    case late, canceled
    /// The owner of the wait was closed.
    case closed
}
