import Diamond

/// The expansions that bash or zsh makes in the unquoted parts of a word: braces, tildes, patterns for file names, and
/// a leading `=` (bash manual, section 3.5; zsh manual, section 14).
struct ShellExpansion {
    private let bytes: [UInt8]
    /// Whether each byte is quoted or escaped.
    private let isQuoted: [Bool]

    /// - Parameter isQuoted: whether each byte of the word is quoted or escaped.
    init(_ word: ShellWord, isQuoted: [Bool]) {
        bytes = word.bytes
        self.isQuoted = isQuoted
    }

    /// The byte that begins an expansion; `nil` if a shell leaves the word as it is.
    var start: UInt8? {
        guard isQuoted.contains(false) else { return nil }
        if hasTilde { return UInt8(ascii: "~") }
        if bytes.count > 1, isBare(0, "=") { return UInt8(ascii: "=") }
        return hasBraces ? UInt8(ascii: "{") : pattern
    }

    private func isBare(_ index: Int, _ character: Unicode.Scalar) -> Bool {
        bytes[index] == UInt8(ascii: character) && !isQuoted[index]
    }

    // MARK: Tildes

    /// Whether a tilde stands for a directory: at the start of the word, or in the value of a word that has the form of
    /// an assignment, `name=~` or `name=a:~`.
    private var hasTilde: Bool {
        guard !isBare(0, "~") else { return true }
        guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")), isBare(equals, "="), isName(bytes[..<equals]) else {
            return false
        }
        return bytes.indices.dropFirst(equals + 1).contains { index in
            isBare(index, "~") && (index == equals + 1 || isBare(index - 1, ":"))
        }
    }

    /// Whether bytes are the name of a variable, or one with the `+` of `+=`.
    private func isName(_ bytes: ArraySlice<UInt8>) -> Bool {
        String(decoding: bytes, as: UTF8.self).wholeMatch(of: #/[A-Za-z_][A-Za-z0-9_]*\+?/#) != nil
    }

    // MARK: Braces

    /// Whether a pair of braces has a comma, such as `{a,b}`, or a sequence, such as `{1..3}`.
    private var hasBraces: Bool {
        var opened: [(start: Int, hasComma: Bool)] = []
        for index in bytes.indices where !isQuoted[index] {
            switch Unicode.Scalar(bytes[index]) {
            case "{": opened.append((index, false))
            case "," where !opened.isEmpty: opened[opened.count - 1].hasComma = true
            case "}":
                guard let pair = opened.popLast() else { continue }
                if pair.hasComma || isSequence(bytes[(pair.start + 1)..<index]) { return true }
            default: continue
            }
        }
        return false
    }

    /// Whether bytes are `x..y` or `x..y..step`, with two numbers or two letters.
    private func isSequence(_ bytes: ArraySlice<UInt8>) -> Bool {
        let sequence = #/(-?[0-9]+\.\.-?[0-9]+|[A-Za-z]\.\.[A-Za-z])(\.\.-?[0-9]+)?/#
        return String(decoding: bytes, as: UTF8.self).wholeMatch(of: sequence) != nil
    }

    // MARK: Patterns

    /// The first character of a pattern for file names: `*`, `?`, or `[` with a `]` after it. A word with a URL is no
    /// pattern, because no file has such a name, and many URLs are written without quotes.
    private var pattern: UInt8? {
        guard bytes.firstRange(of: "://".utf8) == nil else { return nil }
        let lastBracket = bytes.lastIndex(of: UInt8(ascii: "]")) ?? 0
        let index = bytes.indices.first { index in
            isBare(index, "*") || isBare(index, "?") || isBare(index, "[") && lastBracket > index + 1
        }
        return index.map { bytes[$0] }
    }
}
