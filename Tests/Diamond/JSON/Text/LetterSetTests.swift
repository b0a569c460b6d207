import Testing

@testable import Diamond

@Suite("A set of letters") struct LetterSetTests {
    private func letters(_ text: String) -> LetterSet { text.withBytes { LetterSet(of: $0) } }

    @Test func `has the letters of a name in any case and any order`() {
        #expect(letters("Token") == letters("nekot"))
        #expect(letters("token") != letters("toke"))
        #expect(letters("") == LetterSet())
    }

    @Test(arguments: [
        ("ok", "token", true), ("token", "ok", false), ("", "", true), ("", "a", true), ("a", "", false),
    ]) func `reports whether it contains another letter set`(part: String, whole: String, isSubset: Bool) {
        #expect(letters(part).isSubset(of: letters(whole)) == isSubset)
    }

    @Test func `reports whether it shares a letter with another letter set`() {
        #expect(letters("abc").isDisjoint(with: letters("def")))
        #expect(!letters("abc").isDisjoint(with: letters("Cde")))
        #expect(letters("abc").contains(UInt8(ascii: "B")))
        #expect(!letters("abc").contains(UInt8(ascii: "d")))
    }
}
