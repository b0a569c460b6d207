/// Words in lower case, found whatever the case of ASCII letters.
///
/// Works on bytes, because every name of every request is looked at: the first three characters of a place tell of almost
/// every one that no word begins there, by sets that have a bit for each letter.
struct WordSet: Sendable {
    private let words: [[UInt8]]
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
        self.words = words
    }

    /// Whether one of the words, which has three characters or more, stands anywhere in the bytes.
    func hasWord(in bytes: Span<UInt8>) -> Bool {
        guard bytes.count >= max(3, shortest) else { return false }
        var (first, second) = (Self.bit(bytes[0]), Self.bit(bytes[1]))
        for index in 2..<bytes.count {
            let third = Self.bit(bytes[index])
            if first & firsts != 0, second & seconds != 0, third & thirds != 0, isWord(at: index - 2, of: bytes) {
                return true
            }
            (first, second) = (second, third)
        }
        return false
    }

    private func isWord(at start: Int, of bytes: Span<UInt8>) -> Bool {
        words.contains { Self.isWord($0, at: start, of: bytes) }
    }

    /// Whether one of the words is how the bytes begin.
    func hasBeginning(of bytes: Span<UInt8>) -> Bool {
        bytes.count >= shortest && mayBegin(bytes) && isWord(at: 0, of: bytes)
    }

    /// Whether the bytes are one of the words.
    func hasWhole(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= shortest && mayBegin(bytes)
            && words.contains { $0.count == bytes.count && Self.isWord($0, at: 0, of: bytes) }
    }

    private func mayBegin(_ bytes: Span<UInt8>) -> Bool {
        firsts & Self.bit(bytes[0]) != 0 && seconds & Self.bit(bytes[1]) != 0
            && (bytes.count == 2 || thirds & Self.bit(bytes[2]) != 0)
    }

    /// One for both cases of a letter; some other characters share it.
    private static func bit(_ byte: UInt8) -> UInt32 { 1 << UInt32(byte & 31) }

    private static func isWord(_ word: [UInt8], at start: Int, of bytes: Span<UInt8>) -> Bool {
        guard start + word.count <= bytes.count else { return false }
        for index in word.indices where lower(bytes[start + index]) != word[index] { return false }
        return true
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A") <= byte && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}

extension String {
    /// Calls `body` with the bytes of the text where they stand.
    func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        var text = self
        return text.withUTF8 { body($0.span) }
    }
}
