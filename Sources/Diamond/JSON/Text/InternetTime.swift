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
        guard let time = CivilTime(date) else { return nil }
        var bytes: [UInt8] = []
        bytes.append(atMost: maximumLength) { $0.write(time) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The maximum number of bytes of a text.
    static let maximumLength = 30

    /// A time of a day in UTC.
    struct CivilTime {
        fileprivate let day: CivilDay
        fileprivate let second: Int64
        fileprivate let microseconds: Int64

        /// Creates the time; `nil` if the date is not finite or has no such year.
        init?(_ date: Date) {
            guard let instant = Instant(date) else { return nil }
            let (days, second) = instant.seconds.quotientAndRemainder(flooredBy: 86_400)
            let day = CivilDay(daysSince1970: days)
            guard (-999_999...999_999).contains(day.year) else { return nil }
            self.day = day
            self.second = second
            microseconds = instant.microseconds
        }
    }
}

extension ByteWriter {
    /// Writes the text of a time, at most ``InternetTime/maximumLength`` bytes.
    mutating func write(_ time: InternetTime.CivilTime) {
        let year = time.day.year
        let isLong = !(0...9999).contains(year)
        if isLong { write(UInt8(ascii: year < 0 ? "-" : "+")) }
        write(year.magnitude, digits: isLong ? 6 : 4)
        write("-", before: time.day.month)
        write("-", before: time.day.day)
        write("T", before: time.second / 3600)
        write(":", before: time.second / 60 % 60)
        write(":", before: time.second % 60)
        writeFraction(time.microseconds)
        write(UInt8(ascii: "Z"))
    }

    private mutating func write(_ separator: Unicode.Scalar, before number: Int64) {
        write(UInt8(ascii: separator))
        write(number.magnitude, digits: 2)
    }

    private mutating func writeFraction(_ microseconds: Int64) {
        if microseconds == 0 { return }
        write(UInt8(ascii: "."))
        let isWhole = microseconds % 1000 == 0
        write((isWhole ? microseconds / 1000 : microseconds).magnitude, digits: isWhole ? 3 : 6)
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
