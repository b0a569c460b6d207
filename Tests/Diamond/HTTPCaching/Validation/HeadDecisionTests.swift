import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The decision on an answer to HEAD") struct HeadDecisionTests {
    private static let full: HTTPFields = [.eTag: "\"1\"", .lastModified: monday, .contentLength: "4"]
    private static let monday = "Mon, 07 Nov 1994 08:49:37 GMT"
    private static let sunday = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(
        arguments: [
            (full, [.eTag: "\"1\""], .update), (full, [.eTag: "W/\"1\""], .update),
            (full, [.eTag: "\"2\""], .invalidate),
            (full, [.lastModified: monday], .update), (full, [.lastModified: sunday], .invalidate),
            (full, [.eTag: "\"1\"", .lastModified: sunday], .invalidate),
            (full, [.eTag: "\"1\"", .contentLength: "4"], .update),
            (full, [.eTag: "\"1\"", .contentLength: "5"], .invalidate),
            (full, [.contentLength: "4"], .ignore), (full, [.contentLength: "5"], .invalidate), (full, [:], .ignore),
            // The length of a coded body is not compared with the length of the decoded body.
            (full, [.eTag: "\"1\"", .contentLength: "5", .contentEncoding: "gzip"], .update),
            ([:], [.eTag: "\"1\""], .invalidate), ([:], [.lastModified: monday], .invalidate),
            ([:], [.contentLength: "5"], .ignore), ([:], [:], .ignore),
            // The tags are canonically equivalent, but have different bytes.
            ([.eTag: "\"\u{e9}\""], [.eTag: "\"e\u{301}\""], .invalidate),
        ] as [(HTTPFields, HTTPFields, HeadDecision)])
    func `follows RFC 9111 section 4.3.5`(stored: HTTPFields, headers: HTTPFields, decision: HeadDecision) {
        #expect(HeadDecision(Self.stored(stored), status: 200, headers: headers) == decision)
    }

    @Test(arguments: [204, 301, 304, 404, 500])
    func `ignores every status but 200`(status: Int) {
        #expect(HeadDecision(Self.stored(Self.full), status: status, headers: [.eTag: "\"2\""]) == .ignore)
    }

    @Test func `makes a stored response with another status stale`() {
        #expect(HeadDecision(Self.stored(Self.full, status: 404), status: 200, headers: Self.full) == .invalidate)
    }

    private static func stored(_ headers: HTTPFields, status: Int = 200) -> StoredResponse {
        StoredResponse(
            status: status, headerBlock: HeaderBlock.bytes(of: headers), body: Data("body".utf8), storedAt: 0,
            initialAge: 0, lifetime: nil, flags: [])
    }
}
