import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite struct `The decision whether to store` {
    private func decide(_ method: HTTPRequest.Method, _ status: Int, _ headers: HTTPFields) -> StoredResponse? {
        StoreDecision(method: method, status: status, headers: headers, body: Data(), sentAt: 0, receivedAt: 0).stored
    }

    @Test(
        arguments: [
            (.get, 200, [:], true), (.query, 200, [:], true), (.head, 200, [:], false), (.post, 200, [:], false),
            (.put, 200, [.cacheControl: "max-age=60"], false), (.get, 404, [:], true), (.get, 500, [:], false),
            (.get, 500, [.cacheControl: "max-age=60"], true), (.get, 302, [:], false), (.get, 301, [:], true),
            (.get, 206, [.cacheControl: "max-age=60"], false), (.get, 304, [.cacheControl: "max-age=60"], false),
            (.get, 418, [.cacheControl: "max-age=60"], true), (.get, 428, [.cacheControl: "max-age=60"], false),
            (.get, 429, [.cacheControl: "max-age=60"], false), (.get, 431, [.cacheControl: "max-age=60"], false),
            (.get, 511, [.cacheControl: "max-age=60"], false), (.get, 200, [.cacheControl: "No-Store"], false),
            (.get, 200, [.cacheControl: "max-age=60, no-store"], false),
            (.get, 200, [.cacheControl: "no-cache"], true),
            (.get, 200, [.cacheControl: #"max-age=60, ext="\"", no-store"#], false), (.get, 200, [.vary: "*"], false),
            (.get, 200, [.vary: "Accept, accept-encoding"], true), (.get, 200, [.vary: "User-Agent"], false),
            (.get, 200, [.vary: "accept", .contentType: "a"], true),
            (.get, 200, [.contentEncoding: "gzip"], false), (.get, 200, [.contentEncoding: "Identity"], true),
        ] as [(HTTPRequest.Method, Int, HTTPFields, Bool)])
    func `follows RFC 9111`(method: HTTPRequest.Method, status: Int, headers: HTTPFields, isStored: Bool) {
        #expect((decide(method, status, headers) != nil) == isStored)
    }

    @Test func `leaves out what belongs to the connection, and cookies`() throws {
        let headers: HTTPFields = [
            .connection: "close, X-Hop,\u{301}", .setCookie: "sid=s3cret", .transferEncoding: "chunked", .eTag: "\"1\"",
        ]
        var all = headers
        all.append(try HTTPField(checking: "X-Hop", "1"))
        all.append(try HTTPField(checking: "X-Other", "a: b"))
        let stored = try #require(decide(.get, 200, all))
        #expect(String(decoding: stored.headerBlock, as: UTF8.self) == "ETag: \"1\"\nX-Other: a: b\n")
        #expect(stored.headers == HeaderBlock.fields(of: stored.headerBlock))
        #expect(stored.headers.count == 2)
        #expect(stored.flags == .hasValidator)
    }

    @Test func `has no more headers after many confirmations than one answer may bring`() {
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

    @Test func `after a 304 takes over its headers and its freshness, and keeps what describes the body`() throws {
        let old = StoredResponse.stub(
            lifetime: 1000,
            flags: [.hasValidator, .invalidated, .pinned],
            initialAge: 9000,
            headers: "ETag: \"1\"\nContent-Type: text/plain\nX-Old: 1\nAge: 9\n"
        )
        let confirmation: HTTPFields = [
            .eTag: "\"1\"", .contentType: "text/html", .cacheControl: "max-age=60", .contentLength: "0",
        ]
        let decision = StoreDecision(confirming: old, by: confirmation, sentAt: 40_000, receivedAt: 41_000)
        let new = try #require(decision.stored)
        #expect(new.lifetime == 60_000)
        #expect(new.initialAge == 1000)
        #expect(new.storedAt == 41_000)
        #expect(new.flags == .hasValidator)
        #expect(new.headers[.contentType] == "text/plain")
        #expect(new.headers[.cacheControl] == "max-age=60")
        #expect(new.headers[.contentLength] == nil)
        #expect(new.body == old.body)
    }

    private static let days = ["Sun, 06 Nov 1994 08:49:37 GMT", "Mon, 07 Nov 1994 08:49:37 GMT"]

    @Test(
        arguments: [
            ([.eTag: "\"1\""], [.eTag: "\"1\""], true), ([.eTag: "\"1\""], [.eTag: "W/\"1\""], true),
            ([.eTag: "\"1\""], [.eTag: "\"2\""], false), ([.eTag: "\"1\""], [:], true), ([:], [.eTag: "\"1\""], true),
            ([.lastModified: days[1]], [.lastModified: days[1]], true),
            ([.lastModified: days[1]], [.lastModified: days[0]], false), ([.lastModified: days[1]], [:], true),
            ([.lastModified: days[1]], [.eTag: "\"1\"", .lastModified: days[0]], false),
            ([.eTag: "\"1\"", .lastModified: days[1]], [.lastModified: days[0]], false),
            ([.eTag: "\"1\"", .lastModified: days[1]], [.eTag: "\"1\"", .lastModified: days[0]], true),
            ([:], [:], true),
        ] as [(HTTPFields, HTTPFields, Bool)])
    func `believes a 304 that speaks of the stored answer`(
        stored: HTTPFields,
        confirmation: HTTPFields,
        isConfirmed: Bool
    ) throws {
        #expect(try #require(decide(.get, 200, stored)).isConfirmed(by: confirmation) == isConfirmed)
    }

    @Test func `after a 304 that forbids it drops the entry`() {
        let old = StoredResponse.stub(lifetime: nil)
        let confirmation: HTTPFields = [.cacheControl: "no-store"]
        #expect(StoreDecision(confirming: old, by: confirmation, sentAt: 0, receivedAt: 0).stored == nil)
    }

    @Test(arguments: ["*", "Cookie, X-Kind", "User-Agent"])
    func `after a 304 whose Vary no key can obey drops the entry`(vary: String) {
        let old = StoredResponse.stub(lifetime: 1000)
        let decide = { (headers: HTTPFields, isSelecting: @escaping (String) -> Bool) in
            StoreDecision(
                confirming: old, by: headers, sentAt: 0, receivedAt: 0,
                isSelecting: { KeyRules.isSelecting($0) && isSelecting($0) }
            ).stored
        }
        #expect(decide([.vary: vary]) { $0 != "cookie" } == nil)
        #expect(decide([.vary: "X-Kind, Accept-Encoding"]) { $0 != "cookie" } != nil)
    }

    @Test func `after a 304 without a Date counts Expires from when it came`() throws {
        let old = StoredResponse.stub(
            lifetime: 10_000,
            flags: [.hasValidator],
            headers: """
                ETag: "1"
                Date: Sun, 06 Nov 1994 08:49:37 GMT
                Expires: Sun, 06 Nov 1994 08:49:47 GMT

                """
        )
        let start = try #require(HTTPDate.milliseconds(of: "Sun, 06 Nov 1994 08:49:37 GMT", now: 0))
        for (later, lifetime) in [(Int64(4000), Int64(6000)), (10_000, 0), (60_000, 0)] {
            let decision = StoreDecision(
                confirming: old, by: [.eTag: "\"1\""], sentAt: start + later, receivedAt: start + later)
            let new = try #require(decision.stored)
            #expect(new.lifetime == lifetime && new.initialAge == 0 && new.headers[.date] != nil)
        }
    }
}
