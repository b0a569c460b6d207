import Diamond
import Foundation

/// Masks texts and numbers of members whose names say that they are secret, however far below them, and secret items of
/// URLs in other texts. The rest stays as it is written, and a number stays one, for those who decode it.
///
/// A text that is no JSON is read as if it were. Texts are read by bytes: as a character, a quote is none where a
/// combining mark follows.
struct JSONMasking {
    private let bytes: [UInt8]
    private var position = 0
    private var masked: [UInt8] = []
    /// Whether each array or object that is being read is secret.
    private var containers: [Bool] = []
    /// Whether the value that comes next is a secret member's.
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
        default: readSign()
        }
    }

    private mutating func readText() {
        let content = content
        let end = content.endIndex < bytes.count ? content.endIndex + 1 : content.endIndex
        // Every text: else the quote that ends one could be taken for one that begins a name.
        let isName = bytes[end...].first { !$0.isBlank } == UInt8(ascii: ":")
        masked.append(.quote)
        masked += isName ? Array(content) : isSecret ? Array(Masking.mask.utf8) : Self.shown(content)
        masked += bytes[content.endIndex..<end]
        isMemberSecret = isName && SecretNames.contains(member: Self.meant(content) ?? Self.written(content))
        position = end
    }

    /// The content of the text that begins here, to its quote or, where that is missing, to the end.
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

    /// Reads a byte between texts and numbers.
    private mutating func readSign() {
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
        guard let meant = meant(content) else { return Array(Masking.items(written(content)).utf8) }
        let masked = Masking.items(meant)
        return masked == meant ? Array(content) : escaped(masked)
    }

    private static func written(_ content: ArraySlice<UInt8>) -> String { String(decoding: content, as: UTF8.self) }

    /// `nil` where that is as it is written, or where it is no text of JSON.
    private static func meant(_ content: ArraySlice<UInt8>) -> String? {
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
