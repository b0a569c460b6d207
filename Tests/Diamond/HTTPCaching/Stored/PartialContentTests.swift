import HTTPTypes
import Testing

@testable import Diamond

@Suite("A response whose transfer broke") struct PartialContentTests {
    static let whole: HTTPFields = [.contentLength: "10", .eTag: "\"a\""]
    static let dated: HTTPFields = [
        .contentLength: "10", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .date: "Sun, 06 Nov 1994 08:50:37 GMT",
    ]

    /// Returns ``whole`` with some fields changed; an empty value removes a field.
    private static func fields(_ changes: HTTPFields) -> HTTPFields {
        var fields = whole
        for change in changes { fields[change.name] = change.value.isEmpty ? nil : change.value }
        return fields
    }

    @Test(
        arguments: [
            (200, [:], true), (206, [:], false), (203, [:], false), (404, [:], false), (200, [.eTag: "W/\"a\""], false),
            (200, [.eTag: ""], false), (200, [.eTag: "a"], false), (200, [.eTag: "\"\""], true),
            (200, [.eTag: "\"a\", \"b\""], false), (200, [.contentLength: ""], false),
            (200, [.contentLength: "10, 10"], false), (200, [.contentLength: "+10"], false),
            (200, [.contentLength: "-1"], false), (200, [.acceptRanges: "none"], false),
            (200, [.acceptRanges: "bytes"], true), (200, [.contentEncoding: "gzip"], false),
            (200, [.contentEncoding: "Identity"], true),
            // With a weak entity tag, the date is not used either.
            (200, dated, true), (200, [.eTag: "W/\"a\""] + dated, false),
        ] as [(Int, HTTPFields, Bool)])
    func `can be resumed if it has a length and a strong validator`(
        status: Int, changes: HTTPFields, isContinuable: Bool
    ) {
        let headers = Self.fields(changes)
        #expect((PartialContent(status: status, headers: headers, now: 0) != nil) == isContinuable)
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:50:37 GMT", true), ("Sun, 06 Nov 1994 08:50:36 GMT", false),
            ("Sun, 06 Nov 1994 08:49:37 GMT", false), ("Sun, 06 Nov 1994 08:49:36 GMT", false), ("yesterday", false),
        ])
    func `has a strong validator if Last-Modified is at least a minute before Date`(date: String, isStrong: Bool) {
        var headers = Self.dated
        headers[.date] = date
        #expect((PartialContent(status: 200, headers: headers, now: 0) != nil) == isStrong)
        headers[.date] = nil
        #expect(PartialContent(status: 200, headers: headers, now: 0) == nil)
    }

    @Test(arguments: [(0, true), (10, true), (11, false)])
    func `cannot be resumed with more bytes than its Content-Length`(count: Int, isResumable: Bool) {
        let part = PartialContent(status: 200, headers: Self.whole, count: count, now: 0)
        #expect((part != nil) == isResumable)
        #expect(part?.received == (isResumable ? 0..<count : nil))
    }

    @Test func `reports the received bytes, and the number of missing bytes`() throws {
        var part = try #require(PartialContent(status: 200, headers: Self.whole, count: 4, now: 0))
        #expect((part.completeLength, part.missingCount) == (10, 6))
        part.append(count: 5)
        #expect((part.received, part.missingCount) == (0..<9, 1))
        part.append(count: 2)
        #expect((part.received, part.missingCount) == (0..<11, -1))
    }

    @Test(arguments: [(whole, "\"a\""), (dated, "Sun, 06 Nov 1994 08:49:37 GMT")])
    func `is resumed with Range and If-Range, uncoded and without other conditions`(
        headers: HTTPFields, validator: String
    ) throws {
        let part = try #require(PartialContent(status: 200, headers: headers, count: 5, now: 0))
        var asked: HTTPFields = [.accept: "*/*", .ifNoneMatch: "\"old\"", .ifModifiedSince: "yesterday"]
        part.askForRest(in: &asked)
        #expect(
            asked == [.accept: "*/*", .range: "bytes=5-", .ifRange: validator, .acceptEncoding: "identity"])
        var coded: HTTPFields = [.acceptEncoding: "br"]
        part.askForRest(in: &coded)
        #expect(coded[.acceptEncoding] == "br")
    }
}

extension HTTPFields {
    fileprivate static func + (left: HTTPFields, right: HTTPFields) -> HTTPFields { HTTPFields(Array(left) + right) }
}
