import HTTPTypes
import Testing

@testable import Diamond

@Suite("The Retry-After field") struct RetryAfterTests {
    static let now: WallTime = 1_767_225_600_000  // 2026-01-01
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// The field, the `Date` field, and the milliseconds.
    static let table: [(String, String?, Int64?)] = [
        ("0", nil, 0), ("1", nil, 1000), ("120", nil, 120_000), ("007", nil, 7000),
        ("99999999999999999999999", nil, Duration.longest), ("-1", nil, nil), ("+1", nil, nil), ("1.5", nil, nil),
        ("1e3", nil, nil), ("1 s", nil, nil), ("", nil, nil), ("soon", nil, nil), ("٣", nil, nil),
        (date, date, 0), ("Sun, 06 Nov 1994 08:50:37 GMT", date, 60_000),
        ("Sun, 06 Nov 1994 08:49:36 GMT", date, nil), (date, nil, nil),
        ("Thu, 01 Jan 2026 00:00:05 GMT", nil, 5000), ("Thu, 01 Jan 2026 00:00:05 GMT", "nonsense", 5000),
        ("Thu, 01 Jan 2026 00:00:05 GMT", "Thu, 01 Jan 2026 00:00:03 GMT", 2000),
        ("Thu, 01 Jan 2026 00:00:05 CET", nil, nil),
    ]

    @Test(arguments: table) func `is read in both forms`(text: String, date: String?, milliseconds: Int64?) {
        var headers: HTTPFields = [.retryAfter: text]
        headers[.date] = date
        #expect(RetryAfter.duration(headers, now: Self.now) == milliseconds.map { .milliseconds($0) })
    }

    @Test func `Retry-After as a date is relative to the server's Date field`() {
        let headers: HTTPFields = [.retryAfter: "Sun, 06 Nov 1994 08:49:40 GMT", .date: Self.date]
        for skew in [-86_400_000, 0, 86_400_000] as [Int64] {
            #expect(RetryAfter.duration(headers, now: Self.now + skew) == .seconds(3))
        }
    }

    @Test func `is nil without the field`() {
        #expect(RetryAfter.duration([.date: Self.date], now: Self.now) == nil)
    }

    @Test func `is read from the first of two fields`() {
        var headers: HTTPFields = [.retryAfter: "2"]
        headers.append(HTTPField(name: .retryAfter, value: "9"))
        #expect(RetryAfter.duration(headers, now: Self.now) == .seconds(2))
    }
}
