import Testing

@testable import Diamond

@Suite struct `A set of words` {
    private static let words = WordSet(["te", "token", "tokens", "api_key"])

    @Test(arguments: ["te", "TE", "token", "Tokens", "API_KEY"]) func `holds each, in any case`(text: String) {
        #expect(text.withBytes(Self.words.hasWhole))
        #expect(text.withBytes(Self.words.hasBeginning))
    }

    @Test(arguments: ["", "t", "tf", "tok", "tokenx", "xtoken", "tpken", "api-key", "4E", "ap\u{9}_key"])
    func `holds no other`(text: String) { #expect(!text.withBytes(Self.words.hasWhole)) }

    @Test(arguments: [
        ("x-TOKEN", true), ("tokentoke", true), ("ttoken", true), ("my_api_key", true), ("toke", false),
        ("tok-en", false), ("", false), ("to", false), ("t\u{F}ken", false),
    ]) func `finds them in a name`(text: String, isFound: Bool) {
        #expect(text.withBytes(WordSet(["token", "api_key"]).hasWord) == isFound)
    }
}
