import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// A part of the digits from 0 to 9.
private func part(
    _ bytes: Range<Int>, tag: String = "\"a\"", status: Int = 206, _ changes: HTTPFields = [:]
) -> StoredPart? {
    var headers: HTTPFields = [.eTag: tag, .contentRange: "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/10"]
    for change in changes { headers[change.name] = change.value.isEmpty ? nil : change.value }
    let body = Data("0123456789".utf8.dropFirst(bytes.lowerBound).prefix(bytes.count))
    let stored = StoredResponse(
        status: status, headerBlock: HeaderBlock.bytes(of: headers), body: body, storedAt: 0, initialAge: 0,
        lifetime: 60_000, flags: .hasValidator)
    return StoredPart(stored, count: body.count, now: 0)
}

@Suite("RFC 9111 section 3.3, parts of a response") struct StoredPartTests {
    @Test func `a part is stored as a 206, or as a 200 if it begins at the first byte`() throws {
        let middle = try #require(part(2..<5))
        #expect(middle.range == 2..<5 && middle.length == 10 && middle.stored.status == 206)
        #expect(middle.stored.headers[.contentRange] == "bytes 2-4/10" && middle.stored.headers[.contentLength] == "3")
        let beginning = try #require(part(0..<5))
        #expect(beginning.range == 0..<5 && beginning.length == 10 && beginning.stored.status == 200)
        #expect(beginning.stored.headers[.contentRange] == nil && beginning.stored.headers[.contentLength] == "10")
        // The stored form is read as the same part.
        for part in [middle, beginning] {
            #expect(StoredPart(part.stored, count: part.range.count, now: 0) == part)
        }
    }

    @Test(
        arguments: [
            [.eTag: "W/\"a\""], [.eTag: ""], [.contentEncoding: "gzip"], [.contentRange: ""],
            [.contentRange: "bytes 2-4/*"], [.contentRange: "bytes 2-5/10"], [.contentRange: "bytes */10"],
            [.contentRange: "lines 2-4/10"],
        ] as [HTTPFields])
    func `a response is a part only with a strong validator, a byte range and a length`(changes: HTTPFields) {
        #expect(part(2..<5, changes) == nil)
    }

    @Test func `a range within a part has a head of its own`() throws {
        let head = try #require(part(2..<8)).head(for: 3..<5)
        #expect(head.status == 206 && head.body.isEmpty)
        #expect(head.headers[.contentRange] == "bytes 3-4/10" && head.headers[.contentLength] == "2")
    }
}

@Suite("RFC 9111 section 3.4, combining parts") struct CombinedPartsTests {
    private func text(_ addition: StoredPart.Addition) -> String {
        switch addition {
        case .keep: "keep"
        case .store(let part): "\(part.range) \(String(decoding: part.stored.body, as: UTF8.self))"
        case .complete(let stored): "\(stored.status) \(String(decoding: stored.body, as: UTF8.self))"
        }
    }

    @Test(
        arguments: [
            (nil, 2..<5, "2..<5 234"), (nil, 0..<10, "200 0123456789"),
            (2..<5, 5..<8, "2..<8 234567"), (2..<5, 4..<8, "2..<8 234567"), (5..<8, 2..<5, "2..<8 234567"),
            (2..<8, 3..<5, "2..<8 234567"), (3..<5, 2..<8, "2..<8 234567"), (0..<5, 5..<10, "200 0123456789"),
            (2..<10, 0..<3, "200 0123456789"), (0..<2, 2..<5, "0..<5 01234"),
            // If there is a gap between two parts, the larger part stays.
            (0..<3, 5..<7, "keep"), (0..<2, 5..<8, "5..<8 567"), (0..<2, 5..<7, "5..<7 56"),
        ] as [(Range<Int>?, Range<Int>, String)])
    func `adjacent or overlapping parts with the same strong validator are combined`(
        older: Range<Int>?, newer: Range<Int>, result: String
    ) throws {
        let newer = try #require(part(newer))
        #expect(text(StoredPart.adding(newer, to: older.flatMap { part($0) }, limit: 100)) == result)
    }

    @Test func `a part of another representation takes the place of the stored one`() throws {
        let newer = try #require(part(5..<7))
        #expect(text(StoredPart.adding(newer, to: part(0..<5, tag: "\"b\""), limit: 100)) == "5..<7 56")
        #expect(
            text(StoredPart.adding(newer, to: part(2..<5, [.contentRange: "bytes 2-4/11"]), limit: 100)) == "5..<7 56")
    }

    @Test func `a part that would be too large, or whose bytes were not read, is not combined`() throws {
        let newer = try #require(part(5..<8))
        #expect(text(StoredPart.adding(newer, to: part(2..<5), limit: 5)) == "keep")
        #expect(text(StoredPart.adding(newer, to: part(2..<5)?.with(body: Data()), limit: 100)) == "keep")
        #expect(text(StoredPart.adding(try #require(part(5..<10)), to: part(0..<5), limit: 5)) == "200 0123456789")
    }

    @Test func `the fields of the newer part replace those of the older one`() throws {
        let older = part(2..<5, [.contentType: "text/plain", .cacheControl: "max-age=1"])
        let newer = try #require(part(5..<8, [.cacheControl: "max-age=2"]))
        guard case .store(let combined) = StoredPart.adding(newer, to: older, limit: 100) else {
            Issue.record("the parts are not combined")
            return
        }
        #expect(
            Set(combined.stored.headers) == [
                HTTPField(name: .eTag, value: "\"a\""), HTTPField(name: .contentType, value: "text/plain"),
                HTTPField(name: .cacheControl, value: "max-age=2"),
                HTTPField(name: .contentRange, value: "bytes 2-7/10"), HTTPField(name: .contentLength, value: "6"),
            ])
    }
}
