/// A matcher for a set of words, ignoring the case of ASCII letters.
///
/// It works on bytes, because every name of every request is matched. The set of a name's letters rules out almost
/// every name at once.
struct ASCIIWordMatcher: Sendable {
    private let words: [[UInt8]]
    /// The letters of each word.
    private let letters: [LetterSet]
    /// The first eight bytes of each word (``Span/beginning(of:)``), with bit 5 of every byte set.
    private let beginnings: [UInt64]
    /// A set of letters of which every word contains at least one.
    let needed: LetterSet
    private let shortest: Int
    private let firsts: LetterSet
    private let seconds: LetterSet
    private let thirds: LetterSet

    /// - Parameter words: words in lower case, of two characters or more.
    init(_ words: [String]) {
        let words = words.map { Array($0.utf8) }
        firsts = Self.letters(at: 0, of: words)
        seconds = Self.letters(at: 1, of: words)
        thirds = Self.letters(at: 2, of: words)
        shortest = max(2, words.map(\.count).min() ?? 0)
        letters = words.map { LetterSet(of: $0.span) }
        beginnings = words.map { Self.beginning(of: $0.span) }
        needed = Self.needed(words)
        self.words = words
    }

    /// Returns the letters at a position of the words. A shorter word allows any letter.
    private static func letters(at position: Int, of words: [[UInt8]]) -> LetterSet {
        var letters = LetterSet()
        for word in words { (position < word.count ? [word[position]] : Array(0..<32)).forEach { letters.insert($0) } }
        return letters
    }

    /// Returns the letter that most words contain, then the one that most of the remaining words contain, and so on.
    private static func needed(_ words: [[UInt8]]) -> LetterSet {
        var needed = LetterSet()
        var others = words
        while !others.isEmpty {
            let counts = Dictionary(others.flatMap { Set($0) }.map { ($0, 1) }, uniquingKeysWith: +)
            guard let letter = counts.max(by: { ($0.value, $1.key) < ($1.value, $0.key) })?.key else { break }
            needed.insert(letter)
            others.removeAll { $0.contains(letter) }
        }
        return needed
    }

    /// Whether the bytes contain one of the words.
    ///
    /// - Parameter letters: the letters of the bytes.
    @inline(__always)
    func hasWord(in bytes: Span<UInt8>, letters: LetterSet) -> Bool {
        !letters.isDisjoint(with: needed) && findsWord(in: bytes, letters: letters)
    }

    @inline(__always)
    func hasWord(in bytes: Span<UInt8>) -> Bool { hasWord(in: bytes, letters: LetterSet(of: bytes)) }

    @inline(never)
    private func findsWord(in bytes: Span<UInt8>, letters: LetterSet) -> Bool {
        for index in self.letters.indices
        where self.letters[index].isSubset(of: letters) && isWord(index, in: bytes) { return true }
        return false
    }

    private func isWord(_ index: Int, in bytes: Span<UInt8>) -> Bool {
        let word = words[index]
        guard word.count <= bytes.count else { return false }
        return (0...(bytes.count - word.count)).contains { Self.isWord(word, at: $0, of: bytes) }
    }

    /// Whether the bytes begin with one of the words.
    @inline(__always)
    func hasBeginning(of bytes: Span<UInt8>) -> Bool { mayMatch(bytes) && beginsWithWord(bytes) }

    /// Whether the bytes are one of the words.
    @inline(__always)
    func hasWhole(_ bytes: Span<UInt8>) -> Bool { mayMatch(bytes) && isWord(bytes) }

    @inline(never)
    private func beginsWithWord(_ bytes: Span<UInt8>) -> Bool {
        words.contains { Self.isWord($0, at: 0, of: bytes) }
    }

    @inline(never)
    private func isWord(_ bytes: Span<UInt8>) -> Bool {
        let beginning = Self.beginning(of: bytes)
        for index in beginnings.indices where beginnings[index] == beginning {
            if words[index].count == bytes.count, Self.isWord(words[index], at: 0, of: bytes) { return true }
        }
        return false
    }

    /// Returns the first eight bytes, so that a word in upper case and in lower case give the same value, and few other
    /// bytes do.
    @inline(__always)
    private static func beginning(of bytes: Span<UInt8>) -> UInt64 {
        bytes.beginning(of: bytes.count) | 0x2020_2020_2020_2020
    }

    @inline(__always)
    func mayMatch(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= shortest && firsts.contains(bytes[0]) && seconds.contains(bytes[1])
            && (bytes.count == 2 || thirds.contains(bytes[2]))
    }

    private static func isWord(_ word: [UInt8], at start: Int, of bytes: Span<UInt8>) -> Bool {
        guard start + word.count <= bytes.count else { return false }
        for index in word.indices where lower(bytes[start + index]) != word[index] { return false }
        return true
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A") <= byte && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}
