extension JSONReader {
    /// Reads a string from its opening to its closing quote.
    mutating func readString() throws(JSONError) -> String {
        _ = consume(UInt8(ascii: "\""))
        var text: [UInt8] = []
        while let byte = next() {
            switch byte {
            case UInt8(ascii: "\""): return try decoded(text)
            case UInt8(ascii: "\\"): try readEscape(into: &text)
            case 0..<0x20: throw failure("a string has an unescaped control character: escape it")
            default: text.append(byte)
            }
        }
        throw failure("the string has no end")
    }

    private func decoded(_ text: [UInt8]) throws(JSONError) -> String {
        guard let string = String(validating: text, as: UTF8.self) else { throw failure("the string is not UTF-8") }
        return string
    }

    private mutating func readEscape(into text: inout [UInt8]) throws(JSONError) {
        switch next() {
        case UInt8(ascii: "\""): text.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): text.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): text.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "u"): text.append(contentsOf: String(Character(try readScalar())).utf8)
        default: throw failure("unknown escape: write \\\\ for a backslash")
        }
    }

    private mutating func readScalar() throws(JSONError) -> Unicode.Scalar {
        let start = position
        let unit = try readCodeUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        if unit < 0xDC00, let scalar = try readPair(after: unit) { return scalar }
        recordAmbiguity("a surrogate has no partner", at: start)
        return "\u{FFFD}"
    }

    /// Reads the low surrogate after a high one and returns their scalar; returns `nil` and reads nothing if none
    /// follows.
    private mutating func readPair(after high: UInt16) throws(JSONError) -> Unicode.Scalar? {
        guard position < bytes.count, bytes[position...].starts(with: "\\u".utf8) else { return nil }
        let start = position
        position += 2
        let low = try readCodeUnit()
        if (0xDC00...0xDFFF).contains(low) {
            return Unicode.Scalar(0x10000 + UInt32(high - 0xD800) << 10 + UInt32(low - 0xDC00))
        }
        position = start
        return nil
    }

    private mutating func readCodeUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = next().flatMap(Hex.value(of:)) else {
                throw failure("expected four hexadecimal digits after \\u")
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
