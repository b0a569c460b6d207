import Foundation

/// Masks secrets in JSON: the strings and numbers in members with secret names, at any depth, and secret items of URLs
/// in other strings.
///
/// Everything else stays unchanged. A masked number becomes 0, so that it still decodes. Other text is read like JSON.
/// It is read as bytes, because a quote followed by a combining mark is another `Character`.
struct JSONMasking {
    private let bytes: [UInt8]
    private var position = 0
    private var masked: [UInt8] = []
    /// The open arrays and objects, outermost first: whether each is secret.
    private var containers: [Bool] = []
    /// Whether the next value belongs to a member with a secret name.
    private var isMemberSecret = false

    static func masked(_ text: String) -> String {
        var masking = JSONMasking(text)
        while masking.position < masking.bytes.count { masking.read() }
        return String(decoding: masking.masked, as: UTF8.self)
    }

    private init(_ text: String) { bytes = Array(text.utf8) }

    private var isSecret: Bool { isMemberSecret || containers.last ?? false }

    private mutating func read() {
        switch bytes[position] {
        case .quote: readText()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): readNumber()
        default: readPunctuation()
        }
    }

    private mutating func readText() {
        let content = content
        let end = content.endIndex < bytes.count ? content.endIndex + 1 : content.endIndex
        // Reads all strings to their end. Otherwise a closing quote could be mistaken for the start of a name.
        let isName = bytes[end...].first { !$0.isBlank } == UInt8(ascii: ":")
        masked.append(.quote)
        masked += isName ? Array(content) : isSecret ? Array(FieldSecrets.mask.utf8) : Self.shown(content)
        masked += bytes[content.endIndex..<end]
        isMemberSecret = isName && SecretNames.contains(member: Self.unescaped(content) ?? Self.literal(content))
        position = end
    }

    /// The content of the string at the current position, up to its closing quote, or to the end if that is missing.
    private var content: ArraySlice<UInt8> {
        let start = position + 1
        var end = start
        while end < bytes.count, bytes[end] != .quote { end += bytes[end] == .backslash ? 2 : 1 }
        return bytes[start..<min(end, bytes.count)]
    }

    private mutating func readNumber() {
        let number = bytes[position...].prefix(while: \.isOfNumber)
        masked += isSecret ? [UInt8(ascii: "0")] : number
        isMemberSecret = false
        position = number.endIndex
    }

    /// Reads a byte outside strings and numbers.
    private mutating func readPunctuation() {
        let byte = bytes[position]
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["): containers.append(isSecret)
        case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = containers.popLast()
        default: break
        }
        if byte != UInt8(ascii: ":"), !byte.isBlank { isMemberSecret = false }
        masked.append(byte)
        position += 1
    }

    // MARK: Texts

    private static func shown(_ content: ArraySlice<UInt8>) -> [UInt8] {
        guard let text = unescaped(content) else { return Array(SecretNames.masked(urlsIn: literal(content)).utf8) }
        let masked = SecretNames.masked(urlsIn: text)
        return masked == text ? Array(content) : escaped(masked)
    }

    private static func literal(_ content: ArraySlice<UInt8>) -> String { String(decoding: content, as: UTF8.self) }

    /// Returns the string without escapes; `nil` if it has none, or is malformed.
    private static func unescaped(_ content: ArraySlice<UInt8>) -> String? {
        guard content.contains(.backslash) else { return nil }
        return try? JSONDecoder().decode(String.self, from: Data([.quote] + content + [.quote]))
    }

    private static func escaped(_ text: String) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        let literal = try? encoder.encode(text)
        return literal.map { Array($0.dropFirst().dropLast()) } ?? Array(text.utf8)
    }
}

extension UInt8 {
    fileprivate static let quote = UInt8(ascii: "\"")
    fileprivate static let backslash = UInt8(ascii: "\\")

    fileprivate var isBlank: Bool { self == 0x20 || (0x09...0x0D).contains(self) }

    fileprivate var isOfNumber: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): true
        default: false
        }
    }
}
