import Foundation
import HTTPTypes
import Testing

@testable import Diamond

private let cdn = HTTPField.Name("CDN-Cache-Control") ?? .cacheControl
private let own = HTTPField.Name("Own-Cache-Control") ?? .cacheControl

@Suite("RFC 9213 section 2.1") struct TargetedFieldTests {
    private static func control(_ change: (inout CacheControl) -> Void) -> CacheControl {
        var control = CacheControl([:])
        control.isTargeted = true
        change(&control)
        return control
    }

    @Test(
        arguments: [
            ("max-age=60", control { $0.maxAge = 60 }), ("s-maxage=60", control { $0.sharedMaxAge = 60 }),
            ("max-age=60;a=1, public", control { ($0.maxAge, $0.isPublic) = (60, true) }),
            ("max-age=1, max-age=2", control { $0.maxAge = 2 }),
            ("max-age=99999999999", control { $0.maxAge = 1 << 31 }),
            ("stale-while-revalidate=5", control { $0.staleWhileRevalidate = 5 }),
            ("stale-if-error=5", control { $0.staleIfError = 5 }), ("no-store", control { $0.noStore = true }),
            ("no-cache", control { $0.noCache = true }),
            ("no-cache=\"A, b\"", control { $0.noCacheFields = ["a", "b"] }),
            ("private", control { $0.isPrivate = true }), ("private=\"A\"", control { $0.privateFields = ["a"] }),
            ("private=\"\"", control { $0.isPrivate = true }),
            ("must-revalidate", control { $0.mustRevalidate = true }),
            ("must-understand", control { $0.mustUnderstand = true }), ("immutable", control { $0.isImmutable = true }),
            ("proxy-revalidate", control { $0.proxyRevalidate = true }), ("other=(1 2), max-stale=5", control { _ in }),
            ("no-transform", control { $0.noTransform = true }), ("no-store=?0, private=?0", control { _ in }),
        ])
    func `a directive with a value of its type is read`(value: String, control: CacheControl) {
        #expect(CacheControl([cdn: value], targets: [cdn]) == control)
    }

    @Test(arguments: [
        "max-age=\"60\"", "max-age=60.5", "max-age=-60", "max-age", "max-age=a", "max-age=(60)", "max-age=:60:",
    ])
    func `a max-age that is not an integer is stale`(value: String) {
        #expect(CacheControl([cdn: value, .cacheControl: "max-age=60"], targets: [cdn]).maxAge == 0)
    }

    @Test(arguments: ["no-store=1", "public=\"a\"", "private=1", "no-cache=a", "stale-if-error=5.5", "immutable=a"])
    func `a directive other than max-age is ignored if its value has the wrong type`(value: String) {
        #expect(CacheControl([cdn: value], targets: [cdn]) == Self.control { _ in })
    }
}

@Suite("RFC 9213 section 2.2") struct TargetedFieldListTests {
    @Test(
        arguments: [
            ([cdn: "max-age=60", .cacheControl: "max-age=5"], 60), ([cdn: "public", .cacheControl: "max-age=5"], nil),
            ([own: "max-age=70", cdn: "max-age=60"], 70), ([own: "", cdn: "max-age=60"], 60),
            ([own: "max-age=70,", cdn: "max-age=60"], 60), ([own: "Max-Age=70", .cacheControl: "max-age=5"], 5),
            ([cdn: "  ", .cacheControl: "max-age=5"], 5), ([cdn: "max-age=60, &", .cacheControl: "max-age=5"], 5),
            ([.cacheControl: "max-age=5"], 5), ([:], nil),
        ] as [(HTTPFields, Int64?)])
    func `the first valid targeted field of the list is used, else Cache-Control`(headers: HTTPFields, maxAge: Int64?) {
        #expect(CacheControl(headers, targets: [own, cdn]).maxAge == maxAge)
    }

    private func decide(_ headers: HTTPFields, _ targets: [HTTPField.Name] = [cdn]) -> StoredResponse? {
        StoreDecision(
            method: .get, status: 200, headers: headers, body: Data(), sentAt: 0, receivedAt: 0,
            rules: StoreRules(kind: .shared, targets: targets)
        ).stored
    }

    @Test(
        arguments: [
            ([cdn: "max-age=60", .cacheControl: "no-store"], 60_000),
            ([cdn: "no-store", .cacheControl: "max-age=60"], -1),
            ([cdn: "private", .cacheControl: "public, max-age=60"], -1),
            ([cdn: "public", .expires: "Thu, 01 Jan 1970 00:01:00 GMT"], nil),
            ([cdn: "public,", .expires: "Thu, 01 Jan 1970 00:01:00 GMT"], 60_000),
            ([cdn: "max-age=60, s-maxage=70"], 70_000),
        ] as [(HTTPFields, Int64?)])
    func `a valid targeted field replaces Cache-Control and Expires`(headers: HTTPFields, lifetime: Int64?) {
        let stored = decide(headers)
        #expect(lifetime == -1 ? stored == nil : stored != nil && stored?.lifetime == lifetime)
    }

    @Test func `a valid field leaves the age as it is`() {
        let headers: HTTPFields = [cdn: "max-age=60", .age: "30"]
        #expect(decide(headers)?.initialAge == 30_000)
        #expect(decide(headers, [])?.lifetime == nil)
    }

    @Test(arguments: [([cdn], CacheDecision.serveStaleAndRefresh), ([], .ask(conditionally: false, elseStored: .none))])
    func `a stored field decides on reuse`(targets: [HTTPField.Name], decision: CacheDecision) throws {
        let stored = try #require(decide([cdn: "max-age=60, stale-while-revalidate=60"], targets))
        #expect(CacheDecision(now: 90_000, stored: stored, policy: .automatic, targets: targets) == decision)
    }

    @Test func `a confirmation updates the targeted field`() throws {
        let stored = try #require(decide([cdn: "max-age=60", .eTag: "\"1\""]))
        let confirmed = StoreDecision(
            confirming: stored, by: [cdn: "max-age=90", .cacheControl: "max-age=5"], sentAt: 0, receivedAt: 0,
            rules: StoreRules(kind: .shared, targets: [cdn]))
        #expect(confirmed.stored?.lifetime == 90_000)
    }
}
