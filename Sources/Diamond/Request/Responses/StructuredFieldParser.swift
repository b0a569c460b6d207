/// A strict parser of structured fields (RFC 9651 section 4.2).
struct StructuredFieldParser {
    struct Malformed: Error {}

    private let bytes: [UInt8]
    private var index = 0

    init(_ lines: [String]) { bytes = Array(lines.joined(separator: ", ").utf8) }

    mutating func list() throws(Malformed) -> [StructuredField.Item] {
        var items: [StructuredField.Item] = []
        try members { (parser) throws(Malformed) in items.append(try parser.member()) }
        return items
    }

    mutating func dictionary() throws(Malformed) -> [String: StructuredField.Item] {
        var items: [String: StructuredField.Item] = [:]
        try members { (parser) throws(Malformed) in
            let key = try parser.key()
            guard parser.skip("=") else {
                items[key] = .boolean(true)
                return try parser.skipParameters()
            }
            items[key] = try parser.member()
        }
        return items
    }

    /// Parses the members of a list or dictionary, between commas. A comma at the end is malformed.
    private mutating func members(_ member: (inout Self) throws(Malformed) -> Void) throws(Malformed) {
        skipAll { $0 == 0x20 }
        while next != nil {
            try member(&self)
            skipAll { $0 == 0x20 || $0 == 0x09 }
            guard next != nil else { return }
            try expect(",")
            skipAll { $0 == 0x20 || $0 == 0x09 }
            guard next != nil else { throw Malformed() }
        }
    }

    // MARK: Items

    private mutating func member() throws(Malformed) -> StructuredField.Item {
        let item = try skip("(") ? innerList() : bareItem()
        try skipParameters()
        return item
    }

    /// Parses an inner list after its opening parenthesis.
    private mutating func innerList() throws(Malformed) -> StructuredField.Item {
        while true {
            skipAll { $0 == 0x20 }
            if skip(")") { return .innerList }
            _ = try bareItem()
            try skipParameters()
            guard next == 0x20 || next == UInt8(ascii: ")") else { throw Malformed() }
        }
    }

    private mutating func skipParameters() throws(Malformed) {
        while skip(";") {
            skipAll { $0 == 0x20 }
            _ = try key()
            if skip("=") { _ = try bareItem() }
        }
    }

    private mutating func key() throws(Malformed) -> String {
        guard let first = next, first.isLowercase || first == UInt8(ascii: "*") else { throw Malformed() }
        return skipAll { $0.isLowercase || $0.isDigit || "_-.*".utf8.contains($0) }
    }

    private mutating func bareItem() throws(Malformed) -> StructuredField.Item {
        guard let first = next else { throw Malformed() }
        if first.isASCIILetter || first == UInt8(ascii: "*") { return .token(skipAll(\.isTokenCharacter)) }
        if skip("\"") { return .string(try string()) }
        if skip("?") { return .boolean(try boolean()) }
        if skip(":") { return try byteSequence() }
        if skip("@") { return try date() }
        if skip("%") { return try displayString() }
        return try number()
    }

    private mutating func number() throws(Malformed) -> StructuredField.Item {
        let isNegative = skip("-")
        let digits = skipAll(\.isDigit)
        guard skip(".") else {
            guard digits.utf8.count <= 15, let number = Int64(digits) else { throw Malformed() }
            return .integer(isNegative ? -number : number)
        }
        let fraction = skipAll(\.isDigit)
        guard (1...12).contains(digits.utf8.count), (1...3).contains(fraction.utf8.count) else { throw Malformed() }
        return .decimal
    }

    private mutating func date() throws(Malformed) -> StructuredField.Item {
        guard case .integer = try number() else { throw Malformed() }
        return .date
    }

    /// Parses a string after its opening quote. Only a quote and a backslash can be escaped.
    private mutating func string() throws(Malformed) -> String {
        var text: [UInt8] = []
        while !skip("\"") {
            let isEscaped = skip("\\")
            guard let byte = next, (0x20...0x7E).contains(byte), !isEscaped || "\"\\".utf8.contains(byte) else {
                throw Malformed()
            }
            text.append(byte)
            index += 1
        }
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func boolean() throws(Malformed) -> Bool {
        if skip("1") { return true }
        try expect("0")
        return false
    }

    private mutating func byteSequence() throws(Malformed) -> StructuredField.Item {
        skipAll { $0.isASCIILetter || $0.isDigit || "+/=".utf8.contains($0) }
        try expect(":")
        return .bytes
    }

    /// Parses a display string after its percent sign. `%` and two digits stand for a byte of UTF-8.
    private mutating func displayString() throws(Malformed) -> StructuredField.Item {
        try expect("\"")
        var text: [UInt8] = []
        while !skip("\"") {
            guard let byte = next, (0x20...0x7E).contains(byte) else { throw Malformed() }
            index += 1
            text.append(byte == UInt8(ascii: "%") ? try escapedByte() : byte)
        }
        guard String(validating: text, as: UTF8.self) != nil else { throw Malformed() }
        return .displayString
    }

    private mutating func escapedByte() throws(Malformed) -> UInt8 {
        let digits = bytes[index...].prefix(2)
        guard digits.count == 2, digits.allSatisfy({ $0.isDigit || (0x61...0x66).contains($0) }),
            let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw Malformed() }
        index += 2
        return byte
    }

    // MARK: Bytes

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(Malformed) {
        guard skip(character) else { throw Malformed() }
    }

    /// Skips the bytes that match, and returns them.
    @discardableResult
    private mutating func skipAll(_ matches: (UInt8) -> Bool) -> String {
        let start = index
        while let byte = next, matches(byte) { index += 1 }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isLowercase: Bool { (0x61...0x7A).contains(self) }
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
    var isASCIILetter: Bool { (0x61...0x7A).contains(self | 0x20) && self < 0x80 }
    /// Whether a token can contain it: the characters of RFC 9110 tokens, colon and slash.
    var isTokenCharacter: Bool { isASCIILetter || isDigit || "!#$%&'*+-.^_`|~:/".utf8.contains(self) }
}
