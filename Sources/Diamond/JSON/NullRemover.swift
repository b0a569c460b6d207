/// A filter that removes `null` members of objects from JSON at any depth. Elements of arrays are kept.
///
/// It copies the rest byte for byte, without white space. It parses no numbers and strings, so they stay exactly as
/// they are.
struct NullRemover {
    private let source: [UInt8]
    private var index = 0
    private var output: [UInt8] = []

    /// The maximum nesting depth, the same as in Foundation's decoder.
    private static let maximumDepth = 512

    /// Returns JSON without `null` members; `nil` if the bytes are not JSON.
    static func removingNulls(from bytes: some Sequence<UInt8>) -> [UInt8]? {
        var remover = NullRemover(source: Array(bytes))
        remover.output.reserveCapacity(remover.source.count)
        guard remover.copyValue(level: 0), remover.next == nil else { return nil }
        return remover.output
    }

    private init(source: [UInt8]) { self.source = source }

    /// The next byte that is not white space; `nil` at the end.
    private var next: UInt8? {
        mutating get {
            while index < source.count, [0x20, 0x09, 0x0a, 0x0d].contains(source[index]) { index += 1 }
            return index < source.count ? source[index] : nil
        }
    }

    private mutating func consume(_ byte: Character) -> Bool {
        guard next == byte.asciiValue else { return false }
        index += 1
        return true
    }

    private mutating func copy(_ byte: Character) -> Bool {
        guard consume(byte) else { return false }
        output.append(source[index - 1])
        return true
    }

    private mutating func copyValue(level: Int) -> Bool {
        guard level < Self.maximumDepth, let next else { return false }
        switch Character(Unicode.Scalar(next)) {
        case "{": return copyObject(level: level)
        case "[": return copyArray(level: level)
        default:
            guard let token = token() else { return false }
            output += source[token]
            return true
        }
    }

    private mutating func copyArray(level: Int) -> Bool {
        guard copy("[") else { return false }
        if copy("]") { return true }
        repeat {
            guard copyValue(level: level + 1) else { return false }
        } while copy(",")
        return copy("]")
    }

    private mutating func copyObject(level: Int) -> Bool {
        guard copy("{") else { return false }
        if copy("}") { return true }
        var isFirst = true
        repeat {
            guard next == Character("\"").asciiValue, let name = token(), consume(":") else { return false }
            if skipNull() { continue }
            if !isFirst { output.append(0x2c) }
            isFirst = false
            output += source[name]
            output.append(0x3a)
            guard copyValue(level: level + 1) else { return false }
        } while consume(",")
        return copy("}")
    }

    private mutating func skipNull() -> Bool {
        guard next == Character("n").asciiValue else { return false }
        let start = index
        guard let token = token(), source[token].elementsEqual("null".utf8) else {
            index = start
            return false
        }
        return true
    }

    /// Skips a string, a number or a literal, and returns its range; `nil` if there is none.
    private mutating func token() -> Range<Int>? {
        let start = index
        if source[start] == 0x22 { return string(from: start) }
        while index < source.count, !Self.endsToken(source[index]) { index += 1 }
        return start == index ? nil : start..<index
    }

    private mutating func string(from start: Int) -> Range<Int>? {
        index += 1
        while index < source.count, source[index] != 0x22 { index += source[index] == 0x5c ? 2 : 1 }
        guard index < source.count else { return nil }
        index += 1
        return start..<index
    }

    private static func endsToken(_ byte: UInt8) -> Bool { byte <= 0x20 || ",:]}[{\"".utf8.contains(byte) }
}
