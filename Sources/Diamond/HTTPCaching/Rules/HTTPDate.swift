/// Dates of HTTP (RFC 9110 section 5.6.7).
package enum HTTPDate {
    private static let monthNames: [StaticString] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    private static let dayNames: [StaticString] = ["thu", "fri", "sat", "sun", "mon", "tue", "wed"]
    private static let longDayNames: [StaticString] = [
        "thursday", "friday", "saturday", "sunday", "monday", "tuesday", "wednesday",
    ]

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    /// Returns the time of a date in one of the three forms; `nil` for any other text.
    ///
    /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`. Names of days,
    /// months and the zone are read without case. A zone other than `GMT` is invalid (RFC 9111 section 4.2). A year of
    /// two digits that would be more than 50 years after `now` is in the past.
    package static func time(of text: String, now: WallTime) -> WallTime? {
        text.withBytes { fixedForm($0) ?? longForm($0, now: now) ?? shortForm($0) }
    }

    /// Reads the form that must be sent, which almost all dates have: `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func fixedForm(_ text: Span<UInt8>) -> WallTime? {
        guard text.count == 29, text.place(0..<3, among: dayNames) != nil, text[3] == UInt8(ascii: ","),
            text.hasSpaces(4, 7, 11, 16, 25), text.isZone(26..<29), let day = text.number(5..<7),
            let month = text.place(8..<11, among: monthNames), let year = text.number(12..<16),
            let second = text.secondOfDay(at: 17)
        else { return nil }
        return time(year: year, month: month + 1, day: day, second: second)
    }

    /// Reads the form of RFC 850: `Sunday, 06-Nov-94 08:49:37 GMT`.
    private static func longForm(_ text: Span<UInt8>, now: WallTime) -> WallTime? {
        guard let comma = text.firstIndex(of: UInt8(ascii: ","), in: text.indices), text.count == comma + 24,
            text.place(0..<comma, among: longDayNames) != nil
        else { return nil }
        let rest = text.extracting(comma...)
        guard rest.hasSpaces(1, 11, 20), rest[4] == UInt8(ascii: "-"), rest[8] == UInt8(ascii: "-"),
            rest.isZone(21..<24), let day = rest.number(2..<4), let month = rest.place(5..<8, among: monthNames),
            let year = rest.number(9..<11), let second = rest.secondOfDay(at: 12)
        else { return nil }
        return time(year: fullYear(year, now: now), month: month + 1, day: day, second: second)
    }

    /// Reads the form of C's `asctime`: `Sun Nov  6 08:49:37 1994`.
    private static func shortForm(_ text: Span<UInt8>) -> WallTime? {
        guard text.count == 24, text.place(0..<3, among: dayNames) != nil, text.hasSpaces(3, 7, 10, 19),
            let month = text.place(4..<7, among: monthNames), let day = text.number((text[8] == 0x20 ? 9 : 8)..<10),
            let second = text.secondOfDay(at: 11), let year = text.number(20..<24)
        else { return nil }
        return time(year: year, month: month + 1, day: day, second: second)
    }

    /// - Parameter second: the second of the day.
    /// - Returns: `nil` for a day that the month does not have.
    private static func time(year: Int64, month: Int, day: Int64, second: Int64) -> WallTime? {
        let days = daysSince1970(year: year, month: Int64(month), day: day)
        guard civil(days).day == day else { return nil }
        return WallTime(rawValue: (days * 86400 + second) * 1000)
    }

    /// Returns a date in the form that must be sent: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func text(of time: WallTime) -> String {
        let seconds = time.rawValue.flooredQuotient(1000)
        let day = seconds.flooredQuotient(86400)
        let (year, month, dayOfMonth) = civil(day)
        let second = seconds - day * 86400
        let clock = [second / 3600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
        let weekday = days[Int(((day % 7) + 7) % 7)]
        return "\(weekday), \(padded(dayOfMonth, 2)) \(months[Int(month) - 1]) \(padded(year, 4)) \(clock) GMT"
    }

    private static func fullYear(_ year: Int64, now: WallTime) -> Int64 {
        let present = civil(now.rawValue.flooredQuotient(86_400_000)).year
        let candidate = present - present % 100 + year
        return candidate > present + 50 ? candidate - 100 : candidate
    }

    // Days of the proleptic Gregorian calendar, counted in years that begin in March, so that the leap day is the last.
    static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let era = shifted.flooredQuotient(400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = shifted.flooredQuotient(146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let march = (5 * dayOfYear + 2) / 153
        let month = march < 10 ? march + 3 : march - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * march + 2) / 5 + 1)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension Int64 {
    fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}

extension Span<UInt8> {
    /// Returns the number that the digits form; `nil` if there are other characters.
    fileprivate func number(_ range: Range<Int>) -> Int64? {
        var number: Int64 = 0
        for index in range {
            guard (0x30...0x39).contains(self[index]) else { return nil }
            number = number * 10 + Int64(self[index] - 0x30)
        }
        return number
    }

    /// Returns the seconds of a time such as `08:49:37`.
    fileprivate func secondOfDay(at start: Int) -> Int64? {
        guard self[start + 2] == UInt8(ascii: ":"), self[start + 5] == UInt8(ascii: ":"),
            let hour = number(start..<(start + 2)), hour < 24,
            let minute = number((start + 3)..<(start + 5)), minute < 60,
            let second = number((start + 6)..<(start + 8)), second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    @inline(__always)
    fileprivate func hasSpaces(_ indices: Int...) -> Bool { indices.allSatisfy { self[$0] == 0x20 } }

    fileprivate func place(_ range: Range<Int>, among words: [StaticString]) -> Int? {
        for index in words.indices where isEqual(range, to: words[index]) { return index }
        return nil
    }

    fileprivate func isZone(_ range: Range<Int>) -> Bool { isEqual(range, to: "gmt") }
}
