import Diamond

/// The quotes `$'…'` (bash manual, section 3.1.2.4). Browsers use them for text that is not plain ASCII.
extension ShellLine.Scanner {
    mutating func dollarQuoted() throws(RequestError) -> [UInt8] {
        let start = index - 2
        var quoted: [UInt8] = []
        while let byte = next() {
            switch Unicode.Scalar(byte) {
            case "'": return quoted
            case "\\": quoted += try escapeSequence()
            default: quoted.append(byte)
            }
        }
        throw failure(at: start, "the quote is never closed: add a ' at its end")
    }

    private mutating func escapeSequence() throws(RequestError) -> [UInt8] {
        let start = index - 1
        guard let byte = next() else { return [] }
        switch Unicode.Scalar(byte) {
        case "x": return [try character(digits: 2, radix: 16, at: start)]
        case "u": return try scalar(digits: 4, at: start)
        case "U": return try scalar(digits: 8, at: start)
        case "0"..."7":
            index -= 1
            return [try character(digits: 3, radix: 8, at: start)]
        case "c": return [try control(at: start)]
        default: return EscapeLetters.values[byte].map { [$0] } ?? [UInt8(ascii: "\\"), byte]
        }
    }

    private mutating func control(at start: Int) throws(RequestError) -> UInt8 {
        guard let byte = next(), byte & 0x1F != 0 else {
            throw failure(at: start, "a word cannot contain a NUL: remove it")
        }
        return byte & 0x1F
    }

    private mutating func character(digits: Int, radix: UInt32, at start: Int) throws(RequestError) -> UInt8 {
        let value = number(digits: digits, radix: radix)
        guard let value, value & 0xFF != 0 else {
            throw failure(at: start, "the escape needs digits, and no NUL: correct it")
        }
        return UInt8(value & 0xFF)
    }

    /// Reads a character. Browsers write characters beyond 16 bits as two surrogates.
    private mutating func scalar(digits: Int, at start: Int) throws(RequestError) -> [UInt8] {
        var value = number(digits: digits, radix: 16) ?? 0
        if (0xD800..<0xDC00).contains(value), consume("\\u"), let low = number(digits: 4, radix: 16),
            (0xDC00..<0xE000).contains(low)
        {
            value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
        }
        guard value != 0, let scalar = Unicode.Scalar(value) else {
            throw failure(at: start, "these digits name no character: correct them")
        }
        return Array(String(scalar).utf8)
    }

    private mutating func number(digits: Int, radix: UInt32) -> UInt32? {
        var value: UInt32?
        for _ in 0..<digits {
            guard let digit = peek().flatMap(Hex.value(of:)), digit < radix else { break }
            value = (value ?? 0) &* radix &+ UInt32(digit)
            index += 1
        }
        return value
    }
}

/// The bytes of the letters after a backslash, in `$'…'` and in `printf`.
enum EscapeLetters {
    static let values: [UInt8: UInt8] = [
        UInt8(ascii: "a"): 7, UInt8(ascii: "b"): 8, UInt8(ascii: "e"): 27, UInt8(ascii: "E"): 27,
        UInt8(ascii: "f"): 12, UInt8(ascii: "n"): 10, UInt8(ascii: "r"): 13, UInt8(ascii: "t"): 9,
        UInt8(ascii: "v"): 11, UInt8(ascii: "\\"): UInt8(ascii: "\\"), UInt8(ascii: "'"): UInt8(ascii: "'"),
        UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "?"): UInt8(ascii: "?"),
    ]
}
