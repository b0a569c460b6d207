/// Writes JSON in the one form of RFC 8785 (JCS): no white space, names sorted by UTF-16 code units, the shortest
/// escapes, numbers as ECMAScript prints them.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    /// Whether every number written is the one a reader of doubles gets back, as JCS asks. 2^53 + 1 is not.
    private(set) var isCanonical = true

    /// The JSON text of a value.
    ///
    /// - Throws: `notFinite` for a number that is not finite.
    static func text(of value: JSONValue) throws(JSONError) -> [UInt8] {
        var writer = JSONWriter()
        try writer.write(value)
        return writer.bytes
    }

    mutating func write(_ value: JSONValue) throws(JSONError) {
        switch value.normalized {
        case .null: write("null")
        case .bool(let value): write(value ? "true" : "false")
        case .integer(let value): write(value)
        case .number(let value): try write(value)
        case .string(let value): write(quoting: value)
        case .array(let values): try write(values)
        case .object(let members): try write(members)
        }
    }

    private mutating func write(_ literal: String) { bytes.append(contentsOf: literal.utf8) }

    private mutating func write(_ integer: Int64) {
        // Beyond 2^53 ECMAScript writes other digits than these.
        isCanonical = isCanonical && integer.magnitude <= 1 << 53
        bytes.append(decimal: integer)
    }

    private mutating func write(_ double: Double) throws(JSONError) {
        guard let text = JSONNumber.text(of: double) else {
            let message = "the number \(double) has no JSON: send a finite number, or text"
            throw JSONError(code: .notFinite, message: message)
        }
        bytes.append(contentsOf: text)
    }

    private mutating func write(_ values: [JSONValue]) throws(JSONError) {
        bytes.append(UInt8(ascii: "["))
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            try write(value)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func write(_ members: [String: JSONValue]) throws(JSONError) {
        bytes.append(UInt8(ascii: "{"))
        let sorted = members.sorted { Self.precedes($0.key, $1.key) }
        for (index, member) in sorted.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            write(quoting: member.key)
            bytes.append(UInt8(ascii: ":"))
            try write(member.value)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// The order of UTF-16 code units, told by the bytes of UTF-8: it differs only between a character beyond the basic
    /// plane (F0 to F4), whose surrogates come first, and one from U+E000 on (EE, EF).
    private static func precedes(_ left: String, _ right: String) -> Bool {
        var (left, right) = (left.utf8.makeIterator(), right.utf8.makeIterator())
        while let byte = right.next() {
            guard let other = left.next() else { return true }
            if byte != other { return weight(other) < weight(byte) }
        }
        return false
    }

    private static func weight(_ byte: UInt8) -> UInt8 { byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte }

    private mutating func write(quoting text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { content in
            if content.contains(where: Self.isEscaped) {
                for byte in content { write(escaping: byte) }
            } else {
                bytes.append(contentsOf: content)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func write(escaping byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
        case 0x08: write("\\b")
        case 0x09: write("\\t")
        case 0x0A: write("\\n")
        case 0x0C: write("\\f")
        case 0x0D: write("\\r")
        case 0..<0x20: write("\\u00"); bytes += Hex.digits(of: byte)
        default: bytes.append(byte)
        }
    }
}

extension [UInt8] {
    /// Adds the digits of an integer.
    mutating func append(decimal integer: Int64) {
        if integer < 0 { append(UInt8(ascii: "-")) }
        // 2^63 has 19 digits.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 19) { digits in
            var (rest, start) = (integer.magnitude, digits.count)
            repeat {
                start -= 1
                digits.initializeElement(at: start, to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
                rest /= 10
            } while rest > 0
            append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
    }
}
