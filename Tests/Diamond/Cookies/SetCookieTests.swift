import Foundation
import Testing

@testable import Diamond

@Suite("A Set-Cookie field") struct SetCookieTests {
    private let now = Date(timeIntervalSince1970: 1_767_225_600)

    private func cookie(_ field: String, from url: String = "https://www.example.com/a/b") throws -> Cookie? {
        SetCookie(field)?.cookie(from: try #require(CookieOrigin(url)), at: now)
    }

    @Test(arguments: [
        ("a=1", "a", "1"), (" a = 1 ;x", "a", "1"), ("a=", "a", ""), ("=1", "", "1"), ("1", "", "1"),
        ("a=b=c", "a", "b=c"),
        ("a=\"1, 2\"", "a", "\"1, 2\""), ("a=ü", "a", "ü"),
    ]) func `has a name and a value`(field: String, name: String, value: String) throws {
        let cookie = try #require(try cookie(field))
        #expect(cookie.name == name && cookie.value == value)
        #expect(cookie.pair == Array((name.isEmpty ? value : "\(name)=\(value)").utf8))
    }

    /// U+0600 forms one `Character` with the separator after it. Servers read bytes, and would find another cookie in
    /// the value.
    @Test func `is split at the bytes of separators, even within one character`() throws {
        let cookie = try #require(try cookie("x=1\u{600}; __Host-a=evil; Domain=example.com; Path=/; Secure"))
        #expect(cookie.value == "1\u{600}" && cookie.domain == "example.com" && cookie.isSecure)
        let other = try #require(SetCookie("a\u{600}=1"))
        #expect(other.name.text == "a\u{600}" && other.value.text == "1")
    }

    @Test(arguments: ["", "=", ";a=1", " ; ", "a=\u{1}", "a\u{7f}=1", "a=" + String(repeating: "x", count: 4096)])
    func `a Set-Cookie field that is empty, too long or has invalid bytes is ignored`(field: String) throws {
        #expect(try cookie(field) == nil)
    }

    @Test(arguments: [
        ("a=1", "www.example.com", true), ("a=1; Domain=example.com", "example.com", false),
        ("a=1; domain=.Example.COM", "example.com", false), ("a=1; Domain=www.example.com", "www.example.com", false),
        ("a=1; Domain=", "www.example.com", true), ("a=1; Domain=x.org; Domain=example.com", "example.com", false),
    ]) func `is for its host, or for a domain and its subdomains`(
        field: String, domain: String, isHostOnly: Bool
    ) throws {
        let cookie = try #require(try cookie(field))
        #expect(cookie.domain == domain && cookie.isHostOnly == isHostOnly)
    }

    @Test(arguments: [
        ("com", "https://www.example.com/"), ("example.org", "https://www.example.com/"),
        ("ample.com", "https://www.example.com/"), ("a.www.example.com", "https://www.example.com/"),
        ("example.com.", "https://www.example.com/"), ("0.0.1", "https://127.0.0.1/"),
        ("localhost", "https://a.localhost/"),
    ]) func `is refused for a foreign domain or a public suffix`(domain: String, url: String) throws {
        #expect(try cookie("a=1; Domain=\(domain)", from: url) == nil)
    }

    @Test(arguments: [
        ("localhost", "http://localhost:80/"), ("127.0.0.1", "http://127.0.0.1:8080/"), ("[::1]", "http://[::1]:8080/"),
    ]) func `a Set-Cookie field of an IP address or localhost is for that host only`(host: String, url: String) throws {
        let cookie = try #require(try cookie("a=1; Domain=\(host == "[::1]" ? "" : host)", from: url))
        #expect(cookie.domain == host && cookie.isHostOnly)
    }

    @Test(arguments: [
        ("", "https://h.x/", "/"), ("", "https://h.x/a", "/"), ("", "https://h.x/a/", "/a"),
        ("", "https://h.x/a/b?c/d", "/a"),
        ("Path=/z", "https://h.x/a/b", "/z"), ("Path=z", "https://h.x/a/b", "/a"), ("Path=", "https://h.x/a/b", "/a"),
    ]) func `is for a path`(attribute: String, url: String, path: String) throws {
        #expect(try cookie("a=1; \(attribute)", from: url)?.path == path)
    }

    @Test(
        arguments: [
            ("", nil), ("Max-Age=60", 60), ("Max-Age=0", -1), ("Max-Age=-5", -1), ("Max-Age=x", nil), ("Max-Age=", nil),
            ("Max-Age=6e1", nil), ("Max-Age=99999999999999999999", 400 * 86400),
            ("Expires=Thu, 01 Jan 2026 00:01:00 GMT", 60), ("Expires=Thu, 01 Jan 2026 00:01:00 GMT; Max-Age=5", 5),
            ("Max-Age=5; Expires=Thu, 01 Jan 2026 00:01:00 GMT", 5),
            ("Expires=Thu, 01 Jan 2099 00:00:00 GMT", 400 * 86400),
            ("Expires=never", nil), ("Max-Age=60; Max-Age=5", 5), ("Max-Age=60; Max-Age=soon", 60),
            ("Max-Age=60; Max-Age=", 60), ("Max-Age=0; Max-Age=x", -1),
            ("Expires=Thu, 01 Jan 2026 00:01:00 GMT; Expires=0", 60),
        ] as [(String, Double?)]) func `expires by Max-Age, else by Expires`(
            attributes: String, seconds: Double?
        ) throws
    {
        let cookie = try #require(try cookie("a=1; \(attributes)"))
        if seconds == -1 {
            #expect(cookie.isExpired(at: now))
        } else {
            #expect(cookie.expires == seconds.map { now.addingTimeInterval($0) })
        }
    }

    @Test func `has flags`() throws {
        let plain = try #require(try cookie("a=1"))
        #expect(!plain.isSecure && !plain.isHTTPOnly)
        let flagged = try #require(try cookie("a=1;SECURE; httponly=x; SameSite=Lax"))
        #expect(flagged.isSecure && flagged.isHTTPOnly)
        #expect(try cookie("a=1; Secure", from: "http://www.example.com/") == nil)
    }

    @Test(arguments: [
        ("__Secure-a=1; Secure", true), ("__Secure-a=1", false), ("__secure-a=1", false),
        ("__Host-a=1; Secure; Path=/", true), ("__Host-a=1; Secure", false), ("__Host-a=1; Path=/", false),
        ("__host-a=1; Secure; Path=/; Domain=www.example.com", false), ("__Host-a=1; Secure; Path=/a", false),
        ("=__Secure-a=1; Secure", false), ("__Host-a; Secure; Path=/", false),
    ]) func `must fulfill the prefix of its name`(field: String, isTaken: Bool) throws {
        #expect((try cookie(field) != nil) == isTaken)
    }

    @Test func `shows no value where it is printed`() throws {
        let cookie = try #require(try cookie("session=s3cret"))
        for text in ["\(cookie)", String(reflecting: cookie), "\(Mirror(reflecting: cookie).children.map(\.value))"] {
            #expect(!text.contains("s3cret") && text.contains("session"))
        }
    }

    @Test(arguments: [
        ["a=1"], ["a=1; Path=/", "b=2; Path=/wire"], ["a=1; Expires=Thu, 01 Jan 2099 00:00:00 GMT", "b=2"],
        ["a=1; expires=Thursday, 01-Jan-99 00:00:00 GMT; Secure", "__Host-b=x,y; Path=/"],
    ]) func `fields joined by Foundation are separated`(fields: [String]) {
        #expect(SetCookieFields.separated(fields.joined(separator: ",")) == fields)
        #expect(SetCookieFields.separated(fields.joined(separator: ", ")) == fields)
    }
}
