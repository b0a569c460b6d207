extension Duration {
    /// The seconds, with millisecond precision.
    var writtenSeconds: Double { Double(milliseconds) / 1000 }

    /// The seconds for display: `0.05 s`, `120 s`.
    var inSeconds: String {
        let milliseconds = milliseconds
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(writtenSeconds) s"
    }

    /// The duration in whole milliseconds, limited to 0 to 100 years.
    var bounded: Duration { .milliseconds(min(max(0, milliseconds), Self.longest)) }

    package static let longest: Int64 = 100 * 366 * 86_400_000

    /// The whole milliseconds, rounded down and clamped to `Int64`.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let whole = seconds.multipliedReportingOverflow(by: 1000)
        let sum = whole.partialValue.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        guard !whole.overflow, !sum.overflow else { return seconds < 0 ? .min : .max }
        return sum.partialValue
    }
}
