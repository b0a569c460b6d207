import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("The URL of a request") struct RequestURLTests {
    @Test(arguments: [
        ("HTTP://Example.COM", "http://example.com/"),
        ("https://example.com:443/", "https://example.com/"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("http://example.com:/", "http://example.com/"),
        ("http://[2001:DB8::1]:8080/x", "http://[2001:db8::1]:8080/x"),
        ("http://[2001:0DB8:0:0:1:0:0:1]/", "http://[2001:db8::1:0:0:1]/"),
        ("http://[2001:db8:0:1:1:1:1:1]/", "http://[2001:db8:0:1:1:1:1:1]/"),
        ("http://[0:0:0:0:0:0:0:0]/", "http://[::]/"),
        ("http://[1::]/", "http://[1::]/"),
        ("http://[::FFFF:c000:0280]/", "http://[::ffff:192.0.2.128]/"),
        ("http://[64:ff9b::192.0.2.33]/", "http://[64:ff9b::c000:221]/"),
        ("http://BÜCHER.example:8080/", "http://xn--bcher-kva.example:8080/"),
        ("https://faß.de", "https://xn--fa-hia.de/"),
        ("https://例え.テスト/", "https://xn--r8jz45g.xn--zckzah/"),
        ("http://h./", "http://h./"),
        ("http://h/a/./b/../c", "http://h/a/c"),
        ("http://h/..//a", "http://h//a"),
        ("http://h/a/..", "http://h/"),
        ("http://h/a/.", "http://h/a/"),
        ("http://h/a/%2e%2E/b", "http://h/b"),
        ("http://h/%7eA%2fb", "http://h/~A%2Fb"),
        ("http://h/é?ü=ö#ä", "http://h/%C3%A9?%C3%BC=%C3%B6"),
        ("http://h/Path/", "http://h/Path/"),
        ("http://h?a[b]=1&c=d/e", "http://h/?a[b]=1&c=d/e"),
        ("http://user:pw@h/", "http://h/"),
        ("http://h/?", "http://h/?"),
        ("http://h/a?b?c", "http://h/a?b?c"),
    ]) func `a URL has one normal form`(text: String, normal: String) throws {
        #expect(try RequestURL(text).whole == normal)
    }

    @Test(arguments: [
        "http://example.com", "https://h:8443/a/b?c=%2F&d=%20+", "http://[::1]/", "http://h/%C3%A9//?a&b=",
    ]) func `a URL in normal form stays unchanged`(text: String) throws {
        let once = try RequestURL(text).whole
        #expect(try RequestURL(once).whole == once)
        let sent = try RequestURL(text).text()
        #expect(try RequestURL(sent).text() == sent)
    }

    @Test func `a URL that is accepted unchanged equals the parser's result`() throws {
        let pieces = [
            "https://", "http://", "HTTP://", "h", "api.example.com", "Ä", "@", ":80", ":443", ":8443",
            ":", "[::1]", "/", "/a", "/.a",
            "/..",
            ".", "%", "%41", "%2f", "?", "a=1", "&", "[b]", "#", " ", "+", "é", "\"", "",
        ]
        var random = SplitMix(state: Effort.seed)
        var taken = 0
        for _ in 0..<Effort.rounds(5000, soaking: 500_000) {
            let begins = Bool.random(using: &random) ? ["https://", "h", "/"] : []
            let rest = (0..<Int.random(in: 0...6, using: &random)).map { _ in pieces.randomElement(using: &random) ?? ""
            }
            let text = (begins + rest).joined()
            guard let url = RequestURL(normal: text) else { continue }
            taken += 1
            let bytes = Array(text.utf8)
            #expect(try RequestURL.Parser.read(bytes.span) == url, "seed \(Effort.seed): \(text)")
        }
        #expect(taken > 500)
    }

    @Test(arguments: [
        "https://h", "https://H/", "Https://h/", "https:///", "http://h:80/", "https://h:443/",
        "https://h:/", "https://h:080/", "https://h:0/", "https://h:65536/", "https://h:655350/", "https://h:8443",
        "https://h:8443a/", "https://:8443/", "https://u@h/", "https://[::1]/",
        "https://h/%41",
        "https://h/./a", "https://h/a/..", "https://h/a#b", "https://h/?%41", "https://h/é", "https://h/?a b", "h", "",
    ]) func `a URL is not accepted unchanged where it has to be parsed`(text: String) {
        #expect(RequestURL(normal: text) == nil)
    }

    @Test(arguments: [
        ("", "begin with https://"), ("example.com/a", "begin with https://"), ("ftp://h/", "begin with https://"),
        ("http:/h", "'//' must follow"), ("http://", "it has no host"), ("http:///a", "it has no host"),
        ("http://h:99999/", "1 to 65535"), ("http://h:x/", "1 to 65535"), ("http://h/a b", "write %20"),
        ("http://h/%zz", "write %25"), ("http://h/%4", "write %25"), ("http://h/\u{1}", "write %01"),
        ("http://h/?q=\"", "write %22"), ("http://[::1/", "not an IPv6 address"),
        ("http://[v]/", "not an IPv6 address"),
        ("http://[::1%25eth0]/", "without a zone"), ("http://[1:2:3]/", "not an IPv6 address"),
        ("http://[1::2::3]/", "not an IPv6 address"), ("http://[::1.2.3.256]/", "not an IPv6 address"),
        ("http://[1:2:3:4:5:6:7::8:9]/", "not an IPv6 address"), ("http://[::12345]/", "not an IPv6 address"),
        ("http://a\u{AD}\u{200B}b..\u{2028}/", "xn--"), ("http://\u{FFFD}/", "xn--"),
        ("http://a b/", "not allowed in a name"), ("http://h\\x/", "not allowed in a name"),
    ]) func `a malformed URL is refused with the remedy`(text: String, remedy: String) {
        let error = #expect(throws: RequestError.self) { try RequestURL(text) }
        #expect(error?.code == .malformedURL)
        #expect(error?.message.contains(remedy) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        ("http://h/%7eA%2fb?c=%2f%7E", "http://h/%7eA%2fb?c=%2f%7E"), ("HTTP://H:80?%41", "http://h/?%41"),
        ("http://h/é%c3%A9?é", "http://h/%C3%A9%c3%A9?%C3%A9"), ("http://h/a/%2e%2E/%7e/.%2e/b%2f", "http://h/b%2f"),
        ("http://h/;a=b?&&a;b=+&%20=", "http://h/;a=b?&&a;b=+&%20="), ("http://u:%7e@h/%7e#%7e", "http://h/%7e"),
        ("http://h/%252e%252e/", "http://h/%252e%252e/"),
    ]) func `a URL is sent with the escapes that were written`(text: String, sent: String) throws {
        let url = try RequestURL(text)
        #expect(url.text() == sent)
        #expect(url.text(adding: try RequestURL("http://h/?x").queryItems()).hasPrefix(sent))
        #expect(url.sentPath == String(sent.dropFirst(8).prefix { $0 != "?" }))
    }

    @Test func `URLs that differ only in unneeded escapes are equal`() throws {
        #expect(try RequestURL("http://h/%7eA") == RequestURL("http://h/~%41"))
        #expect(try RequestURL("http://h/%2f") == RequestURL("http://h/%2F"))
        #expect(try RequestURL("http://h/%2f") != RequestURL("http://h//"))
    }

    @Test(arguments: [
        ("http://h/", "h"), ("https://a.b:8443/x:y", "a.b"), ("http://[::1]/", "[::1]"),
        ("http://[::1]:81/a:b", "[::1]"),
        ("http://u:p@h:81?a:b", "h"),
    ]) func `a URL has a host`(text: String, host: String) throws {
        #expect(try RequestURL(text).host == host)
    }

    @Test(arguments: [
        "//evil.example/x", "//evil.example", "///x", "\\\\evil.example/x", "/\\evil.example", "\\/evil.example",
        "../x", "..",
        "cities/../x", "cities/..", "/cities/../../x", "cities/../../x", "cities/%2e%2E/x", "cities/.%2e", "..\\x",
        "cities\\..\\x", "cities/..%2Fx", "cities%2f..", "cities/..%5Cx", "cities/..?a=1", "cities/..#a",
    ]) func `a reference that leaves the base is refused`(reference: String) {
        let error = #expect(throws: MalformedURL.self) {
            try RequestURL.resolve(reference, within: "https://api.example/v1/")
        }
        #expect(error?.message.contains("leaves the engine's base URL") == true)
        #expect(error?.message.contains("'\(reference.prefix { $0 != "?" && $0 != "#" })") == true)
    }

    @Test(arguments: [
        ("cities/a..b", "https://api.example/v1/cities/a..b"), ("...", "https://api.example/v1/..."),
        ("./cities", "https://api.example/v1/./cities"), ("?a=../x", "https://api.example/v1/?a=../x"),
        ("a?b=//c", "https://api.example/v1/a?b=//c"), ("a//b", "https://api.example/v1/a//b"),
        ("/v2/cities", "https://api.example/v2/cities"), ("%252e%252e/x", "https://api.example/v1/%252e%252e/x"),
        ("https://other.example/../x", "https://other.example/../x"), ("", "https://api.example/v1/"),
    ]) func `any other reference of an app is resolved`(reference: String, resolved: String) throws {
        #expect(try RequestURL.resolve(reference, within: "https://api.example/v1/") == resolved)
    }

    @Test(arguments: [
        ("cities", "https://api.example/v1/cities"), ("./cities", "https://api.example/v1/./cities"),
        ("?a=1", "https://api.example/v1?a=1"), ("", "https://api.example/v1"),
        ("/cities", "https://api.example/cities"),
        ("\u{301}", "https://api.example/v1/\u{301}"),
    ]) func `a base without a slash at its end is a directory`(reference: String, resolved: String) throws {
        #expect(try RequestURL.resolve(reference, within: "https://api.example/v1") == resolved)
    }

    @Test(arguments: [
        ("https://api.example", "https://api.example/cities"),
        ("https://api.example/v1?k=1", "https://api.example/v1/cities"),
    ]) func `a base may have no path, or a query`(base: String, resolved: String) throws {
        #expect(try RequestURL.resolve("cities", within: base) == resolved)
    }

    @Test(arguments: [
        ("", "http://u@h/v/a?b=[1]"), ("#c", "http://u@h/v/a?b=[1]#c"), ("?c", "http://u@h/v/a?c"),
        ("c", "http://u@h/v/c"), ("/c", "http://u@h/c"), ("//i/c", "http://i/c"), ("https://i/", "https://i/"),
        ("/\u{301}c", "http://u@h/\u{301}c"),
    ]) func `a reference is resolved as RFC 3986 says`(reference: String, resolved: String) throws {
        #expect(try RequestURL.resolve(reference, against: "http://u@h/v/a?b=[1]#f") == resolved)
    }

    @Test func `a URL in an error has no user info and no query`() {
        let error = #expect(throws: RequestError.self) { try RequestURL("http://me:s3cret@h/a b?token=s3cret") }
        #expect(error?.message.contains("s3cret") == false)
        #expect(error?.message.contains("http://•••@h/a b…") == true)
    }

    @Test(arguments: [
        "http://me:s3c/ret@h/x", "http://me:s3c?ret@h/x", "http://h/%zz#token=s3cret", "me:s3cret@h/path?token=s3cret",
        "http:/me:s3cret@h/://", "https//u:s3cret@h/", "http://h/?a=1#s3cret@x",
        "https://api.test/login?email=a@b.c&password=s3cret", "HTTP://h?e=a@b&token=s3cret", "http://h/#a@s3cret",
        "HTTP://me:s3cret@h/", "http://h/a b?e=a@b&token=s3cret", "/x?e=a@b&token=s3cret", "x?e=a@b&token=s3cret",
        "http://me:1234/s3cret@h/", "//me:s3c?ret@h/", "me:s3cret@h?e=a@b&token=s3cret", "?e=a@b&token=s3cret",
    ]) func `a URL in an error has no secret, however it is mistyped`(text: String) {
        let shown = RequestURL.masked(Array(text.utf8)) + Request(text).description
        #expect(!shown.contains("s3c"), "\(shown)")
    }

    @Test(arguments: [
        ("https://h/login?email=a@b.c&password=s3cret", "'https://h/login…'"),
        ("https://u@h/@me?a=b@c", "'https://•••@h/@me…'"), ("http://h?a@b#c@d", "'http://h…'"),
        ("/x?e=a@b&c=d", "'/x…'"), ("x?e=a@b", "'x…'"), ("u:p@h/x?e=a@b", "'•••…'"), ("u:p@h/x?e=1", "'•••@h/x…'"),
    ]) func `a URL in an error has host and path where these are certain`(text: String, shown: String) {
        #expect(RequestURL.masked(Array(text.utf8)) == shown)
    }

    @Test func `a URL in an error has no control character`() {
        let error = #expect(throws: RequestError.self) { try RequestURL("http://h\u{1B}[31m\n/") }
        #expect(error?.message.unicodeScalars.allSatisfy { $0.value >= 0x20 } == true)
    }
}
