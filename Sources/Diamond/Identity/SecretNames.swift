/// The names that speak of credentials: of headers, parameters and members of JSON bodies.
///
/// Rather one too many: such a value still separates requests, only as a keyed digest, and does not go to another origin.
/// Works on bytes, because every name of every request is looked at.
enum SecretNames {
    /// In the names of all three.
    private static let words = WordSet([
        "apikey", "api_key", "api-key", "cookie", "credential", "jwt", "passw", "secret", "session", "signature",
        "token",
    ])

    /// In the names of headers, which hold no ordinary words of an API.
    private static let headerWords = WordSet(["auth", "key"])

    /// Whole names of parameters and members.
    private static let names = WordSet(["auth", "authorization", "key", "pass", "pwd", "sig", "sid"])

    static func holdsHeader(_ name: String) -> Bool {
        withBytes(of: name) { words.hasWord(in: $0) || headerWords.hasWord(in: $0) }
    }

    static func holdsMember(_ name: String) -> Bool {
        withBytes(of: name) { words.hasWord(in: $0) || names.hasWhole($0) }
    }

    /// - Parameter name: a parameter's, decoded; what stands in brackets is a name, too.
    static func holdsParameter(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !words.hasWord(in: name) else { return true }
        var start = 0
        for index in 0...name.count {
            guard index == name.count || name[index] == UInt8(ascii: "[") || name[index] == UInt8(ascii: "]") else {
                continue
            }
            if names.hasWhole(UnsafeBufferPointer(rebasing: name[start..<index])) { return true }
            start = index + 1
        }
        return false
    }

    private static func withBytes<Result>(of name: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        var name = name
        return name.withUTF8(body)
    }
}

/// Words in lower case, by their first byte.
private struct WordSet: Sendable {
    private var byFirst = [[[UInt8]]](repeating: [], count: 256)

    init(_ words: [String]) {
        for word in words { byFirst[Int(word.utf8.first ?? 0)].append(Array(word.utf8)) }
    }

    /// Whether one of the words stands anywhere in the bytes, whatever the case of their ASCII letters.
    func hasWord(in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        for start in bytes.indices {
            for word in byFirst[Int(Self.lower(bytes[start]))] where Self.isWord(word, bytes, at: start) { return true }
        }
        return false
    }

    /// Whether the bytes are one of the words.
    func hasWhole(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = bytes.first else { return false }
        return byFirst[Int(Self.lower(first))].contains { $0.count == bytes.count && Self.isWord($0, bytes, at: 0) }
    }

    private static func isWord(_ word: [UInt8], _ bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
        guard start + word.count <= bytes.count else { return false }
        for index in word.indices where lower(bytes[start + index]) != word[index] { return false }
        return true
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
