import Foundation

/// A reader for one date of RFC 3339.
struct InternetTimeReader {
    let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func readDate() -> Date? {
        guard let day = readDay(), consume("T", or: "t"), let time = readTime(), let offset = readOffset(),
            position == bytes.count
        else { return nil }
        let seconds = day.daysSince1970 * 86_400 + time.seconds - offset
        // Leap seconds are the last ones of a month in UTC.
        if time.isLeap, seconds % 86_400 != 0 || CivilDay(daysSince1970: seconds / 86_400).day != 1 { return nil }
        return Date(timeIntervalSince1970: Double(seconds) + time.fraction)
    }

    private mutating func readDay() -> CivilDay? {
        guard let year = readYear(), consume("-"), let month = readNumber(2), consume("-"), let day = readNumber(2)
        else {
            return nil
        }
        return CivilDay(year: year, month: month, day: day)
    }

    private mutating func readYear() -> Int64? {
        if consume("+") { return readNumber(6) }
        if consume("-") { return readNumber(6).map { -$0 } }
        return readNumber(4)
    }

    private struct Time {
        let seconds: Int64
        let fraction: Double
        let isLeap: Bool
    }

    private mutating func readTime() -> Time? {
        guard let hour = readNumber(2), hour < 24, consume(":"), let minute = readNumber(2), minute < 60, consume(":"),
            let second = readNumber(2), second <= 60, let fraction = readFraction()
        else { return nil }
        return Time(seconds: hour * 3600 + minute * 60 + second, fraction: fraction, isLeap: second == 60)
    }

    /// Reads a fraction of a second; zero if there is none.
    private mutating func readFraction() -> Double? {
        guard consume(".") else { return 0 }
        let digits = bytes[position...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        position = digits.endIndex
        return digits.isEmpty ? nil : Double("0." + String(decoding: digits, as: UTF8.self))
    }

    /// Reads the offset from UTC in seconds.
    private mutating func readOffset() -> Int64? {
        if consume("Z", or: "z") { return 0 }
        let isNegative = consume("-")
        guard isNegative || consume("+"), let hours = readNumber(2), hours < 24 else { return nil }
        let hasColon = consume(":")
        guard let minutes = hasColon || position < bytes.count ? readNumber(2) : 0, minutes < 60 else { return nil }
        let offset = hours * 3600 + minutes * 60
        return isNegative ? -offset : offset
    }

    /// Reads a number with an exact count of digits.
    private mutating func readNumber(_ count: Int) -> Int64? {
        guard position + count <= bytes.count else { return nil }
        let digits = bytes[position..<position + count]
        position += count
        return Int64(digits: String(decoding: digits, as: UTF8.self))
    }

    private mutating func consume(_ character: Unicode.Scalar, or other: Unicode.Scalar? = nil) -> Bool {
        guard position < bytes.count else { return false }
        let scalar = Unicode.Scalar(bytes[position])
        guard scalar == character || scalar == other else { return false }
        position += 1
        return true
    }
}
