import Foundation
import Testing

@testable import Diamond

@Suite("The date of a cookie") struct CookieDateTests {
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "06 nov 94 8:49:37", "1994 NOVEMBER 6 08:49:37.5 UTC", "08:49:37 Nov 6 1994 +0100", "6th Nov 1994 08:49:37",
    ]) func `is parsed in any usual form`(text: String) {
        #expect(CookieDate.date(text) == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test(arguments: [("70", 1970), ("99", 1999), ("00", 2000), ("69", 2069), ("1601", 1601), ("2030", 2030)])
    func `has two-digit years from 1970 on`(text: String, year: Int) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let date = CookieDate.date("01 Jan \(text) 00:00:00")
        #expect(date == calendar.date(from: DateComponents(year: year, month: 1, day: 1)))
    }

    @Test(arguments: [
        "", "0", "tomorrow", "Sun, 06 Nov 1994", "06 Nov 08:49:37", "Nov 1994 08:49:37", "06 1994 08:49:37",
        "32 Nov 1994 08:49:37", "31 Nov 1994 08:49:37", "00 Nov 1994 08:49:37", "06 Nov 1600 08:49:37",
        "06 Nov 1994 24:00:00", "06 Nov 1994 08:60:00", "06 Nov 1994 08:49:60", "06 Nov 1994 008:49:37",
        "29 Feb 2023 00:00:00", "29 Feb 1900 00:00:00", "06 Nov 11994 08:49:37",
    ]) func `an invalid cookie date is nil`(text: String) {
        #expect(CookieDate.date(text) == nil)
    }

    @Test(arguments: ["29 Feb 2024 00:00:00", "29 Feb 2000 00:00:00"]) func `observes leap years`(
        text: String
    ) {
        #expect(CookieDate.date(text) != nil)
    }
}
