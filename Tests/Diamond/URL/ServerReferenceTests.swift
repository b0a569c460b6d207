import Testing

@testable import Diamond

@Suite("The reference of a server") struct ServerReferenceTests {
    @Test(arguments: [
        ("/a%20b c?x=%2F y", "http://h/a%20b%20c?x=%2F%20y"), ("/%7Ea/%2f?%7e=%2f", "http://h/%7Ea/%2f?%7e=%2f"),
        ("?X-Amz-Signature=ab%2Fc%2bd&&b=+&;&a[]=1&c", "http://h/v/a?X-Amz-Signature=ab%2Fc%2bd&&b=+&;&a[]=1&c"),
        ("/100%", "http://h/100%25"), ("/%zz%4", "http://h/%25zz%254"), ("/a?", "http://h/a?"), ("b", "http://h/v/b"),
        ("/é?ü", "http://h/%C3%A9?%C3%BC"), ("/\"<>\\^`{|}", "http://h/%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("\\\\evil/x", "http://h/v/%5C%5Cevil/x"), ("//i/c d", "http://i/c%20d"), ("/a#b c", "http://h/a"),
        ("../../%2e%2e/x", "http://h/x"), ("https://i?a b#c", "https://i/?a%20b"), ("#b", "http://h/v/a?b=%7e"),
        ("/\u{301}c", "http://h/%CC%81c"), ("https://bücher.example/ä b", "https://xn--bcher-kva.example/%C3%A4%20b"),
        ("//i", "http://i/"), ("/a:b c", "http://h/a:b%20c"), ("./a:b", "http://h/v/a:b"), ("/a@b", "http://h/a@b"),
    ]) func `a server's reference keeps every legal byte, and escapes the others`(text: String, url: String) {
        #expect(ServerReference(text, from: "http://h/v/a?b=%7e")?.url.text() == url)
    }

    @Test(arguments: [
        ("http://u:p@i/x", "http://i/x"), ("//u@i/x", "http://i/x"), ("http://u:p w@h/x@y", "http://h/x@y"),
        ("http://u@v@h/", "http://h/"), ("http://@h/", "http://h/"),
    ]) func `a server's reference loses its user info`(text: String, url: String) throws {
        let reference = try #require(ServerReference(text, from: "http://h/"))
        #expect(reference.url.text() == url)
        #expect(reference.url.userInfo == nil)
        #expect(reference.hadUserInfo)
    }

    @Test(arguments: ["", "mailto:a@b", "ftp://h/", "http:/a", "http://h h/", "http://", "http://u@", "http://h:x/"])
    func `a server's reference that is invalid is refused`(text: String) {
        #expect(ServerReference(text, from: "http://h/v/a") == nil)
    }
}
