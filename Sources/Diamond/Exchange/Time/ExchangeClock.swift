/// The clock of waits and limits: any clock that only goes forward.
struct ExchangeClock: Sendable {
    let uptime: @Sendable () -> EngineTime
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
        let start = clock.now
        return ExchangeClock(
            uptime: { EngineTime(start.duration(to: clock.now)) },
            elapsed: { start.duration(to: clock.now) },
            sleep: {
                let delay = min($0, .milliseconds(Duration.longest))
                try await clock.sleep(until: clock.now.advanced(by: delay), tolerance: nil)
            }
        )
    }

    /// Returns a limit that is measured by this clock.
    func limit(_ time: Duration) -> TimeLimit { TimeLimit(time, sleep: sleep) }
}
