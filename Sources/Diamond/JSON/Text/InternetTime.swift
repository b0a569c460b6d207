package import Foundation

/// Dates as text in the format of RFC 3339, a profile of ISO 8601.
///
/// A date is a number of seconds. At today's dates it holds microseconds, so more digits of a text are rounded.
package enum InternetTime {
    /// Returns the date of a text (RFC 3339 section 5.6); `nil` if it is no date.
    ///
    /// The colon and the minutes of an offset may be missing, as in ISO 8601, and a year may have a sign and six
    /// digits. A leap second is the first second of the next minute.
    package static func date(_ text: String) -> Date? {
        var reader = InternetTimeReader(bytes: Array(text.utf8))
        return reader.readDate()
    }

    /// Returns the text of a date in UTC: `2026-08-01T12:00:00Z`, with three digits of a fraction if it has
    /// milliseconds, and with six if it has microseconds; `nil` if the date is not finite or has no such year.
    package static func text(_ date: Date) -> String? {
        guard let instant = Instant(date) else { return nil }
        let (day, second) = instant.seconds.quotientAndRemainder(flooredBy: 86_400)
        let civil = CivilDay(daysSince1970: day)
        guard (-999_999...999_999).contains(civil.year) else { return nil }
        return "\(year(civil.year))-\(two(civil.month))-\(two(civil.day))T"
            + "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))\(fraction(instant.microseconds))Z"
    }

    private static func year(_ year: Int64) -> String {
        if (0...9999).contains(year) { return digits(year, count: 4) }
        return (year < 0 ? "-" : "+") + digits(abs(year), count: 6)
    }

    private static func fraction(_ microseconds: Int64) -> String {
        if microseconds == 0 { return "" }
        let isWhole = microseconds % 1000 == 0
        return "." + (isWhole ? digits(microseconds / 1000, count: 3) : digits(microseconds, count: 6))
    }

    private static func two(_ number: Int64) -> String { digits(number, count: 2) }

    private static func digits(_ number: Int64, count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}

extension InternetTime {
    /// A date as whole seconds since 1970 and microseconds.
    package struct Instant {
        package let seconds: Int64
        /// The microseconds after the second: 0 to 999,999. Only milliseconds if a double at this date holds no more.
        package let microseconds: Int64

        /// Creates the instant; `nil` for a date that is not finite, or millions of years away.
        package init?(_ date: Date) {
            let interval = date.timeIntervalSinceReferenceDate
            guard interval.magnitude < 1e14 else { return nil }
            let whole = interval.rounded(.down)
            let fraction = interval - whole
            let milliseconds = (fraction * 1000).rounded()
            // A date made from seconds since 1970 has the precision of that larger number.
            let precision = max(interval.ulp, date.timeIntervalSince1970.ulp)
            let isWhole = precision > 5e-7 || abs(fraction - milliseconds / 1000) <= precision
            let rounded = Int64(isWhole ? milliseconds * 1000 : (fraction * 1_000_000).rounded())
            seconds = Int64(whole) + Int64(Date.timeIntervalBetween1970AndReferenceDate) + rounded / 1_000_000
            microseconds = rounded % 1_000_000
        }
    }
}

extension Int64 {
    /// Returns the quotient, rounded down, and the remainder, which is not negative.
    func quotientAndRemainder(flooredBy divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
