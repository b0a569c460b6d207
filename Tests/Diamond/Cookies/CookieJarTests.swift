import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A cookie jar") struct CookieJarTests {
    private let jar = CookieJar()
    private let clock = ManualClock()

    private func receive(
        _ fields: String..., from url: String = "https://www.example.com/a/b", of identity: String? = nil
    ) {
        let headers = HTTPFields(fields.map { HTTPField(name: .setCookie, value: $0) })
        jar.receive(headers, from: url, of: identity, since: jar.removals, at: clock.now)
    }

    private func field(_ url: String, of identity: String? = nil) -> String? {
        let field = jar.field(for: url, of: identity, at: clock.now)
        #expect(jar.has(for: url, of: identity, at: clock.now) == (field != nil))
        return field?.value
    }

    @Test func `distinguishes a name in Latin-1 from the same name in UTF-8`() throws {
        for name in [[0xE9], [0xC3, 0xA9]] as [[UInt8]] {
            let headers = HTTPFields([HTTPField(name: .setCookie, lenientValue: name + Array("=1; Path=/".utf8))])
            jar.receive(headers, from: "https://www.example.com/", of: nil, since: jar.removals, at: clock.now)
        }
        let cookies = jar.cookies()
        #expect(cookies.count == 2 && Set(cookies).count == 2)
    }

    private func receive(bytes: [UInt8]) {
        let headers = HTTPFields([HTTPField(name: .setCookie, lenientValue: bytes)])
        jar.receive(headers, from: "https://www.example.com/", of: nil, since: jar.removals, at: clock.now)
    }

    private func sentBytes() -> [UInt8]? {
        jar.field(for: "https://www.example.com/", of: nil, at: clock.now)?.bytes
    }

    @Test func `sends text set by the app as UTF-8, and other bytes as received`() throws {
        receive(bytes: [0xE9, 0x3D, 0xFE])
        var cookie = try #require(jar.cookies().first)
        cookie.value = "\u{65E5}\u{E9}"
        jar.set(cookie, at: clock.now)
        #expect(sentBytes() == [0xE9, 0x3D] + Array("\u{65E5}\u{E9}".utf8))
        jar.removeAll(of: nil)
        receive(bytes: [0xE9, 0x3D, 0xFE])
        cookie = try #require(jar.cookies().first)
        jar.removeAll(of: nil)
        cookie.name = "\u{E9}"
        jar.set(cookie, at: clock.now)
        #expect(sentBytes() == [0xC3, 0xA9, 0x3D, 0xFE])
    }

    @Test func `has one cookie of a name, whether its value is text or not`() {
        receive(bytes: Array("a=".utf8) + [0xE9])
        receive(bytes: Array("a=1".utf8))
        #expect(sentBytes() == Array("a=1".utf8))
        receive(bytes: Array("a=".utf8) + [0xE9])
        #expect(sentBytes() == Array("a=".utf8) + [0xE9])
    }

    @Test func `reads a valid UTF-8 name and value as text, whatever bytes follow`() {
        receive(bytes: Array("\u{E9}=\u{E8}; Comment=".utf8) + [0xFF])
        #expect(jar.cookies().map(\.name) == ["\u{E9}"] && jar.cookies().map(\.value) == ["\u{E8}"])
        receive(bytes: Array("\u{E9}=1".utf8))
        #expect(sentBytes() == Array("\u{E9}=1".utf8))
    }

    @Test(arguments: [[0xE9], [0xC3, 0xA9], [0xFF, 0x3D, 0xFE]] as [[UInt8]])
    func `sends a cookie back byte for byte`(value: [UInt8]) {
        let bytes = Array("a=".utf8) + value
        let headers = HTTPFields([HTTPField(name: .setCookie, lenientValue: bytes + Array("; Path=/".utf8))])
        jar.receive(headers, from: "https://www.example.com/", of: nil, since: jar.removals, at: clock.now)
        receive("b=2; Path=/")
        let field = jar.field(for: "https://www.example.com/", of: nil, at: clock.now)
        #expect(field?.bytes == bytes + Array("; b=2".utf8))
    }

    @Test(arguments: [
        ("a=1", "https://www.example.com/a", true), ("a=1", "https://www.example.com/a/c/d", true),
        ("a=1", "http://www.example.com/a/", true), ("a=1", "https://www.example.com:8443/a", true),
        ("a=1", "https://www.example.com/", false), ("a=1", "https://www.example.com/ab", false),
        ("a=1", "https://example.com/a", false), ("a=1", "https://x.www.example.com/a", false),
        ("a=1; Domain=example.com", "https://other.example.com/a", true),
        ("a=1; Domain=example.com", "https://a.b.example.com/a", true),
        ("a=1; Domain=example.com", "https://badexample.com/a", false),
        ("a=1; Path=/%7Eanna", "https://www.example.com/%7Eanna/b", true),
        ("a=1; Path=/%7Eanna", "https://www.example.com/~anna/b", false),
        ("a=1; Path=/%7eanna", "https://www.example.com/%7Eanna/b", false),
        ("a=1; Path=/\u{301}a", "https://www.example.com/\u{301}a", false),
        ("a=1; Path=/", "https://www.example.com/", true), ("a=1; Path=/a/", "https://www.example.com/a", false),
        ("a=1; Secure", "http://www.example.com/a", false), ("a=1; Secure", "https://www.example.com/a", true),
        ("a=1; HttpOnly", "https://www.example.com/a", true),
    ]) func `sends a cookie to its domain and path`(cookie: String, url: String, isSent: Bool) {
        receive(cookie)
        #expect(field(url) == (isSent ? "a=1" : nil))
    }

    @Test func `takes the default path of a cookie without decoding percent-encoding`() {
        receive("a=1", from: "https://h.x/%7Eanna/%2f/a")
        #expect(field("https://h.x/%7Eanna/%2f/b") == "a=1")
        #expect(field("https://h.x/~anna/%2F/b") == nil)
    }

    @Test func `distinguishes canonically equivalent texts`() {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        receive("\(composed)=1; Path=/", "\(decomposed)=2; Path=/", of: composed)
        #expect(jar.cookies(of: composed).map(\.value) == ["1", "2"])
        #expect(
            field("https://www.example.com/", of: composed)?.utf8.count == "\(composed)=1; \(decomposed)=2".utf8.count)
        #expect(field("https://www.example.com/", of: decomposed) == nil)
        receive("a=1; Path=/\(composed)", "a=2; Path=/\(decomposed)")
        #expect(jar.cookies().count == 2)
        jar.removeAll(of: decomposed)
        #expect(jar.cookies(of: composed).count == 2)
        #expect(Cookie("a", composed, domain: "h") != Cookie("a", decomposed, domain: "h"))
        let removals = jar.removals
        jar.removeAll(of: decomposed)
        let headers: HTTPFields = [.setCookie: "late=1"]
        jar.receive(headers, from: "https://h.x/", of: composed, since: removals, at: clock.now)
        #expect(jar.cookies(of: composed).count == 3)
    }

    @Test func `sends cookies with longer paths first, and of those the oldest`() {
        receive("a=1; Path=/", "b=2; Path=/a", "c=3; Path=/", "d=4; Path=/a")
        receive("a=5; Path=/")
        #expect(field("https://www.example.com/a") == "b=2; d=4; a=5; c=3")
    }

    @Test func `stores one cookie for a name, domain and path`() {
        receive("a=1; Path=/", "a=2; Path=/a", "a=3; Path=/; Domain=example.com")
        receive("a=4; Path=/")
        #expect(field("https://www.example.com/a") == "a=2; a=4; a=3")
        #expect(jar.cookies().count == 3)
    }

    @Test func `sends no expired cookie`() {
        receive("a=1; Path=/; Max-Age=60", "b=2; Path=/")
        #expect(field("https://www.example.com/") == "a=1; b=2")
        clock.advance(by: 60)
        #expect(field("https://www.example.com/") == "b=2")
        receive("b=; Path=/; Max-Age=0")
        #expect(field("https://www.example.com/") == nil)
    }

    @Test func `separates the cookies of identities`() {
        receive("a=1; Path=/", of: "anna")
        receive("a=2; Path=/", of: "otto")
        #expect(field("https://www.example.com/") == nil)
        #expect(field("https://www.example.com/", of: "anna") == "a=1")
        jar.removeAll(of: "anna")
        #expect(field("https://www.example.com/", of: "anna") == nil)
        #expect(field("https://www.example.com/", of: "otto") == "a=2")
    }

    @Test func `ignores responses to requests from before its clearing`() {
        let removals = jar.removals
        jar.removeAll(of: "anna")
        jar.receive([.setCookie: "a=1"], from: "https://h.x/", of: "anna", since: removals, at: clock.now)
        #expect(jar.cookies(of: "anna").isEmpty)
    }

    @Test(arguments: [nil, "otto"]) func `accepts responses to another identity than the cleared one`(
        identity: String?
    ) {
        let removals = jar.removals
        jar.removeAll(of: "anna")
        jar.receive([.setCookie: "a=1"], from: "https://h.x/", of: identity, since: removals, at: clock.now)
        #expect(jar.cookies(of: identity).count == 1)
    }

    @Test(arguments: ["anna", "otto", nil])
    func `remembers a bounded number of removals, and ignores older responses`(identity: String?) {
        let before = jar.removals
        jar.removeAll(of: "anna")
        let after = jar.removals
        for number in 1...1000 { jar.removeAll(of: "\(number)") }
        for (name, removals) in [("before", before), ("after", after)] {
            jar.receive([.setCookie: "\(name)=1"], from: "https://h.x/", of: identity, since: removals, at: clock.now)
        }
        #expect(jar.cookies(of: identity).map(\.name) == ["after"])
    }

    @Test(arguments: [
        ("a=2; Path=/", "http://www.example.com/", false), ("a=2; Path=/a/b", "http://www.example.com/", false),
        ("a=2; Path=/; Domain=example.com", "http://x.example.com/", false),
        ("b=2; Path=/", "http://www.example.com/", true),
        ("a=2; Path=/", "http://other.org/", true), ("a=2; Path=/", "https://www.example.com/", true),
    ]) func `a server without TLS cannot replace a secure cookie`(cookie: String, url: String, isTaken: Bool) {
        receive("a=1; Secure; Path=/; Domain=example.com")
        receive(cookie, from: url)
        #expect(jar.cookies().contains { $0.value == "2" } == isTaken)
    }

    @Test(arguments: [("", 2), ("; Path=/", 1)])
    func `a server without TLS can replace an expired secure cookie`(path: String, count: Int) {
        receive("a=1; Secure; Path=/; Max-Age=60")
        receive("a=2\(path)", from: "http://www.example.com/b/c")
        #expect(jar.cookies().map(\.value) == ["1"])
        clock.advance(by: 60)
        receive("a=2\(path)", from: "http://www.example.com/b/c")
        #expect(jar.cookies().count == count && jar.cookies().contains { $0.value == "2" })
    }

    @Test func `a server without TLS cannot evict a secure cookie`() {
        receive("session=1; Secure; Path=/")
        let clear = "http://www.example.com/"
        for number in 0..<2 * IdentityCookies.mostOfDomain { receive("a\(number)=1; Path=/", from: clear) }
        receive("session=evil; Path=/", from: clear)
        #expect(jar.cookies().filter { $0.name == "session" }.map(\.value) == ["1"])
        for number in 0..<IdentityCookies.most { receive("a=1", from: "http://h\(number).example.org/") }
        #expect(jar.cookies().contains { $0.name == "session" } && jar.cookies().count == IdentityCookies.most)
    }

    @Test func `is bounded, and evicts the least recently used cookies`() {
        for number in 1..<IdentityCookies.mostOfDomain + 20 {
            receive("a0=1; Path=/")
            receive("a\(number)=1; Path=/")
        }
        #expect(jar.cookies().contains { $0.name == "a0" } && !jar.cookies().contains { $0.name == "a1" })
        #expect(jar.cookies().count == IdentityCookies.mostOfDomain)
        for number in 0..<IdentityCookies.most { receive("a=1", from: "https://h\(number).example.com/") }
        #expect(jar.cookies().count == IdentityCookies.most)
    }

    @Test func `imports and exports the cookies that an app stores elsewhere`() {
        jar.set(Cookie("a", "1", domain: "Example.com", isHostOnly: false), of: "anna", at: clock.now)
        #expect(field("https://www.example.com/", of: "anna") == "a=1")
        #expect(jar.cookies(of: "anna").map(\.name) == ["a"])
        jar.remove(of: "anna") { $0.domain == "example.com" }
        #expect(jar.cookies(of: "anna").isEmpty)
    }

    @Test func `a removal's predicate may use its cookie jar, which keeps cookies set meanwhile`() {
        receive("a=1", "b=1", "c=1")
        jar.remove { cookie in
            if cookie.name == "b" { receive("b=2") }
            return jar.cookies().contains { $0.name == cookie.name && $0.name != "c" }
        }
        #expect(jar.cookies().map { "\($0.name)=\($0.value)" } == ["b=2", "c=1"])
    }
}
