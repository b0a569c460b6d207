import HTTPTypes
import Testing

@testable import Diamond

private let earlier = "Sun, 06 Nov 1994 08:49:36 GMT"
private let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
private let later = "Sun, 06 Nov 1994 09:49:37 GMT"

@Suite("RFC 9111 section 4.3.2, a request with conditions of its own") struct RequestConditionsTests {
    private let stored: HTTPFields = [.eTag: "\"a\"", .lastModified: modified, .date: later]

    private func form(
        _ headers: HTTPFields,
        status: Int = 200,
        of stored: HTTPFields? = nil,
        method: HTTPRequest.Method = .get
    ) -> RequestConditions.Form? {
        RequestConditions(headers, method: method)?.form(
            ofStored: status, stored ?? self.stored, length: 10, now: 1_700_000_000_000)
    }

    @Test(
        arguments: [
            ("\"a\"", .notModified), ("W/\"a\"", .notModified), ("\"b\"", .whole), ("\"b\", \"a\"", .notModified),
            ("*", .notModified), ("\"b,\"a\"", .whole), ("\"b\",W/\"a\"", .notModified), ("", .whole), ("a", .whole),
        ] as [(String, RequestConditions.Form)])
    func `If-None-Match is evaluated by weak comparison`(value: String, form: RequestConditions.Form) {
        #expect(self.form([.ifNoneMatch: value]) == form)
    }

    @Test func `an entity tag may contain a comma, and If-None-Match may be repeated`() {
        #expect(form([.ifNoneMatch: "\"x,y\""], of: [.eTag: "\"x,y\""]) == .notModified)
        var headers: HTTPFields = [.ifNoneMatch: "\"b\""]
        headers.append(HTTPField(name: .ifNoneMatch, value: "\"a\""))
        #expect(form(headers) == .notModified)
    }

    @Test(
        arguments: [(earlier, .whole), (modified, .notModified), (later, .notModified), ("yesterday", .whole)]
            as [(String, RequestConditions.Form)])
    func `If-Modified-Since is compared with Last-Modified`(value: String, form: RequestConditions.Form) {
        #expect(self.form([.ifModifiedSince: value]) == form)
    }

    @Test func `If-Modified-Since is compared with Date where there is no Last-Modified`() {
        #expect(form([.ifModifiedSince: modified], of: [.date: later]) == .whole)
        #expect(form([.ifModifiedSince: later], of: [.date: later]) == .notModified)
        #expect(form([.ifModifiedSince: later], of: [:]) == .whole)
    }

    @Test func `If-Modified-Since is compared with the time of arrival where there is no Date either`() throws {
        let time = try #require(HTTPDate.time(of: modified, now: 0))
        let conditions = try #require(RequestConditions([.ifModifiedSince: modified], method: .get))
        for (headers, receivedAt, form) in [
            ([:], time, .notModified), ([:], time + 1000, .whole), ([.lastModified: "x"], time, .whole),
            ([.date: "today"], time, .notModified), ([.date: "today"], time + 1000, .whole),
        ] as [(HTTPFields, WallTime, RequestConditions.Form)] {
            #expect(conditions.form(ofStored: 200, headers, length: 1, receivedAt: receivedAt, now: time) == form)
        }
    }

    @Test func `If-None-Match takes precedence over If-Modified-Since`() {
        #expect(form([.ifNoneMatch: "\"b\"", .ifModifiedSince: later]) == .whole)
        #expect(form([.ifNoneMatch: "\"a\"", .ifModifiedSince: earlier]) == .notModified)
    }

    @Test func `only the origin server evaluates If-Match and If-Unmodified-Since`() {
        #expect(form([.ifMatch: "\"a\"", .range: "bytes=0-1"]) == nil)
        #expect(form([.ifUnmodifiedSince: later, .ifNoneMatch: "\"a\""]) == nil)
        #expect(RequestConditions.isForOrigin([.ifMatch: "*"]))
        #expect(RequestConditions.isForOrigin([.ifUnmodifiedSince: later]))
        #expect(!RequestConditions.isForOrigin([.ifNoneMatch: "*"]))
    }

    @Test(arguments: [203, 206, 301, 404, 500])
    func `a stored status other than 200 is served as it is`(status: Int) {
        #expect(form([.ifNoneMatch: "\"a\"", .range: "bytes=0-1"], status: status) == .whole)
    }

    @Test func `If-Range without Range, and Range of HEAD, are no conditions`() {
        #expect(form([:]) == nil)
        #expect(form([.ifRange: "\"a\""]) == nil)
        #expect(form([.range: "bytes=0-1"], method: .head) == nil)
    }

    @Test(
        arguments: [
            ("bytes=0-4", nil, .partial(0..<5)), ("bytes=-3", nil, .partial(7..<10)),
            ("bytes=10-", nil, .unsatisfiable),
            ("bytes=0-1,3-4", nil, .whole), ("bytes=0-4", "\"a\"", .partial(0..<5)), ("bytes=0-4", "\"b\"", .whole),
            ("bytes=0-4", "W/\"a\"", .whole), ("bytes=0-4", modified, .partial(0..<5)), ("bytes=0-4", later, .whole),
            ("bytes=10-", "\"b\"", .whole),
        ] as [(String, String?, RequestConditions.Form)])
    func `a range is served where If-Range names the stored representation`(
        range: String, ifRange: String?, form: RequestConditions.Form
    ) {
        var headers: HTTPFields = [.range: range]
        headers[.ifRange] = ifRange
        #expect(self.form(headers) == form)
    }

    @Test func `a weak entity tag and a Last-Modified within a minute of Date do not validate a range`() {
        #expect(form([.range: "bytes=0-1", .ifRange: "W/\"a\""], of: [.eTag: "W/\"a\""]) == .whole)
        let recent: HTTPFields = [.lastModified: modified, .date: modified]
        #expect(form([.range: "bytes=0-1", .ifRange: modified], of: recent) == .whole)
    }

    @Test func `If-None-Match is evaluated before Range`() {
        #expect(form([.ifNoneMatch: "\"a\"", .range: "bytes=0-1"]) == .notModified)
        #expect(form([.ifNoneMatch: "\"b\"", .range: "bytes=0-1"]) == .partial(0..<2))
    }

    @Test func `a 304 has the fields that update the caller's copy`() {
        var headers = stored
        headers[.contentType] = "text/plain"
        headers[.cacheControl] = "max-age=60"
        headers[.vary] = "Accept"
        #expect(
            headers.ofNotModified.map(\.name).sorted { $0.canonicalName < $1.canonicalName }
                == [.cacheControl, .date, .eTag, .vary])
        headers[.eTag] = nil
        #expect(headers.ofNotModified[.lastModified] == modified)
    }
}
