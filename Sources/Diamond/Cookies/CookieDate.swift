import Foundation

/// A parser for the dates of cookies, which servers write in many formats (RFC 6265 section 5.1.1).
enum CookieDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    private static let days: [Int64] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

    /// Returns the date of a text; `nil` if it is not a date.
    static func date(_ text: String) -> Date? {
        var (time, day, month, year): (Int64?, Int64?, Int?, Int64?)
        for token in text.utf8.split(whereSeparator: isDelimiter).map({ String($0) ?? "" }) {
            if time == nil, let second = secondOfDay(token) {
                time = second
            } else if day == nil, let number = number(token, digits: 1...2) {
                day = number
            } else if month == nil, let number = months.firstIndex(of: token.prefix(3).lowercased()) {
                month = number
            } else if year == nil, let number = number(token, digits: 2...4) {
                year = fullYear(number)
            }
        }
        guard let time, let day, let month, let year, year >= 1601, (1...days[month]).contains(day),
            day < 29 || month != 1 || isLeap(year)
        else { return nil }
        let dayNumber = HTTPDate.daysSince1970(year: year, month: Int64(month) + 1, day: day)
        return Date(timeIntervalSince1970: Double(dayNumber * 86400 + time))
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }

    /// Returns the number at the start of a text.
    private static func number(_ text: some StringProtocol, digits: ClosedRange<Int>) -> Int64? {
        let number = text.prefix { ("0"..."9").contains($0) }
        return digits.contains(number.count) ? Int64(number) : nil
    }

    private static func secondOfDay(_ token: String) -> Int64? {
        let parts = token.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count <= 2, parts[1].count <= 2,
            let hour = Int64(parts[0]), let minute = Int64(parts[1]), let second = number(parts[2], digits: 1...2),
            (0...23).contains(hour), (0...59).contains(minute), second <= 59
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    private static func fullYear(_ year: Int64) -> Int64 {
        switch year {
        case 70...99: year + 1900
        case 0...69: year + 2000
        default: year
        }
    }

    private static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
}
