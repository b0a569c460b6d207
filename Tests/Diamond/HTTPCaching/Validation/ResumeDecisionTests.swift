import HTTPTypes
import Testing

@testable import Diamond

@Suite("The answer to a request for the rest") struct ResumeDecisionTests {
    private static func decide(
        _ response: HTTPFields, _ received: Int, _ status: Int, _ answer: HTTPFields
    ) throws -> ResumeDecision {
        let part = try #require(PartialContent(status: 200, headers: response, count: received, now: 0))
        return ResumeDecision(for: part, status: status, headers: answer)
    }

    private static let whole = PartialContentTests.whole
    private static let dated = PartialContentTests.dated
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(
        arguments: [
            // Exactly the missing bytes.
            (206, [.contentRange: "bytes 5-9/10", .eTag: "\"a\""], .append),
            (206, [.contentRange: "bytes 5-9/*", .eTag: "\"a\""], .append),
            (206, [.contentRange: "bytes 5-9/10", .eTag: "\"a\"", .contentLength: "5"], .append),
            (206, [.contentRange: "bytes 5-9/10", .eTag: "\"a\"", .contentEncoding: "identity"], .append),
            // Other bytes, or bytes of another representation.
            (206, [.contentRange: "bytes 4-9/10", .eTag: "\"a\""], .restart),
            (206, [.contentRange: "bytes 6-9/10", .eTag: "\"a\""], .restart),
            (206, [.contentRange: "bytes 5-8/10", .eTag: "\"a\""], .restart),
            (206, [.contentRange: "bytes 5-10/11", .eTag: "\"a\""], .restart),
            (206, [.contentRange: "bytes 5-9/11", .eTag: "\"a\""], .restart),
            (206, [.contentRange: "bytes 5-9/10", .eTag: "\"b\""], .restart),
            (206, [.contentRange: "bytes 5-9/10", .eTag: "W/\"a\""], .restart),
            (206, [.contentRange: "bytes 5-9/10"], .restart),
            (206, [.contentRange: "bytes 5-9/10", .eTag: "\"a\"", .contentLength: "4"], .restart),
            (206, [.contentRange: "bytes 5-9/10", .eTag: "\"a\"", .contentLength: "x"], .restart),
            (206, [.contentRange: "bytes 5-9/10", .eTag: "\"a\"", .contentEncoding: "gzip"], .restart),
            (206, [.contentRange: "bytes */10", .eTag: "\"a\""], .restart),
            (206, [.contentRange: "lines 5-9/10", .eTag: "\"a\""], .restart), (206, [.eTag: "\"a\""], .restart),
            (206, [.contentType: "multipart/byteranges; boundary=x", .eTag: "\"a\""], .restart),
            // The range does not exist. Only a complete body lacks no bytes.
            (416, [.contentRange: "bytes */10", .eTag: "\"a\""], .restart),
            (416, [.contentRange: "bytes */3"], .restart), (416, [:], .restart),
            // No answer to the range request.
            (304, [.eTag: "\"a\""], .restart), (412, [:], .restart), (400, [:], .restart), (406, [:], .restart),
            // A whole that says that it is a part.
            (200, [.contentRange: "bytes 5-9/10", .eTag: "\"a\""], .contradict),
            (200, [.contentRange: "bytes 0-9/10"], .contradict),
            // Responses that replace the part, and errors that keep it.
            (200, [.eTag: "\"a\""], .replace), (200, [:], .replace), (203, [:], .replace), (204, [:], .replace),
            (302, [:], .replace), (404, [:], .replace), (410, [:], .replace),
            (401, [:], .keep), (403, [:], .keep), (407, [:], .keep), (408, [:], .keep), (421, [:], .keep),
            (425, [:], .keep), (429, [:], .keep), (500, [:], .keep), (503, [:], .keep), (599, [:], .keep),
        ] as [(Int, HTTPFields, ResumeDecision)])
    func `decides how the part is used`(status: Int, headers: HTTPFields, decision: ResumeDecision) throws {
        #expect(try Self.decide(Self.whole, 5, status, headers) == decision)
    }

    @Test(
        arguments: [
            ([.contentRange: "bytes */10", .eTag: "\"a\""], .complete), ([.contentRange: "bytes */10"], .restart),
            ([.contentRange: "bytes */10", .eTag: "\"b\""], .restart), ([.eTag: "\"a\""], .restart),
            ([.contentRange: "bytes */9", .eTag: "\"a\""], .restart),
        ] as [(HTTPFields, ResumeDecision)])
    func `completes a part of full length with a matching 416`(headers: HTTPFields, decision: ResumeDecision) throws {
        #expect(try Self.decide(Self.whole, 10, 416, headers) == decision)
    }

    @Test(
        arguments: [
            (5, 206, [.contentRange: "bytes 5-9/10"], .append),
            (5, 206, [.contentRange: "bytes 5-9/10", .lastModified: date], .append),
            (5, 206, [.contentRange: "bytes 5-9/10", .lastModified: "Sun, 06 Nov 1994 08:49:38 GMT"], .restart),
            (5, 206, [.contentRange: "bytes 5-9/10", .eTag: "\"a\""], .restart),
            (10, 416, [.contentRange: "bytes */10", .lastModified: date], .complete),
            (10, 416, [.contentRange: "bytes */10"], .restart),
        ] as [(Int, Int, HTTPFields, ResumeDecision)])
    func `may omit the date that If-Range named, except in a 416`(
        received: Int, status: Int, headers: HTTPFields, decision: ResumeDecision
    ) throws {
        #expect(try Self.decide(Self.dated, received, status, headers) == decision)
    }
}
