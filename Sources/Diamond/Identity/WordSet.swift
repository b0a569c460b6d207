/// Words in lower case, found whatever the case of ASCII letters.
///
/// Works on bytes, because every name of every request is looked at: which letters a name has, a bit for each, tells of
/// almost every one that no word is in it.
struct WordSet: Sendable {
    private let words: [[UInt8]]
    /// Of each word.
    private let letters: [UInt32]
    /// Letters of which every word has one.
    private let needed: UInt32
    private let shortest: Int
    private let firsts: UInt32
    private let seconds: UInt32
    private let thirds: UInt32

    /// - Parameter words: of two characters or more.
    init(_ words: [String]) {
        let words = words.map { Array($0.utf8) }
        func letters(_ place: Int) -> UInt32 {
            words.reduce(0) { $0 | (place < $1.count ? Self.bit($1[place]) : .max) }
        }
        (firsts, seconds, thirds) = (letters(0), letters(1), letters(2))
        shortest = max(2, words.map(\.count).min() ?? 0)
        self.letters = words.map { Self.letters(of: $0.span) }
        needed = Self.needed(self.letters)
        self.words = words
    }

    /// The letter that most words have, then the one that most of the others have, and so on.
    private static func needed(_ words: [UInt32]) -> UInt32 {
        var (needed, others) = (UInt32(0), words)
        while !others.isEmpty {
            let counts = (0..<32).map { letter in others.count { $0 >> letter & 1 != 0 } }
            let letter = counts.indices.max { counts[$0] < counts[$1] } ?? 0
            needed |= 1 << letter
            others.removeAll { $0 >> letter & 1 != 0 }
        }
        return needed
    }

    /// Whether one of the words stands anywhere in the bytes.
    ///
    /// - Parameter letters: those of the bytes.
    func hasWord(in bytes: Span<UInt8>, _ letters: UInt32) -> Bool {
        guard letters & needed != 0 else { return false }
        for index in self.letters.indices
        where self.letters[index] & ~letters == 0 && isWord(index, in: bytes) { return true }
        return false
    }

    func hasWord(in bytes: Span<UInt8>) -> Bool { hasWord(in: bytes, Self.letters(of: bytes)) }

    private func isWord(_ index: Int, in bytes: Span<UInt8>) -> Bool {
        let word = words[index]
        guard word.count <= bytes.count else { return false }
        return (0...(bytes.count - word.count)).contains { Self.isWord(word, at: $0, of: bytes) }
    }

    /// Whether one of the words is how the bytes begin.
    @inline(__always)
    func hasBeginning(of bytes: Span<UInt8>) -> Bool { mayBegin(bytes) && beginsWithWord(bytes) }

    /// Whether the bytes are one of the words.
    @inline(__always)
    func hasWhole(_ bytes: Span<UInt8>) -> Bool { mayBegin(bytes) && isWord(bytes) }

    @inline(never)
    private func beginsWithWord(_ bytes: Span<UInt8>) -> Bool {
        words.contains { Self.isWord($0, at: 0, of: bytes) }
    }

    @inline(never)
    private func isWord(_ bytes: Span<UInt8>) -> Bool {
        words.contains { $0.count == bytes.count && Self.isWord($0, at: 0, of: bytes) }
    }

    @inline(__always)
    private func mayBegin(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= shortest && firsts & Self.bit(bytes[0]) != 0 && seconds & Self.bit(bytes[1]) != 0
            && (bytes.count == 2 || thirds & Self.bit(bytes[2]) != 0)
    }

    /// The letters in the bytes, a bit for each.
    static func letters(of bytes: Span<UInt8>) -> UInt32 {
        var letters: UInt32 = 0
        for index in bytes.indices { letters |= bit(bytes[index]) }
        return letters
    }

    /// One for both cases of a letter; some other characters share it.
    @inline(__always)
    static func bit(_ byte: UInt8) -> UInt32 { 1 << UInt32(byte & 31) }

    private static func isWord(_ word: [UInt8], at start: Int, of bytes: Span<UInt8>) -> Bool {
        guard start + word.count <= bytes.count else { return false }
        for index in word.indices where lower(bytes[start + index]) != word[index] { return false }
        return true
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A") <= byte && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}
