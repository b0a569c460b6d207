import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite struct `A field that may occur once` {
    static let names: [HTTPField.Name] = [
        .contentType, .contentLength, .eTag, .lastModified, .date, .expires, .retryAfter, .location, .contentLocation,
        .contentRange,
    ]

    @Test(arguments: names) func `a repeated single field is one where its values are equal, and none otherwise`(
        name: HTTPField.Name
    ) {
        var headers: HTTPFields = [name: "a", .vary: "x"]
        #expect(headers.single(name) == "a" && !headers.isContradictory(name))
        headers.append(HTTPField(name: name, value: "a"))
        #expect(headers.single(name) == "a" && !headers.isContradictory(name))
        headers.append(HTTPField(name: name, value: "b"))
        #expect(headers.single(name) == nil && headers.isContradictory(name))
        #expect(HTTPFields().single(name) == nil && !HTTPFields().isContradictory(name))
        // Equal to Unicode, and not to a server.
        headers = [name: "\u{E9}", name: "e\u{301}"]
        #expect(headers.isContradictory(name))
    }

    @Test func `fields are the same by their bytes, also those that are not UTF-8`() {
        let fields = [[0xE4], [0xE5]].map { HTTPFields([HTTPField(name: .eTag, lenientValue: $0 as [UInt8])]) }
        #expect(!fields[0].isExactly(fields[1]))
        let vary = HTTPField(name: .vary, value: "x")
        #expect(HTTPFields([vary] + fields[0]).isExactly(HTTPFields(fields[0] + [vary])))
    }

    @Test func `a single field is read in this way at every place`() throws {
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
        ] as [(HTTPFields, String?)]) func `a single field is a validator where its values are equal only`(
            headers: HTTPFields, tag: String?
        )
    {
        var asked = HTTPFields()
        PartialContent(status: 200, headers: headers, count: 1, now: 0)?.askForRest(in: &asked)
        #expect(asked[.ifRange] == tag)
    }

    @Test(arguments: [(["application/json", "application/json"], true), (["application/json", "text/html"], false)])
    func `a single field gives the type of a body where its values are equal`(types: [String], isJSON: Bool) {
        let headers = HTTPFields(types.map { HTTPField(name: .contentType, value: $0) })
        #expect(MediaType(headers.single(.contentType)).isJSON == isJSON)
    }
}
