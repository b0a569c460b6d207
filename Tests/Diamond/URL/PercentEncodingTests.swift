import Testing

@testable import Diamond

@Suite("Percent-encoding") struct PercentEncodingTests {
    private static let unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    private static let reserved = ":/?#[]@!$&'()*+,;="

    @Test(
        arguments: [
            (.unreserved, unreserved),
            (.reserved, reserved),
            (.plain, unreserved + reserved),
            (.plainInPath, (unreserved + reserved).filter { $0 != "?" && $0 != "#" }),
            (.plainInQuery, (unreserved + reserved).filter { $0 != "#" }),
            (.lowerName, "abcdefghijklmnopqrstuvwxyz0123456789-._"),
            (.special, "&%[]"),
        ] as [(ByteClass, String)])
    func `has the right sets of characters`(set: ByteClass, characters: String) {
        let known = (UInt8.min...UInt8.max).filter(set.contains)
        #expect(known == characters.utf8.sorted())
    }

    @Test(arguments: [
        ("", ""), ("a-b", "a-b"), ("a b", "a%20b"), (" ", "%20"), ("ü&", "%C3%BC%26"), ("a\u{0}", "a%00"),
        ("😂x", "%F0%9F%98%82x"),
    ]) func `encodes a string as its UTF-8 bytes`(text: String, encoded: String) {
        var items = QueryItems()
        items.append(encoding: text)
        #expect(items.bytes == Array(encoded.utf8))
        #expect(PercentEncoding.encode(text.utf8) == Array(encoded.utf8))
    }
}
