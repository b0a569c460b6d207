import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The reason of a decision not to store") struct StoreRefusalTests {
    struct Row: Sendable {
        var method = HTTPRequest.Method.get
        var status = 200
        var headers: HTTPFields = [:]
        var kind = CacheKind.private
        var isAuthorized = false
        var hasCredentials = false
        var passesCoding = false
        let refusal: StoreRefusal?
    }

    private static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"

    private static let rows: [Row] = [
        Row(refusal: nil), Row(method: .put, refusal: .method), Row(status: 500, refusal: .status),
        Row(status: 429, headers: [.cacheControl: "max-age=60"], refusal: .status),
        Row(headers: [.contentEncoding: "gzip"], refusal: .coding),
        Row(headers: [.contentEncoding: "gzip"], passesCoding: true, refusal: nil),
        Row(status: 299, headers: [.cacheControl: "max-age=60, must-understand"], refusal: .mustUnderstand),
        Row(headers: [.cacheControl: "no-store"], refusal: .noStore),
        Row(headers: [.cacheControl: "private"], refusal: nil),
        Row(headers: [.cacheControl: "private"], kind: .shared, refusal: .isPrivate),
        Row(kind: .shared, isAuthorized: true, refusal: .authorization),
        Row(kind: .shared, hasCredentials: true, refusal: .credentials),
        Row(headers: [.cacheControl: "public"], kind: .shared, hasCredentials: true, refusal: nil),
        Row(hasCredentials: true, refusal: nil), Row(headers: [.setCookie: "a=b"], kind: .shared, refusal: .setCookie),
        Row(headers: [.vary: "*"], refusal: .vary),
        Row(
            headers: [.setCookie: "a=b", .lastModified: modified, .date: modified], kind: .shared, refusal: .setCookie),
        Row(headers: [.location: "/?token=s3cret"], refusal: .secret),
    ]

    @Test(arguments: rows) func `is given exactly if the response is not stored`(row: Row) {
        let decision = StoreDecision(
            method: row.method, status: row.status, headers: row.headers, body: Data(), sentAt: 0, receivedAt: 0,
            rules: StoreRules(
                kind: row.kind, isAuthorized: row.isAuthorized, hasCredentials: row.hasCredentials,
                passesCoding: row.passesCoding))
        #expect(decision.refusal == row.refusal)
        #expect((decision.stored == nil) == (row.refusal != nil))
    }

    @Test(arguments: [("no-store", .noStore), ("max-age=60", nil)] as [(String, StoreRefusal?)])
    func `is given for a confirmation`(control: String, refusal: StoreRefusal?) throws {
        let old = try #require(
            StoreDecision(method: .get, status: 200, headers: [:], body: Data(), sentAt: 0, receivedAt: 0).stored)
        let decision = StoreDecision(confirming: old, by: [.cacheControl: control], sentAt: 1, receivedAt: 1)
        #expect(decision.refusal == refusal && (decision.stored == nil) == (refusal != nil))
    }
}
