import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Rules of identity") struct IdentityRulesTests {
    @Test(arguments: [
        ("_", "_", true), ("_", "__", false), ("utm_*", "utm_source", true), ("utm_*", "utm_", true),
        ("utm_*", "UTM_source", false), ("*", "", true), ("*", "any", true), ("*id", "id", true), ("*id", "sid", true),
        ("*id", "idx", false), ("a*b*c", "a-b-b-c", true), ("a*b*c", "a-c-b", false), ("**", "x", true), ("", "", true),
        ("", "x", false), ("a[*]", "a[b]", true), ("ü*", "über", true),
        ("*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa", false),
    ]) func `ignore a name that matches a pattern as a whole`(
        pattern: String, name: String, isMatch: Bool
    ) {
        #expect(IdentityRules(ignoring: [pattern]).isIgnored(name) == isMatch)
    }

    private func form(_ request: Request) throws -> String {
        try CanonicalForm(of: request, rules: CanonicalFormRules.fixed).text
    }

    @Test(
        arguments: [
            (Request("http://h/?a=1&_=2"), Request("http://h/?a=1")),
            (Request("http://h/?%5F=2&a=1"), Request("http://h/?a=1")),
            (Request("http://h/", method: .query, body: .form(["a": 1, "_": 2])), .query(.form(["a": 1]))),
            (.query(.json(["a": 1, "_": 2])), .query(.json(["a": 1]))),
        ] as [(Request, Request)]) func `omit ignored names from queries and bodies`(
            with: Request, without: Request
        )
        throws
    {
        var (with, without) = (with, without)
        #expect(try form(with) != form(without))
        with.rules.ignoring = ["_"]
        without.rules.ignoring = ["_"]
        #expect(try form(with) == form(without))
    }

    @Test func `do not omit nested members of a JSON body`() throws {
        var (one, other) = (Request.query(.json(["a": ["_": 1]])), Request.query(.json(["a": ["_": 2]])))
        one.rules.ignoring = ["_"]
        other.rules.ignoring = ["_"]
        #expect(try form(one) != form(other))
    }

    @Test func `identity rules of a request can be encoded and decoded`() throws {
        var request = Request("http://h/")
        request.rules = IdentityRules(ignoring: ["a*"], nonSelecting: ["X-A"], secrets: ["b"])
        (request.identity, request.cacheKey) = ("user 42", "")
        let copy = try Request(json: try request.json())
        #expect(copy == request)
        #expect(copy.cacheKey?.isEmpty == true)
    }
}

extension Request {
    fileprivate static func query(_ body: RequestBody) -> Request { Request("http://h/", method: .query, body: body) }
}

/// Rules that are the same in every run.
enum CanonicalFormRules {
    static var fixed: KeyRules { CanonicalFormTests.rules }
}
