/// A reader for JSON (RFC 8259) whose errors have line and column.
///
/// It refuses text that two readers could read differently (RFC 7493): a repeated name, a lone surrogate, a number that
/// is larger than any double. It limits the nesting depth, so that no text can exhaust the stack.
///
/// Numbers keep their digits. For models, the object with such an ambiguity, or the element of a list, is kept as text,
/// and the others are read.
struct JSONReader {
    let bytes: [UInt8]
    var position = 0
    private var depth = 0

    private let isolatesFaults: Bool
    /// The first ambiguity, which is thrown only if the whole text is valid JSON.
    private var ambiguity: (message: String, position: Int)?

    private let maximumDepth: Int
    /// The maximum nesting depth of a text.
    static let maximumDepth = 128

    private init(bytes: [UInt8], isolatesFaults: Bool, maximumDepth: Int) {
        self.bytes = bytes
        self.isolatesFaults = isolatesFaults
        self.maximumDepth = maximumDepth
    }

    /// Returns the value of a whole text.
    ///
    /// - Parameters:
    ///   - isolatesFaults: whether the innermost object with an ambiguity, or nested too deeply, is kept as text, or
    ///     the element of the outermost array. Without it, the whole text is refused.
    ///   - maximumDepth: the maximum nesting depth.
    /// - Throws: `malformed` or `ambiguous`, with line and column.
    static func value(
        of bytes: [UInt8],
        isolatesFaults: Bool = false,
        maximumDepth: Int = Self.maximumDepth
    ) throws(JSONError) -> JSONValue {
        var reader = JSONReader(bytes: bytes, isolatesFaults: isolatesFaults, maximumDepth: maximumDepth)
        // A byte order mark before the text is ignored (RFC 8259 section 8.1).
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
        reader.skipSpace()
        let value = try reader.readValue()
        reader.skipSpace()
        guard reader.position == bytes.count else { throw reader.failure("expected the end of the text") }
        if let (message, position) = reader.ambiguity {
            throw reader.error(.ambiguous, message: message, at: position)
        }
        return value
    }

    // MARK: Values

    mutating func readValue() throws(JSONError) -> JSONValue {
        switch peek {
        case UInt8(ascii: "{"): return try readIsolatedObject()
        case UInt8(ascii: "["): return try nested { (reader) throws(JSONError) in try reader.readArray() }
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "t"): return try read("true", as: true)
        case UInt8(ascii: "f"): return try read("false", as: false)
        case UInt8(ascii: "n"): return try read("null", as: nil)
        case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return try readNumber()
        case nil: throw failure("the text ends where a value should be")
        default: throw failure("expected a value")
        }
    }

    private mutating func nested(
        _ read: (inout JSONReader) throws(JSONError) -> JSONValue
    ) throws(JSONError) -> JSONValue {
        depth += 1
        defer { depth -= 1 }
        guard depth <= maximumDepth else { return try skipTooDeep() }
        position += 1
        skipSpace()
        return try read(&self)
    }

    private mutating func readIsolatedObject() throws(JSONError) -> JSONValue {
        let start = position
        let object = try nested { (reader) throws(JSONError) in try reader.readObject() }
        // An object beyond the maximum depth is a part of the text of its owner.
        guard isolatesFaults, let ambiguity, ambiguity.position >= start, depth < maximumDepth else { return object }
        return isolated(from: start, fault: ambiguity.message)
    }

    /// Skips a value that is nested too deeply, which is an ambiguity of the object around it.
    private mutating func skipTooDeep() throws(JSONError) -> JSONValue {
        let message = "nested deeper than \(maximumDepth) levels"
        guard isolatesFaults else { throw failure(message) }
        recordAmbiguity(message, at: position)
        try skipValue()
        return .null
    }

    private mutating func readArray() throws(JSONError) -> JSONValue {
        var values: [JSONValue] = []
        if consume(UInt8(ascii: "]")) { return .array(values) }
        while true {
            values.append(try readElement())
            if try readDelimiter(orEnd: UInt8(ascii: "]")) { return .array(values) }
        }
    }

    /// Reads an element of an array. In a list, the outermost array, an element with an ambiguity is kept as text.
    private mutating func readElement() throws(JSONError) -> JSONValue {
        let start = position
        let value = try readValue()
        guard isolatesFaults, depth == 1, let ambiguity, ambiguity.position >= start else { return value }
        return isolated(from: start, fault: ambiguity.message)
    }

    /// Returns the text read since a position as a value, and forgets its ambiguity.
    private mutating func isolated(from start: Int, fault: String) -> JSONValue {
        ambiguity = nil
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        return .fragment(JSONFragment(object: text, fault: fault))
    }

    private mutating func readObject() throws(JSONError) -> JSONValue {
        var members: [String: JSONValue] = [:]
        if consume(UInt8(ascii: "}")) { return .object(members) }
        while true {
            let start = position
            let name = try readName()
            if members.updateValue(try readValue(), forKey: name) != nil {
                recordAmbiguity("the name \"\(name)\" is in one object twice", at: start)
            }
            if try readDelimiter(orEnd: UInt8(ascii: "}")) { return .object(members) }
        }
    }

    mutating func readName() throws(JSONError) -> String {
        guard peek == UInt8(ascii: "\"") else { throw failure("expected a name in double quotes") }
        let name = try readString()
        skipSpace()
        guard consume(UInt8(ascii: ":")) else { throw failure("expected ':'") }
        skipSpace()
        return name
    }

    /// Reads the comma or the end after an element, and returns `true` at the end of the list.
    mutating func readDelimiter(orEnd end: UInt8) throws(JSONError) -> Bool {
        skipSpace()
        if consume(end) { return true }
        guard consume(UInt8(ascii: ",")) else { throw failure("expected ',' or '\(Character(Unicode.Scalar(end)))'") }
        skipSpace()
        return false
    }

    private mutating func read(_ literal: String, as value: JSONValue) throws(JSONError) -> JSONValue {
        guard bytes[position...].starts(with: literal.utf8) else { throw failure("expected \(literal)") }
        position += literal.utf8.count
        return value
    }

    // MARK: Numbers

    private mutating func readNumber() throws(JSONError) -> JSONValue {
        let start = position
        _ = consume(UInt8(ascii: "-"))
        if !consume(UInt8(ascii: "0")) { try readDigits() }
        if consume(UInt8(ascii: ".")) { try readDigits() }
        if consume(UInt8(ascii: "e")) || consume(UInt8(ascii: "E")) {
            if !consume(UInt8(ascii: "+")) { _ = consume(UInt8(ascii: "-")) }
            try readDigits()
        }
        if let number = JSONNumber.value(of: bytes[start..<position]) { return number }
        let digits = String(decoding: bytes[start..<position].prefix(40), as: UTF8.self)
        recordAmbiguity("a double cannot represent the number \(digits): send it as a string", at: start)
        return .integer(0)
    }

    private mutating func readDigits() throws(JSONError) {
        let start = position
        while let digit = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) { position += 1 }
        guard position > start else { throw failure("expected a digit") }
    }

    // MARK: The text

    var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func consume(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    mutating func next() -> UInt8? {
        defer { position += 1 }
        return peek
    }

    mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    mutating func recordAmbiguity(_ message: String, at position: Int) {
        ambiguity = ambiguity ?? (message, position)
    }

    func failure(_ message: String) -> JSONError { error(.malformed, message: message, at: position) }

    private func error(_ code: JSONError.Code, message: String, at position: Int) -> JSONError {
        let before = bytes.prefix(position)
        let line = before.count { $0 == 0x0A } + 1
        let column = position - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
        return JSONError(code: code, message: "line \(line), column \(column): \(message)")
    }
}
