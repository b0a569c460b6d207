/// The clocks of a cache, and the delay of its writes.
package struct CacheTiming: Sendable {
    /// Returns the current time.
    package var now: @Sendable () -> WallTime
    /// Returns the current time of the clock of the polls for changes.
    package var uptime: @Sendable () -> Uptime
    /// The longest time that a new entry waits for others, to share a transaction with them.
    package var writeDelay: Duration
    /// The clock of the longest waits for a server.
    package var clock: any Clock<Duration>

    package init(
        now: @escaping @Sendable () -> WallTime = { .now },
        uptime: @escaping @Sendable () -> Uptime = { .now },
        writeDelay: Duration = .milliseconds(10),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.now = now
        self.uptime = uptime
        self.writeDelay = writeDelay
        self.clock = clock
    }
}
