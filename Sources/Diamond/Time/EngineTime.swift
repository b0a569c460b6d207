/// A time since the creation of an engine's clock, in milliseconds. The clock only goes forward (``ExchangeClock``).
package struct EngineTime: ClockTime {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Creates the time at which a duration has passed since the creation of the clock.
    init(_ elapsed: Duration) { rawValue = elapsed.milliseconds }
}
