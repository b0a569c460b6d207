import DiamondSQLite

/// The clock of waits and limits: any clock that only goes forward.
struct ExchangeClock: Sendable {
    /// The milliseconds since the clock was created.
    let uptime: @Sendable () -> Int64
    /// The time since the clock was created, for measurements.
    let elapsed: @Sendable () -> Duration
    /// Waits; throws when the task is canceled.
    let sleep: @Sendable (Duration) async throws -> Void
}

extension ExchangeClock {
    init(_ clock: any Clock<Duration>) {
        // A call of its own, so that the compiler specializes it: every exchange reads the clock several times.
        self = (clock as? ContinuousClock).map(Self.make) ?? Self.make(clock)
    }

    private static func make(_ clock: some Clock<Duration>) -> ExchangeClock {
        let begin = clock.now
        return ExchangeClock(
            uptime: { begin.duration(to: clock.now).milliseconds },
            elapsed: { begin.duration(to: clock.now) },
            sleep: {
                let delay = min($0, .milliseconds(Duration.longest))
                try await clock.sleep(until: clock.now.advanced(by: delay), tolerance: nil)
            }
        )
    }

    /// Runs a body, and cancels it when its time is up.
    ///
    /// - Returns: the value of the body, and whether it was canceled because its time was up.
    func limit<Value: Sendable>(
        _ limit: Duration,
        _ body: @escaping @Sendable () async -> Value
    ) async -> (value: Value, isLate: Bool) {
        let isLate = Guarded(false)
        let task = Task { await body() }
        let deadline = Deadline(after: limit, sleep: sleep) {
            isLate.withLock { $0 = true }
            task.cancel()
        }
        let value = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        deadline.cancel()
        return (value, isLate.withLock { $0 })
    }
}
