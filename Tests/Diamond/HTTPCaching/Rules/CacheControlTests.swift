import HTTPTypes
import Testing

@testable import Diamond

@Suite("RFC 9111 section 5.2") struct CacheControlTests {
    private static func control(_ change: (inout CacheControl) -> Void) -> CacheControl {
        var control = CacheControl([:])
        change(&control)
        return control
    }

    @Test(
        arguments: [
            ("max-age=60", control { $0.maxAge = 60 }), ("s-maxage=60", control { $0.sharedMaxAge = 60 }),
            ("min-fresh=60", control { $0.minFresh = 60 }), ("max-stale=60", control { $0.maxStale = 60 }),
            ("max-stale", control { $0.maxStale = CacheControl.anyStaleness }),
            ("stale-while-revalidate=60", control { $0.staleWhileRevalidate = 60 }),
            ("stale-if-error=60", control { $0.staleIfError = 60 }), ("no-store", control { $0.noStore = true }),
            ("no-cache", control { $0.noCache = true }), ("no-transform", control { $0.noTransform = true }),
            ("only-if-cached", control { $0.onlyIfCached = true }), ("private", control { $0.isPrivate = true }),
            ("public", control { $0.isPublic = true }), ("must-revalidate", control { $0.mustRevalidate = true }),
            ("must-understand", control { $0.mustUnderstand = true }),
            ("proxy-revalidate", control { $0.proxyRevalidate = true }),
            ("immutable", control { $0.isImmutable = true }), ("extension, other=\"a, no-store\"", control { _ in }),
            ("", control { _ in }), ("x-max-age=60, max-ages=60, =60, \"no-store\"", control { _ in }),
        ])
    func `every directive is read, and no other`(value: String, control: CacheControl) {
        #expect(CacheControl([.cacheControl: value]) == control)
    }

    @Test(
        arguments: [
            ("Max-Age=60", 60), ("MAX-AGE=\"60\"", 60), (" max-age=60\t, public", 60), (",,max-age=60,", 60),
            ("public, max-age=60", 60), (#"ext="a\", max-age=5", max-age=60"#, 60),
            ("private=\"a, max-age=5\", max-age=60", 60), ("max-age=0060", 60),
        ])
    func `directive names ignore case, and arguments are tokens or quoted strings`(value: String, seconds: Int64) {
        #expect(CacheControl([.cacheControl: value]).maxAge == seconds)
    }

    @Test(arguments: [
        "a=\"b, no-store", "max-age=\"60, no-store, b", #"a="\", no-store"#,
    ])
    func `a quote that is not closed hides no directive`(value: String) {
        #expect(CacheControl([.cacheControl: value]).noStore)
    }

    @Test func `several Cache-Control fields are read as one list`() {
        let headers: HTTPFields = [.cacheControl: "max-age=60", .cacheControl: "no-store, max-age=5"]
        let control = CacheControl(headers)
        #expect(control.maxAge == 60 && control.noStore)
    }

    @Test(
        arguments: [
            ("no-cache", true, []), ("no-cache=\"Set-Cookie\"", false, ["set-cookie"]),
            ("no-cache=\"A, b ,,C\"", false, ["a", "b", "c"]), ("no-cache=A", false, ["a"]),
            ("no-cache=\"A\", no-cache=\"B\"", false, ["a", "b"]), ("no-cache=\"A\", no-cache", true, ["a"]),
            ("no-cache=\"\"", true, []), ("no-cache=\" , \"", true, []), ("no-cache=", true, []),
            ("no-cache=\"a b\"", true, []), ("no-cache =\"A\"", true, []), ("no-cache=\"A", true, []),
        ] as [(String, Bool, [String])])
    func `a directive applies to the fields that it names, or else to the whole response`(
        value: String, isAll: Bool, fields: [String]
    ) {
        let control = CacheControl([.cacheControl: value])
        #expect(control.noCache == isAll && control.noCacheFields == fields)
        let twin = CacheControl([.cacheControl: value.replacing("no-cache", with: "private")])
        #expect(twin.isPrivate == isAll && twin.privateFields == fields)
    }
}

@Suite("RFC 9111 section 5.4") struct PragmaTests {
    private static let pragma = HTTPField.Name("Pragma") ?? .cacheControl

    @Test(
        arguments: [
            ([pragma: "no-cache"], true), ([pragma: "x, No-Cache"], true), ([pragma: "x"], nil), ([:], nil),
            ([pragma: "no-cache", .cacheControl: "max-age=5"], false), ([.cacheControl: "no-cache"], true),
        ] as [(HTTPFields, Bool?)])
    func `Pragma is obeyed only in a request without Cache-Control`(headers: HTTPFields, isNoCache: Bool?) {
        #expect(CacheControl(ofRequest: headers)?.noCache == isNoCache)
        #expect(CacheControl(headers).noCache == (headers[.cacheControl] == "no-cache"))
    }
}

@Suite("RFC 9111 section 1.2.2") struct DeltaSecondsTests {
    @Test(arguments: [
        ("2147483647", 2_147_483_647), ("2147483648", 1 << 31), ("2147483649", 1 << 31),
        ("99999999999999999999999999", 1 << 31), ("0", 0),
    ]) func `a number of seconds above 2^31 is read as 2^31`(value: String, seconds: Int64) {
        #expect(CacheControl([.cacheControl: "max-age=\(value)"]).maxAge == seconds)
    }

    @Test(arguments: [
        "", "x", "-5", "+5", "1.5", "1e3", "6 0", " 60", "\" 60\"", "\"60 \"", "\"\"", "'60'", "\"60", "60\"", "0x3c",
        "\u{661}",
    ]) func `a number of seconds that is not only digits is read as 0`(value: String) {
        for name in ["max-age", "s-maxage", "max-stale", "min-fresh", "stale-while-revalidate", "stale-if-error"] {
            let control = CacheControl([.cacheControl: "\(name)=\(value)"])
            let values = [
                control.maxAge, control.sharedMaxAge, control.maxStale, control.minFresh, control.staleWhileRevalidate,
                control.staleIfError,
            ]
            #expect(values.compactMap(\.self) == [0], "\(name)")
        }
        #expect(CacheControl([.cacheControl: "max-age =60"]).maxAge == 0)
        #expect(CacheControl([.cacheControl: "max-age"]).maxAge == 0)
    }
}
