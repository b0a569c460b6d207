import HTTPTypes
import Testing

@testable import Diamond

@Suite("A request that a gateway forwards") struct ForwardedRequestTests {
    private func key(_ target: String, _ method: HTTPRequest.Method = .get) throws -> RequestKey {
        let request = Request(forwarding: method, origin: "http://h:8080", target: target, headers: [:])
        return try CanonicalForm(of: WireRequest(request), rules: KeyRules()).key
    }

    @Test func `has a key of its own for every target`() throws {
        let targets = [
            "/", "//", "/a", "/a?", "/a/", "/./a", "/b/../a", "/%61", "/%7e", "/~", "/a?b&c", "/a?c&b", "/a?b&c&",
            "/a?b=1&b=2",
            "/a?b=2&b=1", "/a?b+c", "/a?b%20c", "/a|b", "/%zz", "/A", "*",
        ]
        #expect(try Set(targets.map { try key($0) }).count == targets.count)
    }

    @Test(arguments: ["/a", "/a?c=1&b=2", "//"])
    func `shares its key between GET and HEAD, and with no other method`(target: String) throws {
        #expect(try key(target) == key(target, .head))
        #expect(try key(target) != key(target, .query))
    }

    @Test func `has the key of the app's request if its target is in normal form`() throws {
        let request = Request("http://h:8080/a/b?c=1&d=2")
        #expect(try key("/a/b?c=1&d=2") == CanonicalForm(of: WireRequest(request), rules: KeyRules()).key)
    }
}
