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
        try Member.withSorted(members) { (member) throws(JSONError) in
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            write(quoting: member.name)
            bytes.append(UInt8(ascii: ":"))
            try write(member.value)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func write(quoting text: String) {
        text.withBytes { text in
            guard text.allSatisfy(in: text.indices, Self.isBare) else { return write(escaping: text) }
            bytes.append(atMost: text.count + 2) { string in
                string.write(UInt8(ascii: "\""))
                string.write(text)
                string.write(UInt8(ascii: "\""))
            }
        }
    }

    private mutating func write(escaping text: Span<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        for index in text.indices { write(escaping: text[index]) }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isBare(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private mutating func write(escaping byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
        case 0x08: write(literal: "\\b")
        case 0x09: write(literal: "\\t")
        case 0x0A: write(literal: "\\n")
        case 0x0C: write(literal: "\\f")
        case 0x0D: write(literal: "\\r")
        case 0..<0x20: write(literal: "\\u00"); bytes += Hex.digits(of: byte)
        default: bytes.append(byte)
        }
    }
}
