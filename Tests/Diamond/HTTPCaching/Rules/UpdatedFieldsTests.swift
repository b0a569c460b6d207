import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("RFC 9111 section 3.2") struct UpdatedFieldsTests {
    @Test func `many confirmations add no more fields than the limit for one response`() {
        var headers: HTTPFields = [.eTag: "\"1\""]
        for round in 0..<8 {
            var new = HTTPFields()
            for number in 0..<10_000 {
                if let name = HTTPField.Name("a\(round)-\(number)") { new.append(HTTPField(name: name, value: "")) }
            }
            headers = HeaderBlock.updated(headers, by: new)
        }
        #expect(headers.count == 10_000 && headers.contains { $0.name.rawName.hasPrefix("a7-") })
    }

    @Test(
        arguments: [
            (nil, "gzip", nil), (nil, "a", nil), ("br", "gzip", "br"), ("gzip", "identity", "gzip"),
            ("gzip", nil, "gzip"),
            ("a", "gzip", "a"), ("gzip", "a", "gzip"), ("a, gzip", "b", "a, gzip"), ("a", nil, "a"), ("a", "b", "b"),
        ] as [(String?, String?, String?)])
    func `a 304 leaves the content coding of the stored bytes, and only renames an unknown one`(
        stored: String?, confirmation: String?, result: String?
    ) throws {
        let line = stored.map { "Content-Encoding: \($0)\n" } ?? ""
        let old = StoredResponse.stub(lifetime: 1000, headers: "ETag: \"1\"\n\(line)")
        var new: HTTPFields = [.eTag: "\"1\""]
        new[.contentEncoding] = confirmation
        for passesCoding in [false, true] {
            var rules = StoreRules()
            rules.passesCoding = passesCoding
            let decision = StoreDecision(confirming: old, by: new, sentAt: 0, receivedAt: 0, rules: rules)
            let coding = try #require(decision.stored).headers[.contentEncoding]
            #expect(coding == (passesCoding ? result : stored))
        }
    }

    @Test func `a 304 updates freshness and fields, except the length, the coding and the range`() throws {
        let old = StoredResponse.stub(
            lifetime: 1000,
            flags: [.hasValidator, .invalidated, .pinned],
            initialAge: 9000,
            headers: "ETag: \"1\"\nContent-Type: text/plain\nX-Old: 1\nAge: 9\nContent-Length: 4\n"
        )
        let confirmation: HTTPFields = [
            .eTag: "\"1\"", .contentType: "text/html", .cacheControl: "max-age=60", .contentLength: "0",
            .contentEncoding: "gzip", .contentRange: "bytes 0-1/2", .contentLanguage: "en", .connection: "X-Old",
            .xOld: "2", .contentDigest: "sha-256=:AA==:",
            .setCookie: "a=b",
        ]
        let decision = StoreDecision(confirming: old, by: confirmation, sentAt: 40_000, receivedAt: 41_000)
        let new = try #require(decision.stored)
        #expect(new.lifetime == 60_000)
        #expect(new.initialAge == 1000)
        #expect(new.storedAt == 41_000)
        #expect(new.flags == .hasValidator)
        #expect(
            new.headers == [
                .xOld: "1", .age: "9", .contentLength: "4", .eTag: "\"1\"", .contentType: "text/html",
                .cacheControl: "max-age=60", .contentLanguage: "en",
            ])
        #expect(new.body == old.body)
    }
}

extension HTTPField.Name {
    fileprivate static let xOld = HTTPField.Name(parsed: "x-old") ?? .age
    fileprivate static let contentDigest = HTTPField.Name(parsed: "content-digest") ?? .age
}
