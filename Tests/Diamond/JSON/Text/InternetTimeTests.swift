import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("Dates of RFC 3339") struct InternetTimeTests {
    @Test func `each millisecond is written as it was set, and read as it was written`() {
        for base in [1_700_000_000, 0, -1, -62_167_219_200, 253_402_300_799] {
            for millisecond in 0..<1000 {
                let date = Date(timeIntervalSince1970: Double(base) + Double(millisecond) / 1000)
                let digits = String(String(1000 + millisecond).dropFirst())
                let text = InternetTime.text(date)
                #expect(text?.hasSuffix(".\(digits)Z") == (millisecond > 0), "\(base) \(millisecond): \(text ?? "")")
                #expect(text.flatMap(InternetTime.date) == date, "\(base) \(millisecond)")
            }
        }
    }

    @Test func `each microsecond of a text is written as it was read`() {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(2000, soaking: 100_000) {
            let microsecond = 1_000_000 + random.below(1_000_000)
            var digits = String(String(microsecond).dropFirst())
            if digits.hasSuffix("000") { digits.removeLast(3) }
            let text = "20\(10 + random.below(80))-03-0\(1 + random.below(9))T12:34:56.\(digits)Z"
            #expect(InternetTime.date(text).flatMap(InternetTime.text) == text, "seed \(Effort.seed)")
        }
    }

    @Test func `random dates of the years 0000 to 9999 are read as they are written`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(2000, soaking: 200_000) {
            let date = Date(timeIntervalSince1970: .random(in: -62_167_219_200..<253_402_300_800, using: &random))
            let text = try #require(InternetTime.text(date))
            let read = try #require(InternetTime.date(text))
            #expect(abs(read.timeIntervalSince(date)) <= 0.000_54, "seed \(Effort.seed): \(text)")
            #expect(InternetTime.text(read) == text, "seed \(Effort.seed): \(text)")
            #expect(try read == Self.inZone(text, &random), "seed \(Effort.seed): \(text)")
            let second = Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down))
            // Foundation's calendar has other days before 1583.
            guard second.timeIntervalSince1970 > -12_000_000_000 else { continue }
            #expect(InternetTime.text(second) == second.formatted(.iso8601), "seed \(Effort.seed)")
        }
    }

    /// Reads a text in another zone.
    private static func inZone(_ text: String, _ random: inout SplitMix) throws -> Date {
        let (hours, minutes) = (random.below(24), random.below(60))
        let sign = random.below(2) == 0 ? "+" : "-"
        let offset = "\(hours < 10 ? "0" : "")\(hours):\(minutes < 10 ? "0" : "")\(minutes)"
        let local = try #require(InternetTime.date(text.dropLast() + sign + offset))
        let seconds = Double(hours * 3600 + minutes * 60)
        let date = try #require(InternetTime.date(text))
        let moved = Date(timeIntervalSince1970: date.timeIntervalSince1970 - (sign == "+" ? seconds : -seconds))
        #expect(abs(local.timeIntervalSince(moved)) < 0.000_1)
        return date
    }

    @Test(
        arguments: [
            ("2024-02-29T23:59:59Z", 1_709_251_199), ("1970-01-01t00:00:00z", 0),
            ("0000-01-01T00:00:00Z", -62_167_219_200),
            ("9999-12-31T23:59:59Z", 253_402_300_799), ("1996-12-19T16:39:57-08:00", 851_042_397),
            ("1990-12-31T23:59:60Z", 662_688_000), ("1990-12-31T15:59:60-08:00", 662_688_000),
            ("1972-06-30T23:59:60Z", 78_796_800), ("2000-01-01T00:00:00-00:00", 946_684_800),
            ("2000-01-01T05:30:00+0530", 946_684_800), ("2000-01-01T02:00:00+02", 946_684_800),
            ("1937-01-01T12:00:27.87+00:20", -1_041_337_172.13), ("1985-04-12T23:20:50.52Z", 482_196_050.52),
            ("1969-12-31T23:59:59.5Z", -0.5), ("2000-01-01T00:00:00.1Z", 946_684_800.1),
            ("2000-01-01T00:00:00.123456789Z", 946_684_800.123456789), ("+002000-01-01T00:00:00Z", 946_684_800),
        ] as [(String, Double)])
    func `a date in each form of RFC 3339 is read`(text: String, seconds: Double) {
        #expect(InternetTime.date(text) == Date(timeIntervalSince1970: seconds))
    }

    @Test(arguments: [
        "2023-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2023-13-01T00:00:00Z",
        "2023-00-01T00:00:00Z", "2023-01-00T00:00:00Z", "2023-04-31T00:00:00Z", "2023-01-01T24:00:00Z",
        "2023-01-01T25:00:00Z", "2023-01-01T00:60:00Z", "2023-01-01T00:00:60Z", "2023-01-01T23:59:60Z",
        "1990-12-31T23:59:61Z", "2023-01-01T00:00:00", "2023-01-01T00:00:00Zx", "2023-01-01T00:00:00Z ",
        " 2023-01-01T00:00:00Z", "2023-01-01T00:00:00+24:00", "2023-01-01T00:00:00+01:60", "2023-01-01T00:00:00+1:00",
        "2023-01-01T00:00:00.Z", "2023-01-01T00:00:00,5Z", "2023-01-01 00:00:00Z", "2023-1-01T00:00:00Z",
        "2023-01-01T0:00:00Z", "23-01-01T00:00:00Z", "2023-01-01", "", "T", "2023-01-01T00:00Z",
        "+2023-01-01T00:00:00Z",
        "2023-01-01T00:00:00+", "2023-01-01T00:00:00+01:", "２０２３-01-01T00:00:00Z", "2023-01-01T00:00:00.-1Z",
    ]) func `a text that is no date is refused`(text: String) { #expect(InternetTime.date(text) == nil) }

    @Test func `a date with one wrong character is refused, or read as another`() throws {
        var random = SplitMix(state: Effort.seed)
        let text = "2024-02-29T23:59:59.123+01:30"
        for _ in 0..<Effort.rounds(2000, soaking: 100_000) {
            var bytes = Array(text.utf8)
            bytes[random.below(bytes.count)] = UInt8(random.below(128))
            let mutated = String(decoding: bytes, as: UTF8.self)
            guard let date = InternetTime.date(mutated) else { continue }
            // A text that is read has the fields of the date.
            let local = Date(timeIntervalSince1970: date.timeIntervalSince1970 + Self.offset(of: mutated))
            let again = try #require(InternetTime.text(local))
            #expect(again.prefix(19).uppercased() == mutated.prefix(19).uppercased(), "seed \(Effort.seed): \(mutated)")
        }
    }

    private static func offset(of text: String) -> Double {
        let zone = Array(text.utf8).suffix(6).map { Double($0) - 48 }
        let seconds = (zone[1] * 10 + zone[2]) * 3600 + (zone[4] * 10 + zone[5]) * 60
        return zone[0] + 48 == 43 ? seconds : -seconds
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300]) func `a date without a year has no text`(
        seconds: Double
    ) {
        #expect(InternetTime.text(Date(timeIntervalSince1970: seconds)) == nil)
    }

    @Test func `years of more digits have a sign, and are read again`() {
        for (seconds, text) in [
            (253_402_300_800.0, "+010000-01-01T00:00:00Z"), (-62_167_219_201, "-000001-12-31T23:59:59Z"),
        ] {
            let date = Date(timeIntervalSince1970: seconds)
            #expect(InternetTime.text(date) == text && InternetTime.date(text) == date)
        }
    }
}
