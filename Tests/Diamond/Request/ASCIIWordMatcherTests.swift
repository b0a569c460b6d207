import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("A set of words") struct ASCIIWordMatcherTests {
    private static let words = ASCIIWordMatcher(["te", "token", "tokens", "api_key"])

    @Test(arguments: ["te", "TE", "token", "Tokens", "API_KEY"]) func `a word set contains each word, in any case`(
        text: String
    ) {
        #expect(text.withBytes { Self.words.hasWhole($0) })
        #expect(text.withBytes { Self.words.hasBeginning(of: $0) })
    }

    @Test(arguments: ["", "t", "tf", "tok", "tokenx", "xtoken", "tpken", "api-key", "4E", "ap\u{9}_key"])
    func `a word set contains no other word`(text: String) { #expect(!text.withBytes { Self.words.hasWhole($0) }) }

    @Test(arguments: [
        ("x-TOKEN", true), ("tokentoke", true), ("ttoken", true), ("my_api_key", true), ("toke", false),
        ("tok-en", false), ("", false), ("to", false), ("t\u{F}ken", false),
    ]) func `a word set finds its words in a name`(text: String, isFound: Bool) {
        #expect(text.withBytes { ASCIIWordMatcher(["token", "api_key"]).hasWord(in: $0) } == isFound)
    }

    @Test func `a word set finds the words that a plain search finds`() {
        let words = ["token", "key", "api_key", "ab", "passw"]
        let set = ASCIIWordMatcher(words)
        var random = SplitMix(state: Effort.seed)
        var found = 0
        for _ in 0..<Effort.rounds(5000, soaking: 500_000) {
            let pieces = [
                "t", "o", "k", "e", "N", "_", "%", "tok", "EN", "token", "aB", "pass", "w", "K", "y", "api", "ü",
            ]
            let text = (0..<Int.random(in: 0...6, using: &random)).map { _ in pieces.randomElement(using: &random) ?? ""
            }
            .joined()
            let isThere = words.contains { text.lowercased().contains($0) }
            #expect(text.withBytes { set.hasWord(in: $0) } == isThere, "seed \(Effort.seed): \(text)")
            #expect(text.withBytes { set.hasWhole($0) } == words.contains(text.lowercased()))
            found += isThere ? 1 : 0
        }
        #expect(found > 100)
    }
}
