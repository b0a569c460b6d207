import HTTPTypes
import Testing

@testable import Diamond

@Suite("The range of an answer") struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 5-9/10", .bytes(5...9, length: 10)), ("bytes 0-0/1", .bytes(0...0, length: 1)),
            ("Bytes 5-9/*", .bytes(5...9, length: nil)), ("bytes */10", .unsatisfied(length: 10)),
            ("bytes */0", .unsatisfied(length: 0)), ("bytes 5-9", nil), ("bytes 9-5/10", nil), ("bytes 5-10/10", nil),
            ("bytes 5-9/+10", nil), ("bytes -9/10", nil), ("bytes 5-/10", nil), ("bytes */*", nil),
            ("items 5-9/10", nil),
            ("bytes=5-9/10", nil), ("bytes 5-9/10/10", nil), ("bytes 5-9/99999999999999999999", nil), ("bytes", nil),
            ("", nil), ("bytes 0-4/10, bytes 5-9/10", nil),
        ] as [(String, ContentRange?)])
    func `is read as RFC 9110 specifies, and is nil for other text`(value: String, range: ContentRange?) {
        #expect(ContentRange([.contentRange: value]) == range)
    }

    @Test func `is nil if two fields differ, or if there is no field`() {
        var headers: HTTPFields = [.contentRange: "bytes 5-9/10"]
        headers.append(HTTPField(name: .contentRange, value: "bytes 5-9/10"))
        #expect(ContentRange(headers) == .bytes(5...9, length: 10))
        headers.append(HTTPField(name: .contentRange, value: "bytes 5-8/10"))
        #expect(ContentRange(headers) == nil)
        #expect(ContentRange([:]) == nil)
    }
}
