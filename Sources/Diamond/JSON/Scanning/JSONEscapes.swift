/// The escapes in the strings of JSON.
enum JSONEscapes {
    /// Returns the string with escapes, which must be valid. A lone surrogate is U+FFFD.
    static func decoded(_ text: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: text.count) { buffer in
            var (index, count) = (0, 0)
            while index < text.count {
                if text[index] != UInt8(ascii: "\\") {
                    buffer.initializeElement(at: count, to: text[index])
                    index += 1
                    count += 1
                } else if text[index + 1] != UInt8(ascii: "u") {
                    buffer.initializeElement(at: count, to: byte(of: text[index + 1]) ?? 0)
                    index += 2
                    count += 1
                } else {
                    let (scalar, length) = scalar(in: text, at: index)
                    for byte in (scalar ?? "\u{FFFD}").utf8 {
                        buffer.initializeElement(at: count, to: byte)
                        count += 1
                    }
                    index += length
                }
            }
            return count
        }
    }

    /// Returns the byte of an escape of one letter.
    @inline(__always)
    static func byte(of letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "r"): 0x0D
        default: nil
        }
    }

    /// Returns the scalar of `\uXXXX`, or of two of them, and its length; no scalar for a lone surrogate, and the length
    /// 0 where four digits are missing.
    static func scalar(in text: UnsafeRawBufferPointer, at index: Int) -> (scalar: Unicode.Scalar?, length: Int) {
        guard let unit = codeUnit(in: text, at: index + 2) else { return (nil, 0) }
        if let scalar = Unicode.Scalar(unit) { return (scalar, 6) }
        guard unit < 0xDC00, index + 8 <= text.count, text[index + 6] == UInt8(ascii: "\\"),
            text[index + 7] == UInt8(ascii: "u"), let low = codeUnit(in: text, at: index + 8),
            (0xDC00...0xDFFF).contains(low)
        else { return (nil, 6) }
        return (Unicode.Scalar(0x10000 + UInt32(unit - 0xD800) << 10 + UInt32(low - 0xDC00)), 12)
    }

    private static func codeUnit(in text: UnsafeRawBufferPointer, at index: Int) -> UInt16? {
        guard index + 4 <= text.count else { return nil }
        var unit: UInt16 = 0
        for digit in text[index..<(index + 4)] {
            guard let digit = Hex.value(of: digit) else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
