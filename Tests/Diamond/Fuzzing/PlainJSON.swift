/// A reader of JSON that follows the grammar of RFC 8259 rule by rule, for the scanner to be compared with. It is slow,
/// and short enough to be read beside the grammar.
struct PlainJSON {
    indirect enum Value: Equatable {
        case null
        case `false`
        case `true`
        /// A number as it is written.
        case number(ArraySlice<UInt8>)
        /// The UTF-16 of a string, which may have lone surrogates.
        case string([UInt16])
        case array([Value])
        case object([(name: [UInt16], value: Value)])

        static func == (one: Value, other: Value) -> Bool {
            switch (one, other) {
            case (.null, .null), (.false, .false), (.true, .true): true
            case (.number(let one), .number(let other)): one == other
            case (.string(let one), .string(let other)): one == other
            case (.array(let one), .array(let other)): one == other
            case (.object(let one), .object(let other)):
                one.elementsEqual(other) { $0.name == $1.name && $0.value == $1.value }
            default: false
            }
        }
    }

    enum Result {
        /// A value, and the depth of its arrays and objects.
        case value(Value, depth: Int)
        case malformed
        /// Arrays and objects are nested deeper than ``maximumDepth``. The rest was not read.
        case tooDeep
    }

    private enum Failure: Error {
        case malformed
        case tooDeep
    }

    /// The depth up to which it reads, because each level takes stack.
    static let maximumDepth = 160

    private var rest: ArraySlice<UInt8>
    private var depth = 0

    static func read(_ bytes: [UInt8]) -> Result {
        guard String(validating: bytes, as: UTF8.self) != nil else { return .malformed }
        let hasMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
        var reader = PlainJSON(rest: bytes.dropFirst(hasMark ? 3 : 0))
        do throws(Failure) {
            let value = try reader.value(depth: 0)
            reader.skipSpace()
            return reader.rest.isEmpty ? .value(value, depth: reader.depth) : .malformed
        } catch {
            switch error {
            case .malformed: return .malformed
            case .tooDeep: return .tooDeep
            }
        }
    }

    private mutating func value(depth: Int) throws(Failure) -> Value {
        skipSpace()
        switch rest.first {
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "t"): return try literal("true", .true)
        case UInt8(ascii: "f"): return try literal("false", .false)
        default: return .number(try number())
        }
    }

    private mutating func array(depth: Int) throws(Failure) -> Value {
        try open(depth: depth)
        var values: [Value] = []
        guard !skip("]") else { return .array([]) }
        repeat { values.append(try value(depth: depth)) } while skip(",")
        guard skip("]") else { throw .malformed }
        return .array(values)
    }

    private mutating func object(depth: Int) throws(Failure) -> Value {
        try open(depth: depth)
        var members: [(name: [UInt16], value: Value)] = []
        guard !skip("}") else { return .object([]) }
        repeat {
            skipSpace()
            let name = try string()
            guard skip(":") else { throw .malformed }
            members.append((name, try value(depth: depth)))
        } while skip(",")
        guard skip("}") else { throw .malformed }
        return .object(members)
    }

    private mutating func open(depth: Int) throws(Failure) {
        rest.removeFirst()
        self.depth = max(self.depth, depth)
        guard depth <= Self.maximumDepth else { throw .tooDeep }
    }

    private mutating func number() throws(Failure) -> ArraySlice<UInt8> {
        let all = rest
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        if rest.first == UInt8(ascii: "0") { rest.removeFirst() } else { try digits() }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            try digits()
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
            try digits()
        }
        return all[..<rest.startIndex]
    }

    private mutating func digits() throws(Failure) {
        let count = rest.prefix { (0x30...0x39).contains($0) }.count
        guard count > 0 else { throw .malformed }
        rest.removeFirst(count)
    }

    private mutating func string() throws(Failure) -> [UInt16] {
        guard rest.popFirst() == UInt8(ascii: "\"") else { throw .malformed }
        var units: [UInt16] = []
        while true {
            let plain = rest.prefix { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
            units += String(decoding: plain, as: UTF8.self).utf16
            rest.removeFirst(plain.count)
            switch rest.popFirst() {
            case UInt8(ascii: "\""): return units
            case UInt8(ascii: "\\"): units.append(try escape())
            default: throw .malformed
            }
        }
    }

    private mutating func escape() throws(Failure) -> UInt16 {
        switch rest.popFirst() {
        case UInt8(ascii: "\""): return 0x22
        case UInt8(ascii: "\\"): return 0x5C
        case UInt8(ascii: "/"): return 0x2F
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "f"): return 0x0C
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "u"):
            let digits = rest.prefix(4)
            // `UInt16` takes a sign, too.
            guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
                let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
            else { throw .malformed }
            rest.removeFirst(4)
            return unit
        default: throw .malformed
        }
    }

    private mutating func literal(_ text: StaticString, _ value: Value) throws(Failure) -> Value {
        let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard rest.starts(with: bytes) else { throw .malformed }
        rest.removeFirst(bytes.count)
        return value
    }

    private mutating func skip(_ sign: Unicode.Scalar) -> Bool {
        skipSpace()
        guard rest.first == UInt8(ascii: sign) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func skipSpace() {
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    }
}
