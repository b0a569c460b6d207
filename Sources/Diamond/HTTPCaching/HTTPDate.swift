/// Dates of HTTP (RFC 9110 section 5.6.7), as milliseconds since 1970.
package enum HTTPDate {
    private static let monthNames: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let months = monthNames.map(\.description)
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    /// Reads all three forms; `nil` for anything else.
    ///
    /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`. A year of two
    /// digits more than 50 years ahead of `now` is the past one.
    package static func milliseconds(of text: String, now: Int64) -> Int64? {
        text.withBytes(fixedForm) ?? anyForm(text, now: now)
    }

    /// The form that is to be sent, which almost all dates have: every part of it has its place.
    private static func fixedForm(_ text: Span<UInt8>) -> Int64? {
        guard text.count == 29, text.extracting(3...).begins(with: ", "), text[7] == 0x20, text[11] == 0x20,
            text[16] == 0x20, text[19] == 0x3A, text[22] == 0x3A, text.extracting(25...).begins(with: " GMT"),
            let day = text.number(5..<7), (1...31).contains(day),
            let month = monthNames.firstIndex(where: { text.extracting(8...).begins(with: $0) }),
            let year = text.number(12..<16), let hour = text.number(17..<19), hour < 24,
            let minute = text.number(20..<22), minute < 60, let second = text.number(23..<25), second <= 60
        else { return nil }
        let time = hour * 3600 + minute * 60 + second
        return (daysSince1970(year: year, month: Int64(month) + 1, day: day) * 86400 + time) * 1000
    }

    private static func anyForm(_ text: String, now: Int64) -> Int64? {
        let words = text.split(whereSeparator: { " ,-".contains($0) }).map(String.init)
        guard words.count >= 5 else { return nil }
        let isAsctime = words.count == 5
        let (day, month, year) = isAsctime ? (words[2], words[1], words[4]) : (words[1], words[2], words[3])
        guard isAsctime || (words.count == 6 && words[5] == "GMT"),
            let number = months.firstIndex(of: month), let day = Int64(day), (1...31).contains(day),
            let year = fullYear(year, now: now), let time = secondOfDay(words[isAsctime ? 3 : 4])
        else { return nil }
        return (daysSince1970(year: year, month: Int64(number) + 1, day: day) * 86400 + time) * 1000
    }

    /// Writes the one form that is to be sent, `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func text(of milliseconds: Int64) -> String {
        let seconds = milliseconds.flooredQuotient(1000)
        let day = seconds.flooredQuotient(86400)
        let (year, month, dayOfMonth) = civil(day)
        let second = seconds - day * 86400
        let clock = [second / 3600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
        let weekday = days[Int(((day % 7) + 7) % 7)]
        return "\(weekday), \(padded(dayOfMonth, 2)) \(months[Int(month) - 1]) \(padded(year, 4)) \(clock) GMT"
    }

    private static func fullYear(_ text: String, now: Int64) -> Int64? {
        guard let year = Int64(text), (0...9999).contains(year) else { return nil }
        guard text.count == 2 else { return text.count == 4 ? year : nil }
        let present = civil(now.flooredQuotient(86_400_000)).year
        let candidate = present - present % 100 + year
        return candidate > present + 50 ? candidate - 100 : candidate
    }

    private static func secondOfDay(_ text: String) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Int64($0) }
        guard parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2],
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        return hour * 3600 + minute * 60 + second
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
    /// Returns the number that digits write; `nil` where something else stands among them.
    fileprivate func number(_ range: Range<Int>) -> Int64? {
        var number: Int64 = 0
        for index in range {
            guard (0x30...0x39).contains(self[index]) else { return nil }
            number = number * 10 + Int64(self[index] - 0x30)
        }
        return number
    }
}
