import Testing

@testable import Diamond

@Suite("A date of HTTP") struct HTTPDateTests {
    static let now: WallTime = 1_767_225_600_000  // 2026

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777_000),
            ("Sun Nov  6 08:49:37 1994", 784_111_777_000), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1000), ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000_000),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799_000),
            ("Saturday, 01-Jan-50 00:00:00 GMT", 2_524_608_000_000), ("Sun Nov 16 08:49:37 1994", 784_975_777_000),
            ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400_000),
        ] as [(String, WallTime)]) func `is read in all three forms`(text: String, time: WallTime)
    {
        #expect(HTTPDate.time(of: text, now: Self.now) == time)
    }

    // RFC 9111 section 4.2.
    @Test(arguments: [
        "sun, 06 nov 1994 08:49:37 gmt", "SUN, 06 NOV 1994 08:49:37 GMT", "sunday, 06-nov-94 08:49:37 gmt",
        "SUNDAY, 06-NOV-94 08:49:37 GMT", "sun nov  6 08:49:37 1994",
    ]) func `is read without regard to case`(text: String) {
        #expect(HTTPDate.time(of: text, now: Self.now) == 784_111_777_000)
    }

    @Test(arguments: [
        "", "0", "-1", "tomorrow", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sunday, 06-Nov-94 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 EST",
        "Sun, 06 Nov 1994 08:49:37 UT ", "Sun Nov  6 08:49:37 1994 UTC", "Sun, 06 Nov 1994 08:49:37 Z",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 199 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun,  06 Nov 1994 08:49:37 GMT",
        "06 Nov 1994 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
        "Thu, 30 Feb 2023 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 94", "Sun, 06 Nov 1994 8:49:37 GMT",
        " Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 08.49.37 GMT", "784111777",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:3: GMT", "Sun, 06 Nov 1994 08-49-37 GMT",
    ]) func `is nil for malformed text, and in another zone than GMT`(text: String) {
        #expect(HTTPDate.time(of: text, now: Self.now) == nil)
    }

    @Test(arguments: [0, 784_111_777_000, -1000, 951_782_400_000, 253_402_300_799_000] as [WallTime])
    func `is the same after writing and reading`(time: WallTime) {
        #expect(HTTPDate.time(of: HTTPDate.text(of: time), now: Self.now) == time)
    }

    @Test func `is written as an IMF-fixdate`() {
        #expect(HTTPDate.text(of: 784_111_777_000) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}
