import HTTPTypes
import Testing

@testable import Diamond

@Suite struct `The freshness of a response` {
    static let now: Int64 = 784_111_777_000  // Sun, 06 Nov 1994 08:49:37 GMT
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(
        arguments: [
            ([.cacheControl: "max-age=60"], 60_000), ([.cacheControl: "Max-Age=\"60\""], 60_000),
            ([.cacheControl: "public, max-age = 60"], 60_000), ([.cacheControl: "max-age=60, max-age=10"], 60_000),
            ([.cacheControl: " MAX-AGE\t=\t60 ,"], 60_000), ([.cacheControl: "max-age"], 0),
            ([.cacheControl: #"ext="a\", max-age=5", max-age=60"#], 60_000), ([.cacheControl: "x-max-age=60"], nil),
            ([.cacheControl: "max-age=x"], 0), ([.cacheControl: "max-age=-5"], 0), ([.cacheControl: "max-age=1.5"], 0),
            ([.cacheControl: "max-age=99999999999999999999"], 2_147_483_648_000),
            ([.cacheControl: "private=\"a, max-age=5\", max-age=60"], 60_000),
            ([.expires: "Sun, 06 Nov 1994 08:50:37 GMT", .date: date], 60_000),
            ([.expires: "Sun, 06 Nov 1994 08:50:37 GMT"], 60_000), ([.expires: "0", .date: date], 0),
            ([.expires: "Sun, 06 Nov 1994 08:40:00 GMT", .date: date], 0),
            ([.cacheControl: "max-age=5", .expires: "Sun, 06 Nov 1994 08:50:37 GMT", .date: date], 5000),
            ([:], nil), ([.cacheControl: "public"], nil),
            (
                [.expires: "Sun, 06 Nov 1994 08:50:37 GMT", .expires: "Sun, 06 Nov 1994 08:50:37 GMT", .date: date],
                60_000
            ),
            ([.expires: "Sun, 06 Nov 1994 08:50:37 GMT", .expires: "Sun, 06 Nov 1994 08:51:37 GMT", .date: date], 0),
            ([.expires: "Sun, 06 Nov 1994 08:50:37 GMT", .expires: "0", .date: date], 0),
            ([.expires: "Sun, 06 Nov 1994 08:50:37 GMT", .date: date, .date: date], 60_000),
        ] as [(HTTPFields, Int64?)]) func `lasts as long as the server says`(headers: HTTPFields, lifetime: Int64?)
    {
        #expect(freshness(headers).lifetime == lifetime)
    }

    @Test(
        arguments: [
            ([:], 0, 0), ([.age: "10"], 0, 10_000), ([.age: "10"], 2000, 12_000), ([.age: "x"], 0, 0),
            ([.age: "70, 5"], 0, 70_000), ([.age: "70,\u{301}"], 0, 70_000),
            ([.age: "70", .age: "5"], 0, 70_000), ([.age: "70", .age: "70"], 0, 70_000),
            ([.date: "Sun, 06 Nov 1994 08:49:07 GMT", .date: "Sun, 06 Nov 1994 08:49:08 GMT"], 0, 0),
            ([.date: "Sun, 06 Nov 1994 08:49:07 GMT"], 0, 30_000),
            ([.date: "Sun, 06 Nov 1994 08:49:07 GMT", .age: "50"], 0, 50_000),
            ([.date: "Sun, 06 Nov 1994 09:49:07 GMT"], 0, 0), ([:], 1500, 1500),
        ] as [(HTTPFields, Int64, Int64)])
    func `counts the age a response arrives with`(headers: HTTPFields, duration: Int64, age: Int64) {
        #expect(freshness(headers, after: duration).initialAge == age)
    }

    private func freshness(_ headers: HTTPFields, after duration: Int64 = 0) -> Freshness {
        Freshness(headers: headers, CacheControl(headers), sentAt: Self.now - duration, receivedAt: Self.now)
    }
}
