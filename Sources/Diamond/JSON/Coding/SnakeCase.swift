import Foundation

/// The conversion of names by `convertFromSnakeCase` and `convertToSnakeCase`. Unusual names are left to Foundation.
enum SnakeCase {
    /// Returns a name as `convertFromSnakeCase` converts it.
    static func camelCased(_ name: String) -> String { camelCasedWords(name) ?? camelCasedByFoundation(name) }

    /// Returns a name as `convertToSnakeCase` converts it.
    static func snakeCased(_ name: String) -> String { snakeCasedWords(name) ?? snakeCasedByFoundation(name) }

    /// Returns the name of words of lowercase ASCII letters that may end with digits; `nil` for other names.
    private static func camelCasedWords(_ name: String) -> String? {
        let words = name.utf8.split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
        guard let first = words.first, words.allSatisfy(isWord) else { return nil }
        var bytes = Array(first)
        for word in words.dropFirst() { bytes += [word[word.startIndex] - 0x20] + word.dropFirst() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isWord(_ bytes: Substring.UTF8View.SubSequence) -> Bool {
        let digits = bytes.drop { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
        return digits.startIndex > bytes.startIndex
            && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
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
