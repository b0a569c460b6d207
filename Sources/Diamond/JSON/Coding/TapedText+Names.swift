import Foundation

extension TapedText {
    /// Returns a member's name as the key strategy converts it.
    func convertedName(_ name: String, at place: CodingPlace?) -> String {
        switch settings.keys {
        case .convertFromSnakeCase: return camelCased(name)
        case .custom(let convert): return convert((place?.path ?? []) + [PlaceKey(stringValue: name)]).stringValue
        default: return name
        }
    }

    private func camelCased(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "_")) else { return name }
        if let known = convertedNames[name] { return known }
        let converted = SnakeCase.converted(name) ?? SnakeCase.convertedByFoundation(name)
        convertedNames[name] = converted
        return converted
    }
}

/// The conversion of names by `convertFromSnakeCase`.
private enum SnakeCase {
    /// Returns the name of words of lowercase ASCII letters that may end with digits; `nil` for other names.
    static func converted(_ name: String) -> String? {
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
    static func convertedByFoundation(_ name: String) -> String {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let key = try? decoder.decode(OnlyKey.self, from: JSONEncoder().encode([name: 0]))
        return key?.name ?? name
    }

    private struct OnlyKey: Decodable {
        let name: String?

        init(from decoder: any Decoder) throws {
            name = try decoder.container(keyedBy: PlaceKey.self).allKeys.first?.stringValue
        }
    }
}
