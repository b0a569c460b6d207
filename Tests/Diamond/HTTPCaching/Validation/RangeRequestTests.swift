import HTTPTypes
import Testing

@testable import Diamond

@Suite("RFC 9110 section 14, range requests") struct RangeRequestTests {
    @Test(
        arguments: [
            ("bytes=0-499", .from(0, through: 499)), ("bytes=500-", .from(500, through: nil)),
            ("bytes=-500", .suffix(500)),
            ("BYTES=0-0", .from(0, through: 0)), ("bytes= 0-1", .from(0, through: 1)),
            ("bytes=0-1,", .from(0, through: 1)),
            ("bytes=0-1, 4-5", .several), ("bytes=0-1,-1", .several), ("bytes=5-4", nil), ("bytes=-", nil),
            ("bytes=a-b", nil), ("bytes=0-1, x", nil), ("bytes=+1-2", nil), ("bytes=1", nil), ("bytes", nil),
            ("items=0-1", nil), ("", nil), ("bytes=0-99999999999999999999", nil), ("bytes=0-1-2", nil),
        ] as [(String, RangeRequest?)])
    func `a Range field is read, or ignored as a whole`(value: String, range: RangeRequest?) {
        #expect(RangeRequest([.range: value]) == range)
    }

    @Test(
        arguments: [
            (.from(0, through: 499), 1000, .bytes(0..<500)), (.from(0, through: 4999), 1000, .bytes(0..<1000)),
            (.from(999, through: nil), 1000, .bytes(999..<1000)), (.from(1000, through: nil), 1000, .unsatisfiable),
            (.from(0, through: 0), 0, .unsatisfiable), (.suffix(500), 1000, .bytes(500..<1000)),
            (.suffix(5000), 1000, .bytes(0..<1000)), (.suffix(0), 1000, .unsatisfiable),
            (.suffix(1), 0, .unsatisfiable),
            (.several, 1000, .whole), (.from(0, through: .max), 10, .bytes(0..<10)),
            (.suffix(.max), 10, .bytes(0..<10)),
        ] as [(RangeRequest, Int, RangeRequest.Selection)])
    func `a range selects bytes of a representation`(
        range: RangeRequest, length: Int, selection: RangeRequest.Selection
    ) {
        #expect(range.selection(of: length) == selection)
    }
}
