import Crypto
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The canonical form") struct CanonicalFormTests {
    static let rules = KeyRules(secret: SymmetricKey(data: Data(repeating: 7, count: 32)))

    static func form(_ request: Request) throws -> String { try CanonicalForm(of: request, rules: rules).text }

    @Test func `the canonical form of a request is a text that never changes`() throws {
        var request = Request(
            "https://API.example.com/a/../cities?b=1",
            parameters: ["page": 2, "country": "DE"],
            headers: [.accept: "application/json", .userAgent: "me"]
        )
        request.headers[.authorization] = "Bearer s3cret"
        let form = try CanonicalForm(of: request, rules: Self.rules)
        #expect(
            form.text == """
                diamond 1
                method GET
                origin https://api.example.com
                path /cities
                query b=1
                query country=DE
                query page=2
                header accept application/json
                secret-header authorization 39d1db1cb831df6eb9eea4ecf9a2e8f183b603bdbac2946fecacda917ab4eb21

                """
        )
        #expect(form.key.description == "acfe24d393eda846b5852f85432886021f4d8e00cf0b99c3fc92ce3786389a5e")
    }

    @Test(
        arguments: [
            (Request("http://h/?a=1&b=2"), Request("http://h/?b=2&a=1")),
            (Request("http://h/?a=1&b=2"), Request("http://h/", parameters: ["b": 2, "a": 1])),
            (Request("http://h/?a=1"), Request("http://h/", parameters: ["a": 1.0])),
            (Request("http://h/?a=1"), Request("http://h/", parameters: ["a": "1"])),
            (Request("http://h/"), Request("HTTP://H:80#x")),
            (Request("http://h/"), Request("http://h/", method: .head)),
            (Request("http://h/?q=%61%2f"), Request("http://h/?q=a%2F")),
            (Request("http://me:p%40@h/"), Request("http://h/", headers: [.authorization: "Basic bWU6cEA="])),
            (
                Request("http://h/", headers: [.userAgent: "a"]),
                Request("http://h/", headers: [.cacheControl: "no-cache"])
            ),
            (Request("http://h/?a[b]=1"), Request("http://h/", parameters: ["a": ["b": 1]])),
            (Request("http://h/?a=1&a=2"), Request("http://h/", parameters: ["a": [1, 2]])),
            (
                Request("http://h/", method: .query, body: .json(["a": 1, "b": [1.0, 2e0]])),
                Request("http://h/", method: .query, body: .json(["b": [1, 2], "a": 1]))
            ),
        ] as [(Request, Request)]) func `is equal for equivalent requests`(
            left: Request, right: Request
        ) throws
    {
        #expect(try Self.form(left) == Self.form(right))
    }

    @Test(
        arguments: [
            (Request("http://h/"), Request("https://h/")),
            (Request("http://h/"), Request("http://h:8080/")),
            (Request("http://h/a"), Request("http://h/A")),
            (Request("http://h/a"), Request("http://h/a/")),
            (Request("http://h/a%2Fb"), Request("http://h/a/b")),
            (Request("http://h/"), Request("http://h/?")),
            (Request("http://h/?a"), Request("http://h/?a=")),
            (Request("http://h/?a"), Request("http://h/")),
            (Request("http://h/?a=1&a=2"), Request("http://h/?a=2&a=1")),
            (Request("http://h/?a=+"), Request("http://h/?a=%20")),
            (Request("http://h/?a=+"), Request("http://h/?a=%2B")),
            (Request("http://h/?a=1%2C2,3"), Request("http://h/?a=1,2,3")),
            (Request("http://h/?a=b%2Fc"), Request("http://h/?a=b/c")),
            (Request("http://h/", headers: [.acceptEncoding: "gzip"]), Request("http://h/")),
            (
                Request("http://h/", headers: [HTTPField.Name("Host") ?? .accept: "a"]),
                Request("http://h/", headers: [HTTPField.Name("Host") ?? .accept: "b"])
            ),
            (Request("http://h/?a=1%26b=2"), Request("http://h/?a=1&b=2")),
            (Request("http://h/?a%3D=1"), Request("http://h/?a==1")),
            (Request("http://h/", method: .query, body: .json(1)), Request("http://h/", method: .query)),
            (
                Request("http://h/", method: .query, body: .bytes(Data())),
                Request("http://h/", method: .query)
            ),
            (
                Request("http://h/", method: .query, body: .json(9_007_199_254_740_993)),
                Request("http://h/", method: .query, body: .json(9_007_199_254_740_992))
            ),
            (
                Request("http://h/", method: .query, body: .bytes(Data("1".utf8), contentType: "text/plain")),
                Request("http://h/", method: .query, body: .bytes(Data("1".utf8), contentType: "text/html"))
            ),
            (
                Request("http://h/", headers: [.acceptLanguage: "de"]),
                Request("http://h/", headers: [.acceptLanguage: "fr"])
            ),
            (
                Request("http://h/", headers: [.authorization: "Bearer a"]),
                Request("http://h/", headers: [.authorization: "Bearer b"])
            ),
            (Request("http://h/?token=a"), Request("http://h/?token=b")),
            (Request("http://a:b@h/"), Request("http://a:c@h/")),
            (Request("http://h/", headers: [.cookie: "a=1"]), Request("http://h/")),
        ] as [(Request, Request)]) func `differs for different requests`(
            left: Request, right: Request
        ) throws
    {
        #expect(try Self.form(left) != Self.form(right))
    }

    @Test func `has no credential in plain form`() throws {
        var request = Request("http://me:s3cret@h/?token=s3cret&Api_Key=s3cret", parameters: ["password": "s3cret"])
        request.headers = [.authorization: "s3cret", .cookie: "a=s3cret"]
        request.headers.append(try HTTPField(checking: "X-API-Key", "s3cret"))
        #expect(try !Self.form(request).contains("s3cret"))
        #expect(try Self.form(request).components(separatedBy: "secret-").count == 7)
    }

    @Test(arguments: [
        Request("http://h/", parameters: ["user": ["password": "s3cret"]]),
        Request("http://h/", parameters: ["token": ["a": "s3cret"], "page_token": "s3cret"]),
        Request("http://h/?password[]=s3cret&jwt=s3cret&X-Goog-Signature=s3cret"),
        Request("http://h/", method: .post, parameters: ["session": "s3cret"]),
        Request("http://h/", method: .query, body: .json(["user": [["Password": "s3cret"]]])),
        Request("http://h/", headers: [HTTPField.Name("PRIVATE-TOKEN") ?? .accept: "s3cret"]),
        Request("http://h/", headers: [HTTPField.Name("apikey") ?? .accept: "s3cret"]),
        Request("http://h/", headers: [HTTPField.Name("X-Session-Id") ?? .accept: "s3cret"]),
    ]) func `hides credentials recognized by their names, at every place`(request: Request) throws {
        let wire = try WireRequest(request)
        #expect(try !Self.form(request).contains("s3cret"))
        #expect(try Self.form(request).contains("secret-"))
        #expect(!wire.printableURL(Self.rules).contains("s3cret"))
    }

    @Test(arguments: ["http://h/?", "http://h/?a&", "http://h/?a=1&"], [nil, "user-42"])
    func `does not take an empty query item for a secret that is added after it`(
        url: String, identity: String?
    ) throws {
        var request = Request(url)
        request.identity = identity
        let open = try Self.form(request)
        request.credentials = [.parameter("p", .unnamed("s3cret"))]
        let lines = try Self.form(request).split(separator: "\n")
        #expect(lines.filter { !$0.hasPrefix("secret-") } == open.split(separator: "\n"))
        #expect(lines.filter { $0.hasPrefix("secret-query p ") }.count == (identity == nil ? 1 : 0))
        #expect(lines.filter { $0.hasPrefix("secret-") }.count == (identity == nil ? 1 : 0))
    }

    @Test func `depends on the store's secret only where there are credentials`() throws {
        let other = KeyRules()
        let open = Request("http://h/?a=1")
        let closed = Request("http://h/?token=1")
        #expect(try CanonicalForm(of: open, rules: other).text == Self.form(open))
        #expect(try CanonicalForm(of: closed, rules: other).text != Self.form(closed))
    }

    @Test func `has no line for a line break in a header`() throws {
        var request = Request("http://h/")
        request.headers.append(HTTPField(name: .accept, lenientValue: Array("a\r\nmethod POST".utf8)))
        #expect(
            try Self.form(request).components(separatedBy: "\n").filter { $0.hasPrefix("method") } == ["method GET"])
    }

    @Test func `the canonical form of a form body does not depend on the order of its names`() throws {
        let left = Request("http://h/", method: .post, parameters: ["a": 1, "b": 2])
        let right = Request("http://h/", method: .post, body: .form(["b": 2, "a": 1]))
        #expect(try Self.form(left) == Self.form(right))
    }
}
