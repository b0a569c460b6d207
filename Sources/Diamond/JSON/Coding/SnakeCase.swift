import Foundation

/// The conversion of names by `convertFromSnakeCase` and `convertToSnakeCase`. Unusual names are left to Foundation.
enum SnakeCase {
    /// Returns a name as `convertFromSnakeCase` converts it.
    static func camelCased(_ name: String) -> String { camelCasedWords(name) ?? camelCasedByFoundation(name) }

    /// Returns a name as `convertToSnakeCase` converts it.
    static func snakeCased(_ name: String) -> String { snakeCasedWords(name) ?? snakeCasedByFoundation(name) }

    /// Returns the name of ASCII letters, digits and underscores; `nil` for other names.
    ///
    /// The underscores at both ends stay. Words are lowercase. In all words but the first, each letter that does not
    /// follow another letter is a capital.
    private static func camelCasedWords(_ name: String) -> String? {
        let bytes = Array(name.utf8)
        guard bytes.allSatisfy({ $0 == underscore || isLetter($0) || isDigit($0) }) else { return nil }
        guard let first = bytes.firstIndex(where: { $0 != underscore }),
            let last = bytes.lastIndex(where: { $0 != underscore })
        else { return name }
        let words = bytes[first...last].split(separator: underscore)
        if words.count == 1 { return name }
        var result = Array(bytes[..<first])
        for (index, word) in words.enumerated() { result += index == 0 ? word.map(lowercased) : capitalized(word) }
        return String(decoding: result + bytes[(last + 1)...], as: UTF8.self)
    }

    private static let underscore = UInt8(ascii: "_")

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }
    private static func lowercased(_ byte: UInt8) -> UInt8 { isLetter(byte) ? byte | 0x20 : byte }

    private static func capitalized(_ word: ArraySlice<UInt8>) -> [UInt8] {
        var isFirst = true
        return word.map { byte in
            defer { isFirst = !isLetter(byte) }
            return isLetter(byte) && isFirst ? byte & 0xDF : lowercased(byte)
        }
    }

    /// Returns the only key of an object with one member.
    private static func camelCasedByFoundation(_ name: String) -> String {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let key = try? decoder.decode(OnlyKey.self, from: JSONEncoder().encode([name: 0]))
        return key?.name ?? name
    }

    /// Returns the name of lowercase ASCII letters, with capitals that are followed by such letters; `nil` for others.
    private static func snakeCasedWords(_ name: String) -> String? {
        var bytes: [UInt8] = []
        var wordLength = 0
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): wordLength += 1
            case UInt8(ascii: "A")...UInt8(ascii: "Z") where wordLength > 0:
                // A word of one capital belongs to the next one.
                wordLength = 0
                bytes.append(UInt8(ascii: "_"))
            default: return nil
            }
            bytes.append(byte | 0x20)
        }
        return wordLength > 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }

    private static func snakeCasedByFoundation(_ name: String) -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let names = try? JSONDecoder().decode([String: Int].self, from: encoder.encode(NamedZero(name: name)))
        return names?.keys.first ?? name
    }

    /// An object with one member.
    private struct NamedZero: Encodable {
        let name: String

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: PlaceKey.self)
            try container.encode(0, forKey: PlaceKey(stringValue: name))
        }
    }

    private struct OnlyKey: Decodable {
        let name: String?

        init(from decoder: any Decoder) throws {
            name = try decoder.container(keyedBy: PlaceKey.self).allKeys.first?.stringValue
        }
    }
}
