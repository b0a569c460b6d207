import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("The explanation of a canonical form") struct KeyExplanationTests {
    private static func request(_ body: RequestBody?, parameters: Parameters = [:]) -> Request {
        var request = Request("http://h/", method: .post, parameters: parameters, body: body)
        request.rules = IdentityRules(ignoring: ["_*"], secrets: ["pin"])
        return request
    }

    private static func omissions(_ request: Request) throws -> [String] {
        try CanonicalForm.explanation(of: request, rules: KeyRules()).omissions.map { "\($0.part): \($0.reason)" }
    }

    private static let bodies: [(request: Request, ignored: [String], replaced: [String])] = [
        (
            request(
                .json(["_b": 1, "_a": ["pin": 1], "a": ["_c": 1, "Pin": 1, "b": [["pin": 1], ["pin": 2]]], "pin": 2])),
            ["member _a", "member _b"], ["member a.Pin", "member a.b.pin", "member pin"]
        ),
        (request(.json([["pin": 1, "_a": 1], ["pin": 1]])), [], ["member pin"]),
        (request(.json(["password": "s3cret"])), [], []),
        (
            request(.form(["_b": 1, "a": 2, "_": 3, "user[pin]": 4, "pin": nil, "token": 5])),
            ["field _b", "field _"], ["field user%5Bpin%5D"]
        ),
        (request(nil, parameters: ["_b": 1, "pin": 4]), ["field _b"], ["field pin"]),
        (
            request(.multipart([.init("_ b", "1"), .init("a", "2"), .init("pin", "3"), .init("token", "4")])),
            ["part _%20b"], ["part pin"]
        ),
        (request(.bytes(Data("_b=1".utf8))), [], []),
    ]

    @Test(arguments: bodies.indices) func `an explanation names the omitted members of a body`(index: Int) throws {
        let (request, ignored, replaced) = Self.bodies[index]
        let reasons = ignored.map { "\($0): is ignored by the rules" }
        #expect(try Self.omissions(request) == reasons)
        var identified = request
        identified.identity = "me"
        let all = Set(reasons + replaced.map { "\($0): the identity replaces it" })
        #expect(try Set(Self.omissions(identified)) == all)
        #expect(try Self.omissions(identified).count == all.count)
    }

    @Test(
        arguments: [
            (request(.json(["a": 1])), ["body"]), (request(.json(["token": 1])), []),
            (request(.bytes(Data())), ["body"]),
            (request(.form(["a": 1, "token": 2])), ["field a"]), (request(.multipart([.init("a", "1")])), ["part a"]),
            (Request("http://h/?a=1&token=2"), ["parameter a"]), (request(nil), []),
        ]) func `an explanation names the parts of a cache key`(request: Request, omitted: [String]) throws
    {
        var request = request
        request.cacheKey = "k"
        request.headers[.contentType] = nil
        let all = omitted.map { "\($0): the cache key replaces it" }
        #expect(try Self.omissions(request).filter { !$0.hasPrefix("header") } == all)
    }

    @Test func `an explanation knows the rule of a line whose content begins with a combining mark`() throws {
        var request = Request("http://h/", method: .post, body: .bytes(Data("x".utf8)))
        request.headers[.contentType] = "\u{301}a"
        let lines = try CanonicalForm.explanation(of: request, rules: KeyRules()).lines
        #expect(lines.contains { $0.text == "type \u{301}a" && $0.rule == "the body's Content-Type" })
    }

    @Test func `an explanation names a secret of the query that the identity replaces`() throws {
        var request = Request("http://h/")
        request.credentials = [.parameter("key", .unnamed("s3cret"))]
        #expect(try Self.omissions(request) == [])
        request.identity = "me"
        #expect(try Self.omissions(request) == ["parameter key: the identity replaces it"])
    }

    @Test func `an explanation contains no control character from a member's name`() throws {
        #expect(
            try Self.omissions(Self.request(.json(["_\u{1B}[0m": 1]))) == [
                "member _\\u{1B}[0m: is ignored by the rules"
            ])
    }
}
