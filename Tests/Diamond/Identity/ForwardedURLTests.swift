import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The URL of a forwarded request") struct ForwardedURLTests {
    private func form(_ target: String, _ method: HTTPRequest.Method = .get) throws -> String {
        let request = Request(forwarding: method, origin: "http://h", target: target, headers: [:])
        return try CanonicalForm(of: WireRequest(request), rules: KeyRules()).text
    }

    @Test(arguments: [
        ("/?b=2&a=1", "http://h/?b=2&a=1"), ("//x/../y", "http://h//x/../y"), ("/%zz?", "http://h/%zz?"),
        ("/?a=%7e&token=s3cret", "http://h/?a=%7e&token=•••"), ("/?a=\"ü", "http://h/?a=\"ü"), ("*", "http://h*"),
    ])
    func `is in its canonical form as it was sent, with its secrets masked`(target: String, shown: String) throws {
        for method in [HTTPRequest.Method.get, .head, .query] {
            let form = try form(target, method)
            #expect(ForwardedURL(inForm: form)?.text == shown)
            #expect(!form.contains("s3cret"))
        }
    }

    @Test func `is not in other canonical forms`() throws {
        #expect(ForwardedURL(inForm: try form("/a?b=1")) == nil)
        for key in ["cities", "GET", "GET cities", "", "a http"] {
            var request = Request("http://h/")
            request.cacheKey = key
            let form = try CanonicalForm(of: WireRequest(request), rules: KeyRules()).text
            #expect(ForwardedURL(inForm: form) == nil)
        }
    }

    @Test func `has a key of its own for each secret`() throws {
        let keys = try ["/?token=%61", "/?token=a", "/?b=&token=a", "/?token=a&b="].map { try form($0) }
        #expect(Set(keys).count == keys.count)
    }
}
