#if Tools
import Diamond

extension RecordedEvent {
    /// The event in one line: `2026-08-01T12:00:00.250Z shop[71] ended request GET 200 network 12 ms https://h/cities`.
    var line: String {
        let parts = [instant, "\(program)[\(process)]", kind.rawValue] + details
        return parts.joined(separator: " ").printable
    }

    /// The time with milliseconds.
    private var instant: String {
        let fraction = String(((time.rawValue % 1000) + 1000) % 1000)
        let digits = String(repeating: "0", count: 3 - fraction.count) + fraction
        return "\(Quantity.instant(time).dropLast()).\(digits)Z"
    }

    private var details: [String] {
        let duration = milliseconds.map { Quantity.time(.milliseconds(bounding: $0)) }
        let number = attempt.map { "\($0)" }
        return [
            interval, number, job.map { "\($0)" }, transition, method, status.map { "\($0)" }, source, error,
            duration, count.map { "\($0)" }, url, reason,
        ].compactMap(\.self)
    }
}

extension Duration {
    /// Creates a duration of a number that a damaged file may have: from 0 to 100 years.
    static func milliseconds(bounding number: Double) -> Duration {
        .microseconds(Int64(Swift.min(Swift.max(0, number), 3e12) * 1000))
    }
}
#endif
