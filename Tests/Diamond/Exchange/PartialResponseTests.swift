import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A partial response") struct PartialResponseTests {
    @Test func `takes its newest part's fields, except Content-Length and Content-Range`() throws {
        let head = ReceivedResponse(
            status: .ok,
            headers: [
                .contentLength: "10", .eTag: "\"a\"", .contentType: "text/plain", .age: "9", .date: "old",
                .cacheControl: "max-age=1", .server: "s",
            ],
            body: Data("01234".utf8), sentAt: 1, receivedAt: 2)
        let partial = try #require(PartialResponse(head))
        let rest = ReceivedResponse(
            status: .partialContent,
            headers: [
                .contentLength: "5", .eTag: "\"a\"", .contentType: "text/html", .date: "new",
                .cacheControl: "max-age=60", .contentRange: "bytes 5-9/10",
            ],
            body: Data(), sentAt: 3, receivedAt: 4)
        var next = partial.continued(by: rest)
        next.append(Data("56789".utf8))
        #expect(next.received.status == .ok && String(decoding: next.received.body, as: UTF8.self) == "0123456789")
        #expect((next.received.sentAt, next.received.receivedAt) == (3, 4))
        #expect(
            next.received.headers == [
                .contentLength: "10", .eTag: "\"a\"", .contentType: "text/html", .date: "new",
                .cacheControl: "max-age=60", .server: "s",
            ])
    }

    @Test(arguments: [(false, false), (true, false), (false, true)])
    func `is personal if one of its parts is personal`(first: Bool, rest: Bool) throws {
        let headers: HTTPFields = [.contentLength: "2", .eTag: "\"a\""]
        let head = ReceivedResponse(
            status: .ok, headers: headers, body: Data("0".utf8), sentAt: 1, receivedAt: 2, isPersonal: first)
        let partial = try #require(PartialResponse(head))
        let next = ReceivedResponse(
            status: .partialContent, headers: headers, body: Data(), sentAt: 3, receivedAt: 4, isPersonal: rest)
        #expect(partial.continued(by: next).received.isPersonal == (first || rest))
        #expect(partial.completed(by: next).isPersonal == (first || rest))
    }

    @Test func `lists the adapted headers of all its parts`() throws {
        let headers: HTTPFields = [.contentLength: "2", .eTag: "\"a\""]
        let head = ReceivedResponse(
            status: .ok, headers: headers, body: Data("0".utf8), sentAt: 1, receivedAt: 2, adaptedHeaders: ["a"])
        let partial = try #require(PartialResponse(head))
        let next = ReceivedResponse(
            status: .partialContent, headers: headers, body: Data(), sentAt: 3, receivedAt: 4, adaptedHeaders: ["b"])
        #expect(partial.continued(by: next).received.adaptedHeaders == ["a", "b"])
        #expect(partial.completed(by: next).adaptedHeaders == ["a", "b"])
    }
}
