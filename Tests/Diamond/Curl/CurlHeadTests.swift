#if Curl && os(Linux)
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A head from libcurl") struct CurlHeadTests {
    /// Returns the head of these lines; `nil` if the last line does not complete it.
    private func head(_ lines: [String]) -> CurlHead? {
        var (head, names) = (CurlHead(), CurlNameCache())
        var isComplete = false
        for line in lines { isComplete = Array("\(line)\r\n".utf8).withUnsafeBytes { head.add($0, names: &names) } }
        return isComplete ? head : nil
    }

    private func fields(_ lines: [String]) -> [String]? {
        head(["HTTP/1.1 200 OK"] + lines + [""])?.fields.map { "\($0.name.rawName)=\($0.value)" }
    }

    @Test(arguments: [("HTTP/1.1 200 OK", 200), ("HTTP/2 204", 204), ("HTTP/1.0 599 ", 599), ("HTTP/1.1 404", 404)])
    func `a libcurl head has the status of its first line`(line: String, status: Int) {
        #expect(head([line, ""])?.status == status)
    }

    @Test func `a libcurl head is complete after the final response's blank line only`() {
        let interim = ["HTTP/1.1 103 Early Hints", "Link: a", ""]
        #expect(head(interim) == nil)
        let final = head(interim + ["HTTP/1.1 200 OK", "A: b", ""])
        #expect(final?.fields.map(\.name.rawName) == ["A"])
        #expect(head(["HTTP/1.1 nonsense", ""]) == nil)
        #expect(head(["HTTP/1.1 200 OK", "A: b"]) == nil)
        #expect(head(["HTTP/1.1 200 OK", " "]) == nil)
    }

    @Test(arguments: [
        (["A: b", " c", "\t d: e"], ["A=b c d: e"]),
        (["A:", " c"], ["A=c"]), (["A:", " ", "\t c", "D: e"], ["A=c", "D=e"]),
        (["A : b", "B\t: c", "E:", "F:g", "G:  h  "], ["A=b", "B=c", "E=", "F=g", "G=h"]),
        (["A: b: c", "A: d"], ["A=b: c", "A=d"]),
    ])
    func `a libcurl head has the fields of valid lines`(lines: [String], expected: [String]) {
        #expect(fields(lines) == expected)
    }

    @Test(arguments: ["no name", "B B: c", ": d", " : d", "B\u{b}: c", "HTTP/1.1 200 OK", "HTTP/1.1 201 x: y"])
    func `a libcurl head reports a line that is no field`(line: String) {
        #expect(head(["HTTP/1.1 200 OK", "A: b", line, "D: e", ""])?.hasInvalidLine == (line != " : d"))
        #expect(head(["HTTP/1.1 200 OK", " A: b", ""])?.hasInvalidLine == true)
        #expect(head(["HTTP/1.1 103 Early Hints", "", "HTTP/1.1 200 OK", "A: b", ""])?.hasInvalidLine == false)
    }

    @Test(arguments: [
        (["Content-Length: 3", "Transfer-Encoding: chunked"], []), (["Content-Length: 3"], ["Content-Length"]),
        (["Content-Length: 3", "Transfer-Encoding:"], ["Content-Length"]),
    ])
    func `a libcurl head has no length next to chunks`(fields: [String], lengths: [String]) {
        for status in [200, 304] {
            let head = head(["HTTP/1.1 \(status) x"] + fields + [""])
            #expect(head?.fields.map(\.name.rawName).filter { $0 != "Transfer-Encoding" } == lengths)
        }
        #expect(head(["HTTP/1.1 204 x"] + fields + [""])?.fields.contains(.contentLength) == false)
    }

    @Test func `a libcurl head joins many folded lines at once, and has a size limit`() {
        #expect(fields(["A: b"] + Array(repeating: " c", count: 100_000) + ["D: e"])?.first?.utf8.count == 200_003)
        let (small, large) = (Array(repeating: " cccc", count: 30_000), Array(repeating: " cccc", count: 40_000))
        #expect(head(["HTTP/1.1 200 OK", "A: b"] + small + [""])?.excess == nil)
        #expect(head(["HTTP/1.1 200 OK", "A: b"] + large + [""])?.excess == HeadLimit.tooLarge)
    }

    @Test func `a libcurl head with too many fields is truncated, and reports the excess`() {
        let most = Array(repeating: "A: b", count: HeadLimit.mostFields)
        #expect(head(["HTTP/1.1 200 OK"] + most + [""])?.excess == nil)
        let more = head(["HTTP/1.1 200 OK"] + most + ["A: b", "A: b", ""])
        #expect(more?.fields.count == HeadLimit.mostFields && more?.excess == HeadLimit.tooManyFields)
    }

    @Test(
        arguments: [
            (["Content-Length: 3"], false), (["Content-Length: 3, 3"], false),
            (["Content-Length: 3", "content-length: 3"], false), (["A: b"], false),
            (["Transfer-Encoding: chunked", "Content-Length: 3", "Content-Length: 10"], false),
            (["Transfer-Encoding: gzip, Chunked"], false), (["Transfer-Encoding: gzip"], false),
            (["Transfer-Encoding: identity"], false),
            (["Content-Length: 10", "Content-Length: 3"], true), (["Content-Length: 3, 10"], true),
            (["Content-Length: 99999999999999999999"], true), (["Content-Length: +3"], true),
            (["Content-Length: 3 10"], true), (["Content-Length: 3,"], true), (["Content-Length:"], true),
            (["Transfer-Encoding: identity", "Content-Length: 3"], true),
            (["Transfer-Encoding: chunked", "Transfer-Encoding: gzip"], true),
            (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], true),
            // libcurl does not see these.
            (["Content-Length : 3"], true), (["Transfer-Encoding\t: chunked"], true),
            (["Transfer-Encoding:", " chunked"], true), (["Content-Length:", " 3"], true),
        ] as [([String], Bool)])
    func `a libcurl head contradicts itself where it has two different framings`(
        fields: [String], isContradictory: Bool
    ) {
        #expect(head(["HTTP/1.1 200 OK"] + fields + [""])?.isContradictory == isContradictory)
        // Its frames determine the end.
        #expect(head(["HTTP/2 200"] + fields + [""])?.isContradictory == false)
    }

}
#endif
