import Testing

@testable import Diamond

@Suite struct `Percent-encoding` {
    private static let unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    private static let reserved = ":/?#[]@!$&'()*+,;="

    @Test(
        arguments: [
            (PercentEncoding.unreserved, unreserved),
            (PercentEncoding.reserved, reserved),
            (PercentEncoding.plain, unreserved + reserved),
            (PercentEncoding.plainInPath, (unreserved + reserved).filter { $0 != "?" && $0 != "#" }),
            (PercentEncoding.plainInQuery, (unreserved + reserved).filter { $0 != "#" }),
            (PercentEncoding.lowerName, "abcdefghijklmnopqrstuvwxyz0123456789-._"),
        ] as [(ASCIISet, String)])
    func `knows its characters`(set: ASCIISet, characters: String) {
        let known = (UInt8.min...UInt8.max).filter(set.contains)
        #expect(known == characters.utf8.sorted())
    }

    @Test(arguments: [
        ("", ""), ("a-b", "a-b"), ("a b", "a%20b"), (" ", "%20"), ("ü&", "%C3%BC%26"), ("a\u{0}", "a%00"),
        ("😂x", "%F0%9F%98%82x"),
    ]) func `encodes a text like its bytes`(text: String, encoded: String) {
        var appended = Array("x".utf8)
        PercentEncoding.append(encoding: text, to: &appended)
        #expect(appended == Array("x\(encoded)".utf8))
        #expect(PercentEncoding.encode(text.utf8) == Array(encoded.utf8))
    }
}
