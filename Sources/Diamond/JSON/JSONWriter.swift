/// A writer for canonical JSON (RFC 8785, JCS): no white space, names sorted by UTF-16 code units, the shortest
/// escapes, numbers as in ECMAScript.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    /// Whether the text is canonical. It may not be with an integer beyond 2^53 and other numbers that JCS rounds to a
    /// double.
    private(set) var isCanonical = true

    /// Returns the JSON text of a value.
    ///
    /// - Throws: `notFinite` for a number that is not finite.
    static func text(of value: JSONValue) throws(JSONError) -> [UInt8] {
        var writer = JSONWriter()
        try writer.write(value)
        return writer.bytes
    }

    mutating func write(_ value: JSONValue) throws(JSONError) {
        switch value {
        case .null: write(literal: "null")
        case .bool(let value): write(literal: value ? "true" : "false")
        case .integer(let value): write(value)
        case .number(let value): try write(value)
        case .string(let value): write(quoting: value)
        case .array(let values): try write(values)
        case .object(let members): try write(members)
        case .fragment(let part): write(part)
        }
    }

    private mutating func write(_ part: JSONFragment) {
        let text = Array(part.text.utf8)
        isCanonical = isCanonical && part.fault == nil && JSONNumber.roundTrips(text[...])
        bytes += text
    }

    private mutating func write(literal: StaticString) {
        bytes.append(atMost: literal.utf8CodeUnitCount) { $0.write(literal) }
    }

    private mutating func write(_ integer: Int64) {
        // Beyond 2^53 ECMAScript may write other digits.
        isCanonical = isCanonical && integer.magnitude <= 1 << 53
        bytes.append(decimal: integer)
    }

    private mutating func write(_ double: Double) throws(JSONError) {
        // One form for equal numbers.
        if let integer = Int64(exactly: double) { return write(integer) }
        if JSONNumber.isDescribed(double) { return bytes.append(contentsOf: double.description.utf8) }
        guard let text = JSONNumber.text(of: double) else {
            let message = "JSON cannot contain the number \(double): send a finite number, or a string"
            throw JSONError(.notFinite, message)
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
        var isFirst = true
        try Member.withSorted(members) { (name, value) throws(JSONError) in
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            write(quoting: name)
            bytes.append(UInt8(ascii: ":"))
            try write(value)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func write(quoting text: String) {
        text.withBytes { text in
            guard text.isBare else { return write(escaping: text) }
            bytes.append(atMost: text.count + 2) { string in
                string.write(UInt8(ascii: "\""))
                string.write(text)
                string.write(UInt8(ascii: "\""))
            }
        }
    }

    private mutating func write(escaping text: Span<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        var start = 0
        for index in text.indices where !text[index].isBare {
            bytes.append(text, in: start..<index)
            write(escaping: text[index])
            start = index + 1
        }
        bytes.append(text, in: start..<text.count)
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func write(escaping byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
        case 0x08: write(literal: "\\b")
        case 0x09: write(literal: "\\t")
        case 0x0A: write(literal: "\\n")
        case 0x0C: write(literal: "\\f")
        case 0x0D: write(literal: "\\r")
        default: write(literal: "\\u00"); bytes += Hex.digits(of: byte)
        }
    }
}

extension Span<UInt8> {
    /// Whether a string needs no escape in JSON.
    fileprivate var isBare: Bool {
        withUnsafeBytes { bytes in
            var index = 0
            while index + 8 <= bytes.count {
                guard bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self).isBare else { return false }
                index += 8
            }
            return bytes[index...].allSatisfy(\.isBare)
        }
    }
}

extension UInt8 {
    fileprivate var isBare: Bool { self >= 0x20 && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\") }
}

extension UInt64 {
    /// Whether none of eight bytes needs an escape.
    fileprivate var isBare: Bool {
        let quotes = self ^ 0x2222_2222_2222_2222
        let escapes = self ^ 0x5C5C_5C5C_5C5C_5C5C
        let found =
            (self &- 0x2020_2020_2020_2020) & ~self | (quotes &- 0x0101_0101_0101_0101) & ~quotes
            | (escapes &- 0x0101_0101_0101_0101) & ~escapes
        return found & 0x8080_8080_8080_8080 == 0
    }
}
