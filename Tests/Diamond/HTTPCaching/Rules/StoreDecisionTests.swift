import Foundation
import HTTPTypes
import Testing

@testable import Diamond

private func decide(
    _ headers: HTTPFields,
    _ kind: CacheKind = .private,
    method: HTTPRequest.Method = .get,
    status: Int = 200,
    isAuthorized: Bool = false
) -> StoredResponse? {
    StoreDecision(
        method: method, status: status, headers: headers, body: Data(), sentAt: 0, receivedAt: 0,
        rules: StoreRules(kind: kind, isAuthorized: isAuthorized)
    ).stored
}

private let explicit: HTTPFields = [.cacheControl: "max-age=60"]
private let modified = "Sun, 06 Nov 1994 08:49:37 GMT"

@Suite("RFC 9111 section 3") struct StoreDecisionTests {
    @Test(
        arguments: [
            (.get, 200, [:], true), (.query, 200, [:], true), (.head, 200, [:], false), (.post, 200, [:], false),
            (.put, 200, explicit, false), (.get, 404, [:], true), (.get, 500, [:], false), (.get, 500, explicit, true),
            (.get, 302, [:], false), (.get, 302, [.expires: modified], true), (.get, 301, [:], true),
            (.get, 302, [.cacheControl: "s-maxage=60"], false), (.get, 302, [.cacheControl: "public"], false),
            (.get, 302, [.cacheControl: "public", .lastModified: modified, .date: modified], true),
            (.get, 103, explicit, false), (.get, 206, explicit, false), (.get, 304, explicit, false),
            (.get, 418, explicit, true), (.get, 428, explicit, false), (.get, 429, explicit, false),
            (.get, 431, explicit, false), (.get, 511, explicit, false), (.get, 200, [.cacheControl: "No-Store"], false),
            (.get, 200, [.cacheControl: "max-age=60, no-store"], false), (.get, 200, [.cacheControl: "no-cache"], true),
            (.get, 200, [.cacheControl: "private"], true),
            (.get, 200, [.cacheControl: #"max-age=60, ext="\"", no-store"#], false), (.get, 200, [.vary: "*"], false),
            (.get, 200, [.vary: "Accept, accept-encoding"], true), (.get, 200, [.vary: "User-Agent"], true),
            (.get, 200, [.vary: "accept", .contentType: "a"], true),
            (.get, 200, [.contentEncoding: "gzip"], false), (.get, 200, [.contentEncoding: "Identity"], true),
        ] as [(HTTPRequest.Method, Int, HTTPFields, Bool)])
    func `a private cache stores a response if its method, status and fields allow it`(
        method: HTTPRequest.Method, status: Int, headers: HTTPFields, isStored: Bool
    ) {
        #expect((decide(headers, method: method, status: status) != nil) == isStored)
    }

    @Test(
        arguments: [
            (200, [:], true), (200, [.cacheControl: "private"], false),
            (200, [.cacheControl: "private, max-age=60"], false), (200, [.cacheControl: "private, public"], false),
            (302, [.cacheControl: "s-maxage=60"], true), (200, [.cacheControl: "no-store, s-maxage=60"], false),
            (200, [.cacheControl: "private=\"A\""], true), (200, [.cacheControl: "private=\"\""], false),
        ] as [(Int, HTTPFields, Bool)])
    func `a shared cache stores no private or no-store response`(status: Int, headers: HTTPFields, isStored: Bool) {
        #expect((decide(headers, .shared, status: status) != nil) == isStored)
    }

    @Test func `a private cache and a shared cache do not serve each other's responses`() throws {
        let own = try #require(decide([:]))
        let shared = try #require(decide([:], .shared))
        #expect(own.isOf(.private) && !own.isOf(.shared))
        #expect(shared.isOf(.shared) && !shared.isOf(.private))
    }
}

@Suite("RFC 9111 section 3.5") struct AuthorizedStoreTests {
    @Test(
        arguments: [
            ("max-age=60", false), ("", false), ("public", true), ("must-revalidate", true), ("s-maxage=60", true),
            ("proxy-revalidate, max-age=60", false), ("public, private", false), ("public, no-store", false),
        ])
    func `a shared cache stores a response to Authorization if a directive allows it`(control: String, isStored: Bool) {
        let headers: HTTPFields = [.cacheControl: control]
        #expect((decide(headers, .shared, isAuthorized: true) != nil) == isStored)
        #expect(control.contains("no-store") || decide(headers, isAuthorized: true) != nil)
    }
}

@Suite("Responses to one user of a shared cache") struct SharedCacheUserTests {
    private static let dated: HTTPFields = [.lastModified: modified]

    private static func decide(
        _ headers: HTTPFields, _ kind: CacheKind = .shared, hasCredentials: Bool = true
    ) -> StoredResponse? {
        StoreDecision(
            method: .get, status: 200, headers: headers, body: Data(), sentAt: 0, receivedAt: 0,
            rules: StoreRules(kind: kind, hasCredentials: hasCredentials, keepsCookies: true)
        ).stored
    }

    @Test(
        arguments: [
            ([:], false), (dated, false), ([.eTag: "\"1\""], false), ([.cacheControl: "no-transform"], false),
            ([.cacheControl: "max-age=60"], true), ([.cacheControl: "s-maxage=60"], true),
            ([.cacheControl: "max-age=60, s-maxage=0"], true), ([.cacheControl: "max-age=0"], false),
            ([.expires: "0"], false), ([.expires: "Sun, 06 Nov 1994 08:49:37 GMT"], true),
            ([.cacheControl: "public"], true), ([.cacheControl: "public, max-age=0"], true),
            ([.cacheControl: "no-cache"], true), ([.cacheControl: "must-revalidate"], true),
            ([.cacheControl: "max-age=0, proxy-revalidate"], true),
            ([.cacheControl: "must-revalidate", .lastModified: modified, .date: modified], false),
            ([.cacheControl: "no-cache", .lastModified: modified, .date: modified], true),
        ] as [(HTTPFields, Bool)])
    func `a response to credentials is stored if it is public, has a lifetime, or is always validated`(
        headers: HTTPFields, isStored: Bool
    ) {
        #expect((Self.decide(headers) != nil) == isStored)
        #expect(Self.decide(headers, hasCredentials: false) != nil && Self.decide(headers, .private) != nil)
    }

    @Test(
        arguments: [
            ([:], false), (dated, false), ([.cacheControl: "public"], false), ([.cacheControl: "no-cache"], false),
            ([.cacheControl: "max-age=0"], false), ([.cacheControl: "max-age=60"], true),
        ] as [(HTTPFields, Bool)])
    func `a response that sets a cookie is stored if it has a lifetime`(headers: HTTPFields, isStored: Bool) {
        var headers = headers
        headers[.setCookie] = "a=b"
        for hasCredentials in [false, true] {
            #expect((Self.decide(headers, hasCredentials: hasCredentials) != nil) == isStored)
        }
        #expect(Self.decide(headers, .private) != nil)
    }

    @Test(
        arguments: [(false, [:], true), (true, [:], false), (false, [.setCookie: "a=b"], false)]
            as [(Bool, HTTPFields, Bool)])
    func `a 304 to one user does not confirm a response without a lifetime`(
        hasCredentials: Bool, headers: HTTPFields, isStored: Bool
    ) throws {
        let old = try #require(Self.decide([.eTag: "\"1\""], hasCredentials: false))
        let decision = StoreDecision(
            confirming: old, by: headers, sentAt: 0, receivedAt: 0,
            rules: StoreRules(kind: .shared, hasCredentials: hasCredentials, keepsCookies: true))
        #expect((decision.stored != nil) == isStored)
    }

    @Test(
        arguments: [
            (nil, [], true), (0, [], true), (60_000, .heuristic, true), (60_000, [], false),
            (nil, .forAllUsers, false), (60_000, [.forAllUsers, .heuristic], false),
        ] as [(Int64?, StoredResponse.Flags, Bool)])
    func `a response without a lifetime that an older version has stored is validated`(
        lifetime: Int64?, flags: StoredResponse.Flags, isValidated: Bool
    ) {
        let stored = StoredResponse.stub(lifetime: lifetime, flags: flags.union([.shared, .hasValidator]))
        #expect(stored.needsValidation(at: 0) == isValidated)
        #expect(!StoredResponse.stub(lifetime: lifetime, flags: flags).needsValidation(at: 0))
        let decision = CacheDecision(now: 100_000, stored: stored, policy: .automatic, servesDisconnected: true)
        #expect(decision == .ask(conditionally: true, elseStored: isValidated ? .none : .disconnected))
    }
}

@Suite("RFC 9111 section 5.2.2.3") struct MustUnderstandTests {
    @Test(
        arguments: [
            (200, "no-store, must-understand, max-age=60", true), (404, "must-understand, no-store", true),
            (299, "no-store, must-understand, max-age=60", false), (299, "must-understand, max-age=60", false),
            (206, "no-store, must-understand, max-age=60", false), (200, "no-store, max-age=60", false),
            (299, "max-age=60", true),
        ])
    func `must-understand replaces no-store for a known status, and forbids storing an unknown one`(
        status: Int, control: String, isStored: Bool
    ) {
        #expect((decide([.cacheControl: control], status: status) != nil) == isStored)
    }
}

@Suite("RFC 9111 sections 5.2.2.4 and 5.2.2.7") struct QualifiedDirectiveTests {
    private static let fields: HTTPFields = [.eTag: "\"1\"", .lastModified: modified, .contentType: "text/plain"]

    @Test(
        arguments: [
            (.private, "no-cache=\"ETag, Content-Type\"", [.cacheControl, .lastModified]),
            (.private, "private=\"ETag, Content-Type\"", [.cacheControl, .eTag, .lastModified, .contentType]),
            (.shared, "private=\"ETag\", no-cache=\"Content-Type\"", [.cacheControl, .lastModified]),
        ] as [(CacheKind, String, [HTTPField.Name])])
    func `fields that a directive names are dropped`(kind: CacheKind, control: String, names: [HTTPField.Name]) throws {
        var headers = Self.fields
        headers[.cacheControl] = control
        let stored = try #require(decide(headers, kind))
        #expect(Set(stored.headers.map(\.name)) == Set(names))
        #expect(stored.flags.isDisjoint(with: .noCache) && stored.flags.contains(.hasValidator))
    }

    @Test func `a redirect whose Location no-cache names is not stored`() {
        let headers: HTTPFields = [.location: "/b", .cacheControl: "no-cache=\"Location\", max-age=60"]
        #expect(decide(headers, status: 301) == nil)
        #expect(decide([.location: "/b", .cacheControl: "no-cache=\"A\""], status: 301) != nil)
    }

    @Test func `a validator that no-cache names is not used`() throws {
        let stored = try #require(decide([.eTag: "\"1\"", .cacheControl: "no-cache=\"ETag\""]))
        #expect(!stored.flags.contains(.hasValidator))
    }
}

@Suite("RFC 9111 sections 5.2.2.2, 5.2.2.8 and 5.2.2.10") struct RevalidationDirectiveTests {
    @Test(
        arguments: [
            ("must-revalidate", true, true), ("proxy-revalidate", false, true), ("s-maxage=60", false, true),
            ("max-age=60", false, false),
        ])
    func `must-revalidate binds every cache, proxy-revalidate and s-maxage bind a shared one`(
        control: String, inPrivate: Bool, inShared: Bool
    ) throws {
        let own = try #require(decide([.cacheControl: control]))
        let shared = try #require(decide([.cacheControl: control], .shared))
        #expect(own.flags.contains(.mustRevalidate) == inPrivate)
        #expect(shared.flags.contains(.mustRevalidate) == inShared)
    }
}

@Suite("RFC 9111 section 3.1") struct StoredFieldsTests {
    @Test func `fields of the connection and Set-Cookie are not stored`() throws {
        let headers: HTTPFields = [
            .connection: "close, X-Hop,\u{301}", .proxyAuthenticate: "Basic", .proxyAuthorization: "Basic YTpi",
            .setCookie: "sid=s3cret", .transferEncoding: "chunked", .eTag: "\"1\"",
        ]
        var all = headers
        all.append(try HTTPField(checking: "X-Hop", "1"))
        all.append(try HTTPField(checking: "X-Other", "a: b"))
        let stored = try #require(decide(all))
        #expect(String(decoding: stored.headerBlock, as: UTF8.self) == "ETag: \"1\"\nX-Other: a: b\n")
        #expect(stored.headers == HeaderBlock.fields(of: stored.headerBlock))
        #expect(stored.headers.count == 2)
        #expect(stored.flags == .hasValidator)
    }
}

@Suite("RFC 9111 section 4.3.4") struct FresheningTests {
    private static let days = ["Sun, 06 Nov 1994 08:49:37 GMT", "Mon, 07 Nov 1994 08:49:37 GMT"]

    @Test(
        arguments: [
            ([.eTag: "\"1\""], [.eTag: "\"1\""], true), ([.eTag: "\"1\""], [.eTag: "W/\"1\""], true),
            ([.eTag: "\"1\""], [.eTag: "\"2\""], false), ([.eTag: "\"1\""], [:], true), ([:], [.eTag: "\"1\""], false),
            ([.lastModified: days[1]], [.eTag: "\"1\""], false),
            ([.lastModified: days[1]], [.lastModified: days[1]], true),
            ([.lastModified: days[1]], [.lastModified: days[0]], false), ([.lastModified: days[1]], [:], true),
            ([.lastModified: days[1]], [.eTag: "\"1\"", .lastModified: days[0]], false),
            ([.eTag: "\"1\"", .lastModified: days[1]], [.lastModified: days[0]], false),
            ([.eTag: "\"1\"", .lastModified: days[1]], [.eTag: "\"1\"", .lastModified: days[0]], true),
            ([:], [:], true),
        ] as [(HTTPFields, HTTPFields, Bool)])
    func `a 304 with another validator does not confirm the stored response`(
        stored: HTTPFields,
        confirmation: HTTPFields,
        isConfirmed: Bool
    ) throws {
        #expect(try #require(decide(stored)).isConfirmed(by: confirmation) == isConfirmed)
    }

    @Test(
        arguments: [
            ([.age: "30"], 30_000, 60_000), ([:], 0, 60_000), ([.date: days[0], .age: "5"], 10_000, 60_000),
            ([.cacheControl: "max-age=5"], 0, 5000), ([.cacheControl: "public", .expires: "0"], 0, 0),
            ([.cacheControl: "must-revalidate, max-age=5"], 0, 5000),
        ] as [(HTTPFields, Int64, Int64)])
    func `a 304 sets the age by its own fields, and the lifetime by the updated fields`(
        confirmation: HTTPFields, age: Int64, lifetime: Int64
    ) throws {
        let old = StoredResponse.stub(
            lifetime: 60_000, initialAge: 50_000, headers: "ETag: \"1\"\nCache-Control: max-age=60\nAge: 50\n")
        let now = try #require(HTTPDate.time(of: Self.days[0], now: 0)) + 10_000
        let decision = StoreDecision(confirming: old, by: confirmation, sentAt: now, receivedAt: now)
        let new = try #require(decision.stored)
        #expect(new.initialAge == age && new.lifetime == lifetime)
        #expect(new.flags.contains(.mustRevalidate) == (confirmation[.cacheControl]?.hasPrefix("must") == true))
    }

    @Test func `a 304 with no-store removes the entry`() {
        let old = StoredResponse.stub(lifetime: nil)
        let confirmation: HTTPFields = [.cacheControl: "no-store"]
        #expect(StoreDecision(confirming: old, by: confirmation, sentAt: 0, receivedAt: 0).stored == nil)
    }

    @Test(
        arguments: [
            ("*", false), ("Cookie, X-Kind", false), ("X-Kind, Accept-Encoding", true), ("User-Agent", true),
        ])
    func `a 304 removes the entry if no request is known to match its Vary`(vary: String, isStored: Bool) {
        let old = StoredResponse.stub(lifetime: 1000)
        let rules = StoreRules(selection: { $0 == "cookie" ? .unknown : KeyRules.isSelecting($0) ? .key : .value })
        let decision = StoreDecision(confirming: old, by: [.vary: vary], sentAt: 0, receivedAt: 0, rules: rules)
        #expect((decision.stored != nil) == isStored)
    }

    @Test func `after a 304 without Date the lifetime is Expires minus the time of arrival`() throws {
        let old = StoredResponse.stub(
            lifetime: 10_000,
            flags: [.hasValidator],
            headers: """
                ETag: "1"
                Date: Sun, 06 Nov 1994 08:49:37 GMT
                Expires: Sun, 06 Nov 1994 08:49:47 GMT

                """
        )
        let start = try #require(HTTPDate.time(of: "Sun, 06 Nov 1994 08:49:37 GMT", now: 0))
        for (later, lifetime) in [(Int64(4000), Int64(6000)), (10_000, 0), (60_000, 0)] {
            let decision = StoreDecision(
                confirming: old, by: [.eTag: "\"1\""], sentAt: start + later, receivedAt: start + later)
            let new = try #require(decision.stored)
            #expect(new.lifetime == lifetime && new.initialAge == 0 && new.headers[.date] != nil)
        }
    }
}
