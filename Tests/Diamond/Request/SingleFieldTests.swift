import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A field that may occur once") struct SingleFieldTests {
    static let names: [HTTPField.Name] = [
        .contentType, .contentLength, .eTag, .lastModified, .date, .expires, .retryAfter, .location, .contentLocation,
        .contentRange,
    ]

    @Test(arguments: names) func `a repeated single field has a value if all values are equal, and no value otherwise`(
        name: HTTPField.Name
    ) {
        var headers: HTTPFields = [name: "a", .vary: "x"]
        #expect(headers.single(name) == "a" && !headers.isContradictory(name))
        headers.append(HTTPField(name: name, value: "a"))
        #expect(headers.single(name) == "a" && !headers.isContradictory(name))
        headers.append(HTTPField(name: name, value: "b"))
        #expect(headers.single(name) == nil && headers.isContradictory(name))
        #expect(HTTPFields().single(name) == nil && !HTTPFields().isContradictory(name))
        // The values are canonically equivalent, but have different bytes.
        headers = [name: "\u{E9}", name: "e\u{301}"]
        #expect(headers.isContradictory(name))
    }

    @Test func `fields are compared by their bytes, even if these are not UTF-8`() {
        let fields = [[0xE4], [0xE5]].map { HTTPFields([HTTPField(name: .eTag, lenientValue: $0 as [UInt8])]) }
        #expect(!fields[0].isExactly(fields[1]))
        let vary = HTTPField(name: .vary, value: "x")
        #expect(HTTPFields([vary] + fields[0]).isExactly(HTTPFields(fields[0] + [vary])))
    }

    @Test func `a repeated Content-Range needs equal values, and the first Retry-After is used`() throws {
        let same: HTTPFields = [
            .retryAfter: "7", .retryAfter: "7", .contentRange: "bytes 0-1/2", .contentRange: "bytes 0-1/2",
        ]
        let other: HTTPFields = [
            .retryAfter: "7", .retryAfter: "8", .contentRange: "bytes 0-1/2", .contentRange: "bytes 0-1/3",
        ]
        #expect(RetryAfter.duration(same, now: 0) == .seconds(7) && RetryAfter.duration(other, now: 0) == .seconds(7))
        #expect(ContentRange(same) == .bytes(0...1, length: 2) && ContentRange(other) == nil)
    }

    @Test(
        arguments: [
            ([.eTag: "\"a\"", .eTag: "\"a\"", .contentLength: "9", .contentLength: "9"], "\"a\""),
            ([.eTag: "\"a\"", .eTag: "\"b\"", .contentLength: "9"], nil),
            ([.eTag: "\"a\"", .contentLength: "9", .contentLength: "8"], nil),
            ([.eTag: "\"a\"", .contentLength: "9", .acceptRanges: "none", .acceptRanges: "none"], nil),
        ] as [(HTTPFields, String?)]) func `a repeated field identifies a partial response only with equal values`(
            headers: HTTPFields, tag: String?
        )
    {
        var asked = HTTPFields()
        PartialContent(status: 200, headers: headers, count: 1, now: 0)?.askForRest(in: &asked)
        #expect(asked[.ifRange] == tag)
    }

    @Test(arguments: [(["application/json", "application/json"], true), (["application/json", "text/html"], false)])
    func `a repeated Content-Type gives the type of a body only with equal values`(types: [String], isJSON: Bool) {
        let headers = HTTPFields(types.map { HTTPField(name: .contentType, value: $0) })
        #expect(MediaType(headers.single(.contentType)).isJSON == isJSON)
    }

    @Test(arguments: [
        ("application/problem+json", true), (" Application/Problem+JSON ; charset=utf-8", true),
        ("\tapplication/problem+json\t", true), ("application/problem+jsonx", false), ("application/problem", false),
        ("", false), (nil, false),
    ])
    func `a problem is recognized by its media type, in any case and with parameters`(type: String?, isProblem: Bool) {
        var headers = HTTPFields()
        headers[.contentType] = type
        #expect(ProblemDetails.isType(of: headers) == isProblem)
    }
}
