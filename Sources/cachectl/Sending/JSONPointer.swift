#if Tools
import Diamond

/// A path to a value in JSON (RFC 6901): `/items/0/name`.
struct JSONPointer: Sendable {
    /// The names of members and the indexes of elements, without escapes.
    let tokens: [String]

    /// Reads a pointer; `nil` for a text that is none. The empty pointer is not read.
    init?(_ text: String) {
        // By bytes: a slash with a combining mark after it is a different `Character`.
        let parts = Array(text.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count > 1, parts[0].isEmpty else { return nil }
        let tokens = parts.dropFirst().compactMap(Self.unescaped)
        guard tokens.count == parts.count - 1 else { return nil }
        self.tokens = tokens
    }

    /// Returns the value that the pointer leads to; `nil` if there is none.
    func value(in json: JSONValue) -> JSONValue? {
        var value = json
        for token in tokens {
            switch value {
            case .object(let members):
                guard let member = members.value(named: token) else { return nil }
                value = member
            case .array(let elements):
                // No sign and no leading zeros (section 4).
                guard let index = Int(token), String(index) == token, elements.indices.contains(index) else {
                    return nil
                }
                value = elements[index]
            default: return nil
            }
        }
        return value
    }

    /// Returns a token without escapes (section 4); `nil` if one is malformed.
    private static func unescaped(_ token: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = token
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
#endif
