import HTTPTypes
import Testing

@testable import Diamond

private let now: WallTime = 784_111_777_000  // Sun, 06 Nov 1994 08:49:37 GMT
private let date = "Sun, 06 Nov 1994 08:49:37 GMT"

private func freshness(
    _ headers: HTTPFields,
    status: Int = 200,
    kind: CacheKind = .private,
    after duration: Int64 = 0
) -> Freshness {
    Freshness(
        headers: headers, CacheControl(headers), status: status, kind: kind, sentAt: now - duration, receivedAt: now)
}

@Suite("RFC 9111 section 4.2.1") struct FreshnessTests {
    @Test(
        arguments: [
            ([.cacheControl: "max-age=60"], 60_000), ([.cacheControl: "max-age=60, max-age=10"], 60_000),
            ([.cacheControl: "max-age=x"], 0), ([.cacheControl: "max-age=x", .expires: minute], 0),
            ([.cacheControl: "max-age=5", .expires: minute, .date: date], 5000),
            ([:], nil), ([.cacheControl: "public"], nil), ([.cacheControl: "s-maxage=60"], nil),
            ([.cacheControl: "s-maxage=60, max-age=5"], 5000),
            ([.expires: minute, .expires: minute, .date: date], 60_000),
            ([.expires: minute, .expires: "Sun, 06 Nov 1994 08:51:37 GMT", .date: date], 0),
            ([.expires: minute, .expires: "0", .date: date], 0),
        ] as [(HTTPFields, Int64?)])
    func `the lifetime is that of max-age, or else of Expires`(headers: HTTPFields, lifetime: Int64?) {
        #expect(freshness(headers).lifetime == lifetime)
        #expect(!freshness(headers).isHeuristic)
    }

    @Test(
        arguments: [
            ([.cacheControl: "s-maxage=60, max-age=5"], 60_000),
            ([.cacheControl: "s-maxage=60", .expires: "0"], 60_000),
            ([.cacheControl: "s-maxage=x, max-age=5"], 0), ([.cacheControl: "max-age=5"], 5000),
        ] as [(HTTPFields, Int64?)])
    func `s-maxage comes first in a shared cache`(headers: HTTPFields, lifetime: Int64?) {
        #expect(freshness(headers, kind: .shared).lifetime == lifetime)
    }

    private static let minute = "Sun, 06 Nov 1994 08:50:37 GMT"
}

@Suite("RFC 9111 section 4.2.2") struct HeuristicFreshnessTests {
    private static let hundredSeconds = "Sun, 06 Nov 1994 08:47:57 GMT"

    @Test(
        arguments: [
            (200, [.lastModified: hundredSeconds], 10_000), (404, [.lastModified: hundredSeconds], 10_000),
            (200, [.lastModified: hundredSeconds, .date: date], 10_000),
            (200, [.lastModified: hundredSeconds, .cacheControl: "no-transform"], 10_000),
            (302, [.lastModified: hundredSeconds], nil), (500, [.lastModified: hundredSeconds], nil),
            (302, [.lastModified: hundredSeconds, .cacheControl: "public"], 10_000),
            (200, [.lastModified: "Tue, 15 Nov 1904 08:12:31 GMT"], 86_400_000), (200, [.lastModified: date], 0),
            (200, [.lastModified: "Sun, 06 Nov 1994 08:49:38 GMT"], nil), (200, [.lastModified: "yesterday"], nil),
            (200, [.lastModified: hundredSeconds, .lastModified: date], nil),
            (200, [.lastModified: hundredSeconds, .date: "today"], 10_000),
            (200, [.lastModified: "Sun, 06 Nov 1994 08:47:57 UTC"], nil),
        ] as [(Int, HTTPFields, Int64?)])
    func `the heuristic lifetime is a tenth of the time since Last-Modified, and at most a day`(
        status: Int, headers: HTTPFields, lifetime: Int64?
    ) {
        let freshness = freshness(headers, status: status)
        #expect(freshness.lifetime == lifetime && freshness.isHeuristic == (lifetime != nil))
    }

    @Test(arguments: [[.cacheControl: "max-age=0"], [.expires: "0"], [.cacheControl: "max-age=x"]] as [HTTPFields])
    func `no heuristic replaces an explicit lifetime`(headers: HTTPFields) {
        let freshness = freshness(headers + [.lastModified: Self.hundredSeconds])
        #expect(freshness.lifetime == 0 && !freshness.isHeuristic)
    }

    @Test func `the app's lifetime replaces a heuristic one, except for error statuses`() {
        let heuristic = StoredResponse.stub(lifetime: 10_000, flags: .heuristic)
        #expect(heuristic.isFresh(at: 9000, maxAge: nil) && !heuristic.isFresh(at: 10_000, maxAge: nil))
        #expect(heuristic.isFresh(at: 20_000, maxAge: 30_000) && !heuristic.isFresh(at: 5000, maxAge: 2000))
        let explicit = StoredResponse.stub(lifetime: 10_000)
        #expect(explicit.isFresh(at: 9000, maxAge: 2000) && !explicit.isFresh(at: 20_000, maxAge: 30_000))
        var error = heuristic
        error.status = 404
        #expect(error.isFresh(at: 9000, maxAge: 2000) && !error.isFresh(at: 20_000, maxAge: 30_000))
    }
}

@Suite("RFC 9111 section 4.2.3") struct AgeCalculationTests {
    @Test(
        arguments: [
            ([:], 0, 0), ([:], 1500, 1500), ([.age: "10"], 0, 10_000), ([.age: "10"], 2000, 12_000),
            ([.date: "Sun, 06 Nov 1994 08:49:07 GMT"], 0, 30_000),
            ([.date: "Sun, 06 Nov 1994 08:49:07 GMT", .age: "50"], 0, 50_000),
            ([.date: "Sun, 06 Nov 1994 08:49:07 GMT", .age: "20"], 0, 30_000),
            ([.date: "Sun, 06 Nov 1994 09:49:07 GMT"], 0, 0), ([.date: "today"], 0, 0),
            ([.date: "Sun, 06 Nov 1994 08:49:07 GMT", .date: "Sun, 06 Nov 1994 08:49:08 GMT"], 0, 0),
        ] as [(HTTPFields, Int64, Int64)])
    func `the age on arrival is the larger of apparent and corrected age`(
        headers: HTTPFields, duration: Int64, age: Int64
    ) {
        #expect(freshness(headers, after: duration).initialAge == age)
    }
}

@Suite("RFC 9111 section 5.1") struct AgeFieldTests {
    @Test(
        arguments: [
            ([.age: "70, 5"], 70_000), ([.age: "70,\u{301}"], 70_000), ([.age: ", 70"], 70_000),
            ([.age: "70", .age: "5"], 70_000), ([.age: "70", .age: "70"], 70_000), ([.age: "x"], 0), ([.age: "-5"], 0),
            ([.age: "7.5"], 0), ([.age: "\"70\""], 0), ([.age: "7 0"], 0), ([.age: ""], 0), ([.age: "x, 70"], 0),
            ([.age: "99999999999999999999"], (1 << 31) * 1000),
        ] as [(HTTPFields, Int64)])
    func `the first member of Age is used, and an invalid member is ignored`(headers: HTTPFields, age: Int64) {
        #expect(freshness(headers).initialAge == age)
    }
}

@Suite("RFC 9111 section 5.3") struct ExpiresTests {
    @Test(
        arguments: [
            ([.expires: "Sun, 06 Nov 1994 08:50:37 GMT", .date: date], 60_000),
            ([.expires: "Sun, 06 Nov 1994 08:50:37 GMT"], 60_000),
            ([.expires: "Sunday, 06-nov-94 08:50:37 gmt", .date: date], 60_000),
            ([.expires: "Sunday, 06-nov-94 08:50:37 utc", .date: date], 0),
            ([.expires: "Sun Nov  6 08:50:37 1994", .date: date], 60_000), ([.expires: "0", .date: date], 0),
            ([.expires: "Sun, 06 Nov 1994 08:40:00 GMT", .date: date], 0), ([.expires: "", .date: date], 0),
            ([.expires: "Sun, 06 Nov 1994 08:50:37 CET", .date: date], 0), ([.expires: "60", .date: date], 0),
            ([.expires: "Sun, 06 Nov 1994 08:50:37 GMT", .date: "today"], 60_000),
            ([.expires: "Sun, 06 Nov 1994 08:50:37 GMT", .date: "Sun, 06 Nov 1994 08:40:37 UTC"], 60_000),
            ([.expires: "Sun, 06 Nov 1994 08:50:37 GMT", .date: date, .date: "today"], 60_000),
            ([.expires: "Sun, 06 Nov 1994 08:50:37 GMT", .date: date, .date: date], 60_000),
        ] as [(HTTPFields, Int64)])
    func `the lifetime is Expires minus Date or the time of receipt, and 0 if Expires is malformed`(
        headers: HTTPFields, lifetime: Int64
    ) {
        #expect(freshness(headers).lifetime == lifetime)
    }
}

extension HTTPFields {
    fileprivate static func + (left: HTTPFields, right: HTTPFields) -> HTTPFields { HTTPFields(Array(left) + right) }
}
