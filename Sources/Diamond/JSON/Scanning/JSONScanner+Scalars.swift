extension JSONScanner {
    /// Scans a value that is no array and no object.
    @inline(__always)
    mutating func scanScalar() throws(JSONError) {
        switch peek {
        case UInt8(ascii: "\""): try scanString()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try scanNumber()
        case UInt8(ascii: "t"): try scan("true", as: .true)
        case UInt8(ascii: "f"): try scan("false", as: .false)
        case UInt8(ascii: "n"): try scan("null", as: .null)
        default: throw failure(position < end ? "expected a value" : "the text ends where a value should be")
        }
    }

    private mutating func scan(_ literal: StaticString, as kind: JSONElement.Kind) throws(JSONError) {
        let length = literal.utf8CodeUnitCount
        for index in 0..<length where position + index >= end || bytes[position + index] != literal.utf8Start[index] {
            throw failure("expected \(literal)")
        }
        append(JSONEntry(kind, start: position, end: position + length))
        position += length
    }

    // MARK: Numbers

    @inline(__always)
    private mutating func scanNumber() throws(JSONError) {
        let start = position
        if peek == UInt8(ascii: "-") { position += 1 }
        let first = position
        if peek == UInt8(ascii: "0") { position += 1 } else { try scanDigits() }
        var flags: UInt32 = position - first <= 18 ? JSONEntry.shortInteger : 0
        var isHuge = position - first > 200
        if peek == UInt8(ascii: ".") {
            position += 1
            flags = 0
            try scanDigits()
        }
        if peek | 0x20 == UInt8(ascii: "e") {
            flags = 0
            let length = try scanExponent()
            isHuge = isHuge || length > 2 || position - start > 200
        }
        append(JSONEntry(.number, start: start, end: position, flags: flags))
        if isHuge { checkRange(of: start..<position) }
    }

    private mutating func scanDigits() throws(JSONError) {
        let start = position
        while position < end, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        guard position > start else { throw failure("expected a digit") }
    }

    /// Scans an exponent, and returns the number of its digits.
    private mutating func scanExponent() throws(JSONError) -> Int {
        position += 1
        if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { position += 1 }
        let start = position
        try scanDigits()
        return position - start
    }

    @inline(never)
    private mutating func checkRange(of range: Range<Int>) {
        let text = UnsafeRawBufferPointer(start: bytes + range.lowerBound, count: range.count)
        if JSONNumber.value(of: text) == nil { record(.number, in: range) }
    }

    // MARK: Strings

    /// Scans a string from its opening to its closing quote.
    @inline(__always)
    mutating func scanString() throws(JSONError) {
        position += 1
        let start = position
        skipPlain()
        var flags: UInt32 = 0
        if peek != UInt8(ascii: "\"") { flags = try scanRest() }
        append(JSONEntry(.string, start: start, end: position, flags: flags))
        position += 1
    }

    /// Skips ASCII up to a quote, a backslash, a control character, another character, or the last bytes of the text.
    @inline(__always)
    private mutating func skipPlain() {
        while position + 8 <= end {
            let word = word(at: position)
            let quotes = (word ^ 0x2222_2222_2222_2222) &- 0x0101_0101_0101_0101
            let escapes = (word ^ 0x5C5C_5C5C_5C5C_5C5C) &- 0x0101_0101_0101_0101
            let controls = word &- 0x2020_2020_2020_2020
            // Above the first of them a borrow may set other bits.
            let found = (quotes | escapes | controls | word) & 0x8080_8080_8080_8080
            guard found == 0 else {
                position += found.trailingZeroBitCount >> 3
                return
            }
            position += 8
        }
    }

    /// Scans the rest of a string that has more than plain characters, up to its quote, and returns its flags.
    @inline(never)
    private mutating func scanRest() throws(JSONError) -> UInt32 {
        var flags: UInt32 = 0
        while position < end {
            switch bytes[position] {
            case UInt8(ascii: "\""): return flags
            case UInt8(ascii: "\\"): flags |= try scanEscape()
            case 0..<0x20:
                position += 1
                throw failure("a string has an unescaped control character: escape it")
            case 0x80...:
                flags |= JSONEntry.beyondASCII
                while let length = sequenceLength { position += length }
                if peek >= 0x80 { throw failure("the string is not UTF-8") }
            default:
                position += 1
                skipPlain()
            }
        }
        position += 1
        throw failure("the string has no end")
    }

    private mutating func scanEscape() throws(JSONError) -> UInt32 {
        let letter = position + 1 < end ? bytes[position + 1] : 0
        guard letter == UInt8(ascii: "u") else {
            position += 2
            guard JSONEscapes.byte(of: letter) != nil else {
                throw failure("unknown escape: write \\\\ for a backslash")
            }
            return JSONEntry.escaped
        }
        let text = UnsafeRawBufferPointer(start: bytes + position, count: min(end - position, 12))
        let (scalar, length) = JSONEscapes.scalar(in: text, at: 0)
        if length == 0 { throw escapeFailure() }
        if scalar == nil { record(.surrogate, in: (position + 2)..<(position + 2)) }
        position += length
        return scalar == nil ? JSONEntry.escaped | JSONEntry.loneSurrogate : JSONEntry.escaped
    }

    private mutating func escapeFailure() -> JSONError {
        position += 2
        while position < end, Hex.value(of: bytes[position]) != nil { position += 1 }
        position += 1
        return failure("expected four hexadecimal digits after \\u")
    }

    /// The length of the well-formed sequence of a character beyond ASCII (Unicode 17 table 3-7); `nil` for others.
    @inline(__always)
    private var sequenceLength: Int? {
        guard position + 1 < end else { return nil }
        let (first, second) = (bytes[position], bytes[position + 1])
        if first < 0xE0 { return first >= 0xC2 && isContinuation(position + 1) ? 2 : nil }
        guard position + 2 < end, isContinuation(position + 1), isContinuation(position + 2) else { return nil }
        if first < 0xF0 {
            let isOverlong = first == 0xE0 && second < 0xA0
            let isSurrogate = first == 0xED && second >= 0xA0
            return isOverlong || isSurrogate ? nil : 3
        }
        guard position + 3 < end, isContinuation(position + 3) else { return nil }
        // From U+10000 to U+10FFFF.
        let isInRange = first == 0xF0 ? second >= 0x90 : first < 0xF4 || (first == 0xF4 && second < 0x90)
        return isInRange ? 4 : nil
    }

    @inline(__always)
    private func isContinuation(_ offset: Int) -> Bool { bytes[offset] & 0xC0 == 0x80 }
}
